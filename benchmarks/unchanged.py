"""Whether two versions of ricci give the same: `python benchmarks/unchanged.py ../older/src`.

The corpus is all identities, random texts, random programs and the examples. Each version runs it in a process of its
own and records texts, LaTeX, matrix notation, derivations, sources and values. Texts must be equal, values equal up to
rounding; what differs is printed, and counted by what it is of.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXTS, PROGRAMS, SIZE = 200, 150, 3
SHOWN = 5  # differences of each kind


def corpus() -> list[dict]:
    """The cases, as plain data, so that versions need not have the same modules."""
    from ricci.testing.drawn_inputs import draw, size_names
    from ricci.testing.identities import identities
    from ricci.testing.texts import INPUTS, random_text

    rng = np.random.default_rng(0)
    cases = []
    for row in identities():
        sizes = {name: SIZE + k for k, name in enumerate(size_names(row.inputs))}
        values = draw(row.inputs, sizes, rng)
        cases.append({"name": row.name, "text": row.text, "wrt": list(row.wrt), "inputs": _plain(values)})
    for seed in range(TEXTS):
        text = random_text(random.Random(seed), 1 + seed % 5, scalar=seed % 2 == 0)
        wrt = [name for name in INPUTS if f"{name}[" in str(text) or f" {name} " in f" {text} "][:1]
        cases.append({"name": f"text {seed}", "text": str(text), "wrt": wrt, "inputs": _plain(text.inputs)})
    return cases


def _plain(values: dict) -> dict:
    return {name: [np.asarray(v).tolist(), str(np.asarray(v).dtype)] for name, v in values.items()}


def recorded(cases: list[dict]) -> dict[str, object]:
    """What the version in this process makes of the cases, by name and kind."""
    found: dict[str, object] = {}
    for case in cases:
        _formula(case, found)
    sys.path.insert(0, str(ROOT / "tests" / "transforms"))
    for seed in range(PROGRAMS):
        _program(seed, found)
    for path in sorted((ROOT / "examples").glob("*.py")):
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
        found[f"{path.stem}: printed"] = done.stdout if not done.returncode else done.stderr
    return found


def _formula(case: dict, found: dict) -> None:
    import ricci as rc

    inputs = {name: np.array(value, dtype) for name, (value, dtype) in case["inputs"].items()}
    function = rc.parse(case["text"])
    formulas = {"": function}
    for order in range(1, len(case["wrt"]) + 1):
        formulas[f"d{order} "] = function.diff(*case["wrt"][:order])
    for label, f in formulas.items():
        given = {name: value for name, value in inputs.items() if name in function.variables}
        ways = {
            "text": lambda f=f: str(f),
            "LaTeX": lambda f=f: f.latex(),
            "matrix": lambda f=f: str(f.matrix()),
            "structure": lambda f=f: str(f.structure()),
            "derivation": lambda f=f, label=label: str(f.derivation()) if label else "",
            "value": lambda f=f, given=given: _numbers(f(**given)),
            "compiled": lambda f=f, given=given: _numbers(f.compile("numpy")(**given)),
            "source": lambda f=f, given=given: _source(f, given),
        }
        for way, make in ways.items():
            found[f"{case['name']} {label}: {way}"] = _tried(make)


def _source(f, given: dict) -> str:
    compiled = f.compile("numpy")
    compiled(**given)
    return compiled.source


def _program(seed: int, found: dict) -> None:
    from programs import random_program  # pyright: ignore[reportMissingImports, reportAttributeAccessIssue]

    import ricci as rc

    program = random_program(seed, 2 + seed % 7)
    arrays = program.arrays(seed)
    places = tuple(range(len(arrays)))
    found[f"program {seed}: gradient"] = _tried(lambda: [_numbers(g) for g in rc.grad(program, places)(*arrays)])
    found[f"program {seed}: Hessian"] = _tried(lambda: _numbers(rc.hessian(program)(*arrays)))
    found[f"program {seed}: explained"] = _tried(lambda: str(rc.explain(rc.grad(program))(*arrays)))


def _tried(make):
    try:
        with np.errstate(all="ignore"):
            return make()
    except Exception as error:  # a refusal is a result too
        return f"{type(error).__name__}: {error}".partition(" index '")[0]  # which of several is named first may differ


def _numbers(value) -> list:
    value = np.asarray(value)
    return [str(value.dtype), list(value.shape), value.ravel().tolist()]


def same(one: object, other: object) -> bool:
    """Equal; numbers up to rounding."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, (float, int)):
        return bool(np.isclose(one, other, rtol=1e-7, atol=1e-9, equal_nan=True))
    return one == other


def run(source: str, cases: pathlib.Path) -> dict[str, object]:
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    out = cases.with_suffix(".out")
    subprocess.run([sys.executable, __file__, "--record", str(cases), str(out)], env=environment, check=True)
    return json.loads(out.read_text())


def main(other: str) -> int:
    sys.path.insert(0, str(ROOT / "src"))
    with tempfile.TemporaryDirectory() as folder:
        cases = pathlib.Path(folder) / "cases.json"
        cases.write_text(json.dumps(corpus()))
        before, after = run(other, cases), run(str(ROOT / "src"), cases)
    kinds = collections.Counter(name.rpartition(": ")[2] for name in after)
    differ = {name for name in before.keys() | after.keys() if not same(before.get(name), after.get(name))}
    for kind, count in sorted(kinds.items()):
        names = sorted(name for name in differ if name.endswith(f": {kind}"))
        print(f"{kind}: {count - len(names)} of {count} are the same")
        for name in names[:SHOWN]:
            print(f"  {name}\n    {before.get(name)!s:.600}\n    {after.get(name)!s:.600}")
    return bool(differ)


if __name__ == "__main__":
    if sys.argv[1] == "--record":
        cases, out = map(pathlib.Path, sys.argv[2:])
        out.write_text(json.dumps(recorded(json.loads(cases.read_text()))))
    else:
        sys.exit(main(sys.argv[1]))
