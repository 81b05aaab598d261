"""Where things of the repository are in the site, and Markdown of code hosts as the site's reader wants it.

Links in Markdown are between places in the repository, so that they lead somewhere on a code host; here they become
links between pages. What has no page leads to the repository, where its address is known, and is plain text elsewhere.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

ROW = re.compile(r"^\|.*$", re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
TIME = re.compile(r"(?<=\| )(\d[\d.,–]*) (s|ms|µs|ns)\b")
FENCED = re.compile(r"(^```.*?^```[ ]*$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"`+[^`\n]+`+|(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s#:]*)(#[^)\s]*)?\)")
ITEM = re.compile(r"^(?![-*] |\d+\. |\s|\||#|>|<)(.+)\n(?=[-*] |1\. )", re.MULTILINE)


def site_links(text: str, page: str, origin: str, pages: dict[str, str], repository: str = "") -> str:
    """The Markdown with its links as those of the site.

    ``page`` is the page's own path in the site, ``origin`` where its text is in the repository, and ``pages`` says
    where in the site the files of the repository are.
    """

    def replaced(match: re.Match[str]) -> str:
        mark, label, target, fragment = match[1], match[2], match[3], match[4] or ""
        if not target:  # code, in which brackets are brackets, or another place of the page
            return match[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        if place in pages:
            return f"{mark}[{label}]({posixpath.relpath(pages[place], posixpath.dirname(page) or '.')}{fragment})"
        return f"[{label}]({repository}/blob/HEAD/{place})" if repository else label

    return outside_code(text, lambda piece: LINK.sub(replaced, piece))


def as_read_here(text: str) -> str:
    """What a code host reads without being told: lists that follow a sentence at once, sessions in Python blocks.

    In a table a bar within code needs no backslash here, and a time is not broken between its number and its unit.
    """
    text = outside_code(text, lambda piece: ROW.sub(row, ITEM.sub(r"\1\n\n", piece)))
    return re.sub(r"^```python\n(?=>>>)", "```pycon\n", text, flags=re.MULTILINE)


def row(match: re.Match[str]) -> str:
    plain = CODE.sub(lambda code: code[0].replace(r"\|", "|"), match[0])
    return TIME.sub("\\1\u00a0\\2", plain)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with a change made outside of fenced blocks."""
    pieces = FENCED.split(text)
    for place in range(0, len(pieces), 2):
        pieces[place] = change(pieces[place])
    return "".join(pieces)
