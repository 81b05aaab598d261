"""What stands in a source tree of ricci, and what imports what: read from the files, nothing is run.

An import is counted wherever it stands: at the top of a module, inside a function, or as the name of a module in a
string, from which it is imported when first asked for. Those for type checkers alone (``if TYPE_CHECKING:``) are not.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TOP, INSIDE, NAMED = "at the top", "inside a function", "by name"
# The rooms: each imports those on lines above its own, and no others.
ORDER = [
    ["markup"],
    ["errors", "grid", "within"],
    ["checked_calls"],
    ["budget", "caches", "wrapping"],
    ["kinds"],
    ["dispatch"],
    ["expr"],
    ["functions"],
    ["notation"],
    ["calculus"],
    ["simplify"],
    ["loops"],
    ["show"],
    ["compiler"],
    ["standalone"],
    ["einops"],
    ["scopes"],
    ["tracing"],
    ["tensor"],
    ["transforms"],
    ["drawing", "checks"],
    ["user"],
    ["review"],
    ["numpy", "shells"],
    ["__init__"],
    ["web"],
    ["cli", "testing"],
    ["__main__"],
]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Import:
    """One module imports another: at its top, inside a function, or by a name in a string."""

    module: str
    other: str
    line: int
    where: str = TOP

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.other}"


def sources(tree: Path) -> dict[str, str]:
    """The text of all modules below ``tree``, by name; a package has the name of its folder."""
    found = {}
    for path in sorted((tree / "ricci").rglob("*.py")):
        words = path.relative_to(tree).with_suffix("").parts
        found[".".join(words[:-1] if words[-1] == "__init__" else words)] = path.read_text()
    return found


def room_of(module: str) -> str:
    """The room of ``ricci.expr.nodes`` is ``expr``; a module beside the rooms is a room of its own."""
    words = module.split(".")
    return words[1] if len(words) > 1 else "__init__"


def imports(texts: Mapping[str, str]) -> list[Import]:
    """All imports between the modules given."""
    packages = {module.rpartition(".")[0] for module in texts}
    found = [one for module, text in texts.items() for one in _imports_of(module, text, texts, packages)]
    return list(dict.fromkeys(found))


def _imports_of(module: str, text: str, known: Mapping[str, str], packages: set[str]) -> Iterator[Import]:
    for name, by_name, line, inside in _read(module, text, module in packages)[0]:
        other = _known(name, known)
        if other and other != module and (not by_name or other == name):
            yield Import(module, other, line, NAMED if by_name else INSIDE if inside else TOP)


@cache
def _read(module: str, text: str, package: bool) -> tuple[list[tuple[str, bool, int, bool]], list[str]]:
    """What a module imports, or names in a string, on which line, and whether inside a function; and its classes."""
    named, classes = [], []
    stack: list[tuple[ast.AST, bool]] = [(ast.parse(text), False)]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, ast.If) and _for_types(node.test):
            stack += [(child, inside) for child in node.orelse]
            continue
        inside = inside or isinstance(node, FUNCTIONS)
        stack += [(child, inside) for child in ast.iter_child_nodes(node)]
        if isinstance(node, ast.ClassDef):
            classes.append(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom, ast.Constant)):
            named += [(name, by_name, node.lineno, inside) for name, by_name in _named(node, module, package)]
    return named, classes


def _for_types(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def _named(node: ast.AST, module: str, package: bool) -> Iterator[tuple[str, bool]]:
    """The names that a node of the syntax tree imports; whether they stand in a string."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, False) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        words = module.split(".")
        words = words[: len(words) - node.level + package] if node.level else []
        base = ".".join([*words, *filter(None, [node.module])])
        yield from ((f"{base}.{alias.name}", False) for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("ricci."):
        yield node.value, True


def _known(name: str, known: Mapping[str, str]) -> str | None:
    """The module that a dotted name is in: ``ricci.expr.Expr`` is in the package ``ricci.expr``."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name or None


def cycles(found: Iterable[Import]) -> list[set[str]]:
    """The groups of modules that import one another, directly or not: strongly connected components, by Tarjan."""
    after: dict[str, set[str]] = defaultdict(set)
    for one in found:
        after[one.module].add(one.other)
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    groups = []
    for start in sorted(after):
        stack = [] if start in order else [(start, iter(sorted(after[start])))]
        while stack:
            node, others = stack[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                open_.append(node)
            other = next(others, None)
            if other is None:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[node])
                if low[node] == order[node]:
                    cut = open_.index(node)
                    group, open_[cut:] = set(open_[cut:]), []
                    groups += [group] if len(group) > 1 else []
            elif other not in order:
                stack.append((other, iter(sorted(after.get(other, ())))))
            elif other in open_:
                low[node] = min(low[node], order[other])
    return groups


def closing(found: Iterable[Import]) -> list[Import]:
    """The imports that would close a cycle if they stood at the top of their module, where the others are."""
    found = list(found)
    at_top = [one for one in found if one.where == TOP]
    return [one for one in found if one.where != TOP and cycles([*at_top, one])]


def misplaced(texts: Mapping[str, str]) -> list[str]:
    """What is against the order of the rooms, in words."""
    rank = {room: place for place, line in enumerate(ORDER) for room in line}
    faults = [f"{module} has no place in the order" for module in texts if room_of(module) not in rank]
    for one in imports(texts):
        own, other = room_of(one.module), room_of(one.other)
        if own in rank and own != other and rank[other] >= rank[own]:
            faults.append(str(one))
    return faults


def twice(texts: Mapping[str, str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """File names and class names that occur more than once, with the modules; packages are not files."""
    files, classes = defaultdict(list), defaultdict(list)
    packages = {module.rpartition(".")[0] for module in texts}
    for module, text in texts.items():
        if module not in packages and not module.endswith("__main__"):
            files[module.rpartition(".")[2]].append(module)
        for name in _read(module, text, module in packages)[1]:
            classes[name].append(module)
    return tuple({name: modules for name, modules in sorted(t.items()) if len(modules) > 1} for t in (files, classes))  # type: ignore


def rooms_of(found: Iterable[Import]) -> dict[str, Counter[str]]:
    """How many imports there are from each room to each other."""
    graph: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        graph[room_of(one.module)][room_of(one.other)] += room_of(one.module) != room_of(one.other)
        graph[room_of(one.other)]
    return dict(graph)


def drawn(graph: Mapping[str, Mapping[str, int]]) -> str:
    """The graph as a matrix of counts: a row for each room, and how often it imports the rooms above it.

    All counts are left of the diagonal if imports point one way.
    """
    known = [room for line in ORDER for room in line]
    order = [room for room in known if room in graph] + sorted(graph.keys() - set(known))
    width = max(map(len, order))
    cells = [["\u2022" if a == b else str(graph[a].get(b) or "") for b in order] for a in order]
    wide = [max(len(row[k]) for row in cells) for k in range(len(order))]
    lines = [
        f"{room:>{width}}  {' '.join(cell.rjust(w) for cell, w in zip(row, wide))}".rstrip()
        for room, row in zip(order, cells)
    ]
    return "\n".join(lines)
