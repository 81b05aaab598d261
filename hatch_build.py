"""What a package says of itself beside pyproject.toml: where its repository is, and its README with addresses.

Links in README.md are places in the repository, so they lead somewhere on a code host and in any copy. A package index
shows the README alone, so there they become addresses. The repository's is ``RICCI_URL``, or what a workflow of a code
host says; where it is not known, nothing is said of it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"`+[^`\n]+`+|(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(((?![a-z]+:|#)[^)\s]+)\)")
PAGES = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md"}


def repository() -> str:
    """The address of the repository, or nothing."""
    host, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    return (os.environ.get("RICCI_URL") or (f"{host}/{name}" if host and name else "")).rstrip("/")


def with_addresses(text: str, url: str, tag: str) -> str:
    """A README whose links are addresses: of pages, and of the pictures themselves."""

    def replaced(match: re.Match[str]) -> str:
        if match[3] is None:  # code, in which brackets are brackets
            return match[0]
        kind = "raw" if match[1] else "blob"
        return f"{match[1]}[{match[2]}]({url}/{kind}/{tag}/{match[3]})"

    pieces = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)  # what is in code is no link
    pieces[::2] = [LINK.sub(replaced, piece) for piece in pieces[::2]]
    return "".join(pieces)


class RepositoryHook(MetadataHookInterface):
    PLUGIN_NAME = "custom"

    def update(self, metadata: dict) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        url, tag = repository(), f"v{metadata['version']}"
        if url:
            text = with_addresses(text, url, tag)
            pages = {name: f"{url}/blob/{tag}/{page}" for name, page in PAGES.items()}
            metadata["urls"] = {"Repository": url, **pages, "Issues": f"{url}/issues"}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
