"""Lines of Python and Julia within a width, broken as formatters do it: inside brackets, before operators."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 88
INDENT = "    "
OPEN, CLOSE = "([{", ")]}"


def indented(lines: Sequence[str]) -> list[str]:
    return [INDENT + line if line else line for line in lines]


def fitted(line: str) -> list[str]:
    """A line as it is, or broken until each part fits."""
    if len(line) <= WIDTH or line.lstrip().startswith("#"):
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return _broken(line.strip(), indent)


def comprehended(line: str) -> list[str]:
    """A line of Julia, which may go on before the ``for`` of a comprehension."""
    if len(line) <= WIDTH or not line.rstrip().endswith("]"):
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    start = line.index("[", len(headed(line)[0]))
    depths = depths_of(line)
    cut = max([k for k in range(start, len(line)) if line.startswith(" for ", k) and depths[k] == 1], default=0)
    if not cut or depths[start] != 0:
        return [line]
    inner = [line[start + 1 : cut], line[cut + 1 : -1]]
    return [line[: start + 1], *[f"{indent}{INDENT}{part.strip()}" for part in inner], f"{indent}]"]


def _broken(text: str, indent: str) -> list[str]:
    if len(indent) + len(text) <= WIDTH:
        return [indent + text]
    head, body = headed(text)
    if head == "return " and len(pieces_between(body)) > 1:
        body = f"({body})"
    bracket = _last_bracket(body)
    if bracket is not None and not operators(body):
        start, end = bracket
        inner, tail = body[start + 1 : end], body[end:]
        parts = [inner[a:b] for a, b in pieces_between(inner)]
        if len(parts) > 1 or len(inner) > 20:
            lines = [indent + head + body[: start + 1]]
            for part in parts:
                lines += _broken(part.strip() + ("," if len(parts) > 1 else ""), indent + INDENT)
            return [*lines, indent + tail]
    cuts = operators(body)
    if not cuts:
        return [indent + text]
    parts = [body[a:b].strip() for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    comma = parts[-1].endswith(",")
    parts[-1] = parts[-1].rstrip(",")
    lines = [f"{indent}{head}("]
    for part in parts:
        lines += _broken(part, indent + INDENT)
    return [*lines, indent + (")," if comma else ")")]


def headed(text: str) -> tuple[str, str]:
    """``name = `` or ``return ``, and what comes after it."""
    if text.startswith("return "):
        return "return ", text[7:]
    name, equals, rest = text.partition(" = ")
    return (name + equals, rest) if equals and not any(c in name for c in OPEN) else ("", text)


def depths_of(text: str) -> list[int]:
    depth, found, quoted = 0, [], False
    for c in text:
        if c == '"':
            quoted = not quoted
        if not quoted and c in CLOSE:
            depth -= 1
        found.append(depth if not quoted else depth + 1)
        if not quoted and c in OPEN:
            depth += 1
    return found


def operators(text: str) -> list[int]:
    """Where the operators of the lowest rank stand outside of all brackets."""
    depths = depths_of(text)
    for signs in (("+", "-"), ("*", "/")):
        found = [
            k + 1
            for k in range(1, len(text) - 3)
            if depths[k] == 0 and text[k] == " " and text[k + 1] in signs and text[k + 2] == " "
        ]
        if found:
            return found
    return []


def _last_bracket(text: str) -> tuple[int, int] | None:
    """The outermost bracket with most inside."""
    depths, best, start = depths_of(text), None, 0
    for k, c in enumerate(text):
        if c in OPEN and depths[k] == 0:
            start = k
        if c in CLOSE and depths[k] == 0 and (best is None or k - start > best[1] - best[0]):
            best = (start, k)
    return best


def pieces_between(text: str) -> list[tuple[int, int]]:
    """Where the parts stand that commas separate."""
    depths, parts, start = depths_of(text), [], 0
    for k, c in enumerate(text):
        if c == "," and depths[k] == 0:
            parts.append((start, k))
            start = k + 2
    return [*parts, (start, len(text))]


def paragraph(text: str, indent: str) -> list[str]:
    """Words in lines of the width."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=2 * INDENT, break_long_words=False, break_on_hyphens=False
    )
