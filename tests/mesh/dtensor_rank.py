"""One of several processes that compute with DTensors: ``python dtensor_rank.py RANK WORLD FILE`` prints what it found.

Each case is compared with NumPy; what a process does not have of a result is sent to it by ``full_tensor``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
EXPRESSIONS = {
    "structures": "D[i,j] = delta[i,j] x[i]**2 + x[i] x[j]",
    "reads": "y[i] = z[i+k] c[k]",
    "trace": "t = A[i,i] + 2",
    "solve": "y[i] = inv(A)[i,j] x[j]",
    "sorted": "y[i] = sort[i](x[i])",
    "running": "y[i] = cumsum[i](x[i])",
    "largest": "y[i] = max[j](A[i,j])",
    "scaled": "y[i,j] = (A[i,j] - 1[j] mean[j](A[i,j])) / (1[j] sqrt(mean[j](A[i,j]**2)))",
    "constant": "y[i] = 3 1[i] |i|",
}
DERIVATIVES = {
    "determinant": ("l = logdet(A)", ("A",)),
    "third": ("l = 1[i] x[i]**4", ("x", "x", "x")),
    "gathered": ("l = 1[n,d] E[t[n],d]**3", ("E",)),
    "gathered twice": ("l = 1[n,d] E[t[n],d]**3", ("E", "E")),
    "largest": ("l = 1[i] max[j](A[i,j])", ("A",)),
}
TRACED = {
    "slices": lambda x: (x[1:] - x[:-1] ** 2).sum() ** 2,
    "stacked": lambda x: np.stack([x, x**2])[:, ::2].prod(),
    "joined": lambda x: (np.concatenate([x, 2 * x]) ** 3).sum(),
    "reshaped": lambda x: ((x.reshape(-1, 2) @ np.ones((2, 3))) ** 3).sum(),
    "masked": lambda x: np.where(x > 2, x, x**2).sum(),
    "triangle": lambda x: (np.tril(np.outer(x, x)) ** 2).sum(),
    "rolled": lambda x: (np.roll(x, 1) * x**2).sum(),
    "loop": lambda x: [x := np.tanh(x) for _ in range(30)][-1].sum(),
    "constant": lambda x: x.sum(),
}


def values(size: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(size, size)) + 2 * np.sqrt(size) * np.eye(size)
    t = np.arange(size) % 4
    c, E = np.ones(3), rng.normal(size=(4, 3))
    return {"x": rng.normal(size=size) + 1, "z": rng.normal(size=size + 2), "A": A @ A.T, "c": c, "E": E, "t": t}


def main(rank: int, world: int, file: str) -> dict[str, str]:
    import torch
    import torch.distributed as dist
    from mesh_cases import FORMULAS, close, inputs
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

    import ricci as rc

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    found: dict[str, str] = {}

    def placed(value: np.ndarray, dim: int) -> DTensor:
        cut = Shard(dim) if value.ndim > dim else Replicate()
        return distribute_tensor(torch.as_tensor(value), mesh, [cut])

    def compare(name: str, result: object, wanted: object) -> None:
        results = result if isinstance(result, tuple) else (result,)
        whole = tuple(
            [x.full_tensor() if isinstance(x, DTensor) else f"{type(x).__name__}, no DTensor" for x in results]
        )
        wrong = [x for x in whole if isinstance(x, str)]
        good = not wrong and close(whole, wanted if isinstance(wanted, tuple) else (wanted,))
        found[name] = "good" if good else f"wrong: {wrong or results} for {wanted}"

    def run(name: str, formulas: object, given: dict[str, np.ndarray], dim: int = 0) -> None:
        f = rc.compile(formulas, "torch")  # type: ignore[arg-type]
        tensors = {key: placed(value, dim) for key, value in given.items()}
        wanted = rc.compile(formulas, "numpy")(**given)  # type: ignore[arg-type]
        for number in range(2):  # the second call goes by the shortcut
            compare(f"{name} {dim} {number}", f(**tensors), wanted)
        plain = f(**{key: torch.as_tensor(value) for key, value in given.items()})
        found[f"{name} {dim} plain"] = "good" if close(plain, wanted) else f"wrong: {plain}"

    few = {"m": 12, "n": 6, "i": 6, "j": 5, "k": 4, "b": 2, "h": 2, "d": 4, "e": 4, "p": 3, "q": 3, "c": 4}
    for name, formulas in FORMULAS.items():
        for dim in (0, 1):
            run(name, formulas, inputs(formulas, few), dim)
    for size in (8, 7):  # which two processes do not share equally
        given = values(size)
        for name, text in EXPRESSIONS.items():
            formula = rc.parse(text)
            names = formula.context.facts.inputs
            sized = {"sizes": {"i": size}} if name == "constant" else {}
            if not sized:
                run(f"{name} {size}", formula, {key: given[key] for key in names})
        for name, (text, by) in DERIVATIVES.items():
            formula = rc.parse(text).diff(*by)
            run(f"by {name} {size}", formula, {key: given[key] for key in formula.compile().inputs})
    x = values(8)["x"]
    for name, function in TRACED.items():
        for transform in (rc.grad, rc.hessian):
            compare(f"{transform.__name__} {name}", transform(function)(placed(x, 0)), transform(function)(x))
    dist.destroy_process_group()
    return found


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
