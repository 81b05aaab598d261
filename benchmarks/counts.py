"""What the house of ricci looks like in numbers: `python benchmarks/counts.py [other/src …]`, one column for each tree.

Lines and modules, by rooms; imports inside functions and those that hide a cycle; names of files and classes that
occur twice; and four walks, each in a process of its own with nothing known yet: how many modules a reader enters who
follows the calls, how many times a call goes to a module that was entered before and left since, and how many calls
there are. What modules do when they are imported is not part of a walk.

`--names` lists what the counts of names, imports and cycles count, `--walk 2` the modules of a walk in the order in
which they are entered, and `--graph` the rooms and what each imports.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import house

HERE = Path(__file__).resolve().parent.parent / "src"


def text(rc, np) -> Callable[[], Any]:
    data = {"X": np.ones((5, 3)), "y": np.ones(5), "w": np.ones(3)}
    loss = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"
    return lambda: rc.parse(loss).diff("w", "w").compile("numpy")(**data)


def program(rc, np) -> Callable[[], Any]:
    def loss(w, x, y):
        return np.log1p(np.exp(-y * (x @ w))).sum()

    return lambda: rc.hessian(loss)(np.ones(3), np.ones((5, 3)), np.ones(5))


def pattern(rc, np) -> Callable[[], Any]:
    images = np.ones((2, 8, 8, 3))
    return lambda: rc.rearrange(images, "b (h p) (w q) c -> b h w (p q c)", p=4, q=4)


def eager(rc, np) -> Callable[[], Any]:
    x, w = rc.Tensor(np.ones((4, 3))), np.ones((3, 2))
    return lambda: np.tanh(x @ w).sum().backward()


WALKS = {
    "parse → Hessian → compile → call": text,
    "`rc.hessian(f)`": program,
    "`rc.rearrange`": pattern,
    "`Tensor.backward()`": eager,
}


def follow(walk: str) -> list[str]:
    """The modules that calls go to, in order; run in a process with the tree on its path."""
    import numpy as np

    import ricci as rc

    root = Path(rc.__file__).parent
    names = {str(path): module for module, path in _paths(root)}
    run = WALKS[walk](rc, np)
    entered: list[str] = []
    importing = 0

    def seen(frame, event, _):
        nonlocal importing
        module = names.get(frame.f_code.co_filename) if event in ("call", "return") else None
        if module is not None and frame.f_code.co_name == "<module>":
            importing += 1 if event == "call" else -1
        elif module is not None and event == "call" and not importing:
            entered.append(module)

    sys.setprofile(seen)
    try:
        run()
    finally:
        sys.setprofile(None)
    return entered


def _paths(root: Path) -> Iterable[tuple[str, Path]]:
    for path in root.rglob("*.py"):
        words = path.relative_to(root.parent).with_suffix("").parts
        yield ".".join(words[:-1] if words[-1] == "__init__" else words), path


def followed(tree: Path, walk: str) -> list[str]:
    settings = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--follow", walk]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def returns(entered: list[str]) -> int:
    """How many calls go to a module that was entered before, and left for another since."""
    known: set[str] = set()
    count = 0
    for before, module in zip([None, *entered], entered):
        count += module != before and module in known
        known.add(module)
    return count


def counted(tree: Path) -> dict[str, str]:
    """The rows of a column, by their titles."""
    texts = house.sources(tree)
    lines = {module: text.count("\n") for module, text in texts.items()}
    found = house.imports(texts)
    files, classes = house.twice(texts)
    stubs = sum(path.read_text().count("\n") for path in tree.rglob("*.pyi"))
    rows = {"lines": f"{sum(lines.values()):,}", "lines of stubs, generated": f"{stubs:,}", "modules": str(len(lines))}
    for walk in WALKS:
        entered = followed(tree, walk)
        rows[f"{walk}: modules entered"] = str(len(set(entered)))
        rows[f"{walk}: returns"] = f"{returns(entered):,}"
        rows[f"{walk}: calls"] = f"{len(entered):,}"
    rows["imports inside functions"] = str(sum(one.where == house.INSIDE for one in found))
    rows["imports that hide a cycle"] = str(len(house.closing(found)))
    rows["modules in cycles, all imports counted"] = str(sum(map(len, house.cycles(found))))
    rows["names of files that occur twice"] = str(len(files))
    rows["names of classes that occur twice"] = str(len(classes))
    by_lines, by_modules = Counter(), Counter()
    for module, count in lines.items():
        by_lines[house.room_of(module)] += count
        by_modules[house.room_of(module)] += 1
    rows |= {f"`{room}`": f"{by_lines[room]:,} in {by_modules[room]}" for room in sorted(by_lines)}
    return rows


def beside(columns: dict[str, dict[str, str]]) -> str:
    """Columns as one table in Markdown."""
    titles = dict.fromkeys(title for rows in columns.values() for title in rows)
    table = [["", *columns], *[[t, *[rows.get(t, "") for rows in columns.values()]] for t in titles]]
    widths = [max(map(len, column)) for column in zip(*table)]
    table.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(cell.ljust(w) for cell, w in zip(row, widths))} |" for row in table)


def names(tree: Path) -> str:
    """What the counts of names and imports count."""
    texts = house.sources(tree)
    found = house.imports(texts)
    files, classes = house.twice(texts)
    parts = {
        "Names of files that occur twice": [f"{name}: {', '.join(modules)}" for name, modules in files.items()],
        "Names of classes that occur twice": [f"{name}: {', '.join(modules)}" for name, modules in classes.items()],
        "Imports that hide a cycle": [str(one) for one in house.closing(found)],
        "Modules that import one another": [", ".join(sorted(group)) for group in house.cycles(found)],
    }
    return "\n\n".join("\n  ".join([f"{title} ({len(part)})", *part]) for title, part in parts.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("trees", nargs="*", type=Path, help="other source trees, to stand before this one")
    parser.add_argument("--names", action="store_true", help="list what the counts of names and imports count")
    parser.add_argument("--walk", type=int, choices=range(1, len(WALKS) + 1), help="list the modules of a walk")
    parser.add_argument("--graph", action="store_true", help="the rooms, and what each imports")
    parser.add_argument("--follow", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    trees = [*[tree.resolve() for tree in asked.trees], HERE]
    if asked.follow:
        print(json.dumps(follow(asked.follow)))
    elif asked.names:
        print(names(trees[0]))
    elif asked.walk:
        print("\n".join(dict.fromkeys(followed(trees[0], list(WALKS)[asked.walk - 1]))))
    elif asked.graph:
        print(house.drawn(house.rooms_of(house.imports(house.sources(trees[0])))))
    else:
        columns = {"this" if tree == HERE else str(tree): counted(tree) for tree in dict.fromkeys(trees)}
        print(beside(columns))


if __name__ == "__main__":
    main()
