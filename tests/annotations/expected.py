"""What type checkers know of ricci: read by pyright, never run.

``assert_type`` says what something is. A line with ``pyright: ignore`` is a mistake that must be found: where it is
not, the comment itself is reported, since it was not needed.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import ricci as rc
import ricci.einops as einops
import ricci.numpy as rnp
from ricci.compiler.compressed.result import CompressedFunction
from ricci.compiler.plan.plans import Plan
from ricci.compiler.run.function import Compiled
from ricci.drawing import Drawing
from ricci.scopes import ShapeTable
from ricci.show.derivation import Derivation
from ricci.user.equations import Equation
from ricci.user.equivalence import Undecided
from ricci.user.explaining import Explanation

Arrays = dict[str, np.ndarray]


class OtherArray:
    """An array of some other library."""

    shape: tuple[int, ...]
    dtype: str


def formulas(f: rc.Formula) -> None:
    assert_type(rc.parse("y = x[i] x[i]"), rc.Formula)
    assert_type(f + 1, rc.Formula)
    assert_type(2 * f / f - f**2, rc.Formula)
    assert_type(f.diff("x", "x"), rc.Formula)
    assert_type(f.diff_all("x"), tuple[rc.Formula, ...])
    assert_type(rc.pullback(f, "x"), rc.Formula)
    assert_type(rc.pullback(f, ["x", "w"]), tuple[rc.Formula, ...])
    assert_type(f.sum("i").exp().softmax("k").maximum(0), rc.Formula)
    assert_type(f.compile("numpy"), Compiled)
    assert_type(f.compile(compressed=True), CompressedFunction)
    assert_type(rc.compile([f, f]), Compiled)
    assert_type(f.compile().plan, Plan)
    assert_type(f.compile().source, str)
    assert_type(f.latex(), str)
    assert_type(f.graph(), Drawing)
    assert_type(f.derivation(), Derivation)
    assert_type(f.equation, Equation)
    assert_type(f.equivalent(f), bool | Undecided)
    assert_type(f.variables, tuple[str, ...])
    f.softmaxx("k")  # pyright: ignore[reportAttributeAccessIssue]
    f.exp(1)  # pyright: ignore[reportCallIssue]
    f.compile(backnd="numpy")  # pyright: ignore[reportCallIssue]
    rc.parse(3)  # pyright: ignore[reportArgumentType]


def functions(f: rc.Formula, x: np.ndarray, t: rc.Tensor, o: OtherArray) -> None:
    assert_type(rc.exp(f), rc.Formula)
    assert_type(rc.exp(2.0), rc.Formula)
    assert_type(rc.exp(x), np.ndarray)
    assert_type(rc.exp(np.ones((2, 3))), np.ndarray)
    assert_type(rc.exp(t), rc.Tensor)
    assert_type(rc.exp(o), OtherArray)
    assert_type(rc.maximum(f, 0), rc.Formula)
    assert_type(rc.maximum(0.0, t), rc.Tensor)
    assert_type(rc.maximum(t, x), rc.Tensor)
    assert_type(rc.maximum(x, 1), np.ndarray)
    assert_type(rc.maximum(o, 1), OtherArray)
    assert_type(rc.where(x > 0, t, 0.0), rc.Tensor)
    assert_type(rc.clip(f, 0, 1), rc.Formula)
    assert_type(rc.less(f, 1), rc.Formula)
    assert_type(rc.softmax(f, "k"), rc.Formula)
    assert_type(rc.softmax(x, -1), np.ndarray)
    assert_type(rc.softmax(t, axis=-1), rc.Tensor)
    assert_type(rc.sum(f), rc.Formula)
    assert_type(rc.sum(t, axis=(0, 1), keepdims=True), rc.Tensor)
    assert_type(rc.sum(x), Any)
    assert_type(rc.det(f), rc.Formula)
    assert_type(rc.inv(t), rc.Tensor)
    assert_type(rc.solve(x, x), np.ndarray)
    assert_type(rc.solve(f, f), rc.Formula)
    rc.expp(f)  # pyright: ignore[reportAttributeAccessIssue]
    rc.exp()  # pyright: ignore[reportCallIssue]
    rc.exp("x")  # pyright: ignore[reportArgumentType, reportCallIssue]
    rc.exp(f, f)  # pyright: ignore[reportCallIssue]
    rc.softmax(f, dim="k")  # pyright: ignore[reportCallIssue]
    rc.softmax(x, keepdims=True)  # pyright: ignore[reportCallIssue]


def unknown(x: Any) -> None:
    """Of what is of no known type, nothing is claimed."""
    rc.exp(x).anything, rc.maximum(x, 1).anything, rc.sum(x).anything, rc.softmax(x, -1).anything, rc.inv(x).anything
    rc.less(x, 1).anything, rc.argmax(x).anything, rc.solve(x, x).anything, rc.where(x, x, 1).anything
    rc.rearrange(x, "a b -> b a").anything, rc.reduce(x, "a b -> a", "sum").anything, rc.einsum("i i", x).anything
    rc.pack([x, x], "a *")[0].anything, rc.unpack(x, [(2,)], "a *")[0].anything, rc.gather(x, x, "a, b -> b").anything
    rc.grad(x)(x).anything, rc.hessian(x)(x).anything, rc.value_and_grad(x)(x)[1].anything, rc.compile(x)(x).anything
    rnp.sin(x).anything, rnp.maximum(x, 1).anything


def tensors() -> None:
    t = rc.Tensor([1.0])
    assert_type(t * 2, rc.Tensor)
    assert_type(1 - t / t**2 @ t, rc.Tensor)
    assert_type(t.sum(), rc.Tensor)
    assert_type(t.mean(axis=0, keepdims=True).exp().softmax(-1), rc.Tensor)
    assert_type(-t, rc.Tensor)
    assert_type(t.detach(), rc.Tensor)
    assert_type(t.numpy(), np.ndarray)
    assert_type(t.shape, tuple[int, ...])
    assert_type(t.backward(), None)
    assert_type(t.requires_grad, bool)
    t.grad.sum().backward()
    t += 1
    assert_type(t, rc.Tensor)
    t.summ()  # pyright: ignore[reportAttributeAccessIssue]
    t.sum(axs=0)  # pyright: ignore[reportCallIssue]
    t.backwards()  # pyright: ignore[reportAttributeAccessIssue]
    rc.Tensor()  # pyright: ignore[reportCallIssue]
    rc.Tensor([1.0], require_grad=True)  # pyright: ignore[reportCallIssue]


def loss(x: np.ndarray, y: float, *, scale: float = 1.0) -> float: ...
def layers(p: Arrays, x: np.ndarray) -> tuple[float, Arrays]: ...
def vectors(x: np.ndarray) -> np.ndarray: ...
def curve(x: float) -> np.ndarray: ...
def slope(x: float) -> float: ...
def pair(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...
def other(x: OtherArray) -> OtherArray: ...


def transforms(x: np.ndarray, p: Arrays, o: OtherArray, f: rc.Formula) -> None:
    assert_type(rc.grad(loss)(x, 2.0, scale=3.0), np.ndarray)
    assert_type(rc.grad(slope)(2.0), float)
    assert_type(rc.grad(layers, has_aux=True)(p, x), tuple[Arrays, Arrays])
    assert_type(rc.grad(loss, argnums=(0, 1))(x, 2.0), tuple[Any, ...])
    assert_type(rc.grad(loss, 1)(x, 2.0), Any)
    assert_type(rc.grad(f, "x")(x=x), Any)
    assert_type(rc.value_and_grad(loss)(x, 2.0), tuple[float, np.ndarray])
    assert_type(rc.value_and_grad(layers, has_aux=True)(p, x), tuple[tuple[float, Arrays], Arrays])
    assert_type(rc.value_and_grad(loss, argnums=(0, 1))(x, 2.0), tuple[float, tuple[Any, ...]])
    assert_type(rc.jacobian(vectors)(x), np.ndarray)
    assert_type(rc.jacfwd(curve)(2.0), np.ndarray)
    assert_type(rc.jacrev(slope)(2.0), float)
    assert_type(rc.jacobian(other)(o), OtherArray)
    assert_type(rc.jacobian(pair)(x), Any)
    assert_type(rc.hessian(loss)(x, 2.0), np.ndarray)
    assert_type(rc.hessian(slope)(2.0), float)
    assert_type(rc.hessian(loss, compressed=True)(x, 2.0), rc.Compressed)
    assert_type(rc.hvp(loss)(x, 2.0, x), np.ndarray)
    assert_type(rc.hessian_diagonal(loss)(x, 2.0), np.ndarray)
    assert_type(rc.laplacian(loss)(x, 2.0), float)
    assert_type(rc.taylor(slope, 3)(1.0, 2.0), tuple[float, ...])
    assert_type(rc.compile(loss)(x, 2.0), float)
    assert_type(rc.checkpoint(loss)(x, 2.0), float)
    assert_type(rc.jvp(vectors, (x,), (x,)), tuple[np.ndarray, np.ndarray])
    assert_type(rc.vjp(vectors, x), tuple[np.ndarray, Callable[[Any], tuple[Any, ...]]])
    assert_type(rc.linearize(vectors, x)[0], np.ndarray)
    assert_type(rc.explain(rc.grad(loss))(x, 2.0), Explanation)
    assert_type(rc.shapes(vectors)(x), ShapeTable | Any)
    assert_type(rc.grad(rc.grad(slope))(1.0), float)
    rc.grad(lambda v: (v**2).sum() + v["a"] @ v.x)(x)
    rc.hessian(lambda v: (v**2).sum() + v["a"] @ v.x)(x)
    rc.grad(loss, argnum=0)  # pyright: ignore[reportCallIssue]
    rc.grad(3)  # pyright: ignore[reportArgumentType, reportCallIssue]
    rc.grad(loss)(x)  # pyright: ignore[reportCallIssue]
    rc.grad(loss)(2.0, 2.0)  # pyright: ignore[reportArgumentType]
    rc.grad(loss)(x, 2.0, scales=1.0)  # pyright: ignore[reportCallIssue]
    rc.hesian(loss)  # pyright: ignore[reportAttributeAccessIssue]
    rc.jacobian(loss, modus="forward")  # pyright: ignore[reportCallIssue]


@rc.custom
def doubled(x: np.ndarray) -> np.ndarray:
    return 2 * x


@rc.signature("b t -> b")
def summed(x: np.ndarray) -> np.ndarray:
    return x.sum(1)


def decorated(x: np.ndarray, f: rc.Formula) -> None:
    assert_type(doubled(x), np.ndarray)
    assert_type(doubled(f), Any)
    assert_type(rc.compile(doubled)(x), np.ndarray)
    assert_type(summed(x), np.ndarray)
    summed(x, x)  # pyright: ignore[reportCallIssue]


def namespace(t: rc.Tensor, x: np.ndarray) -> None:
    assert_type(rnp.sin(t), rc.Tensor)
    assert_type(rnp.sum(t, axis=0), rc.Tensor)
    assert_type(rnp.stack([t, t]), rc.Tensor)
    assert_type(rnp.maximum(x, t), rc.Tensor)
    assert_type(rnp.where(x > 0, t, 0.0), Any)
    assert_type(rnp.zeros(3).shape, tuple[int])
    assert_type(rnp.pi, float)
    assert_type(rnp.ndarray, type[np.ndarray])
    assert_type(rc.numpy.cos(t), rc.Tensor)
    rnp.sine(t)  # pyright: ignore[reportAttributeAccessIssue]


def patterns(x: np.ndarray, t: rc.Tensor, f: rc.Formula, o: OtherArray) -> None:
    assert_type(einops.rearrange(x, "a b -> b a"), np.ndarray)
    assert_type(einops.rearrange(np.zeros((2, 3)), "a b -> (a b)"), np.ndarray)
    assert_type(einops.rearrange(o, "a b -> b a"), OtherArray)
    assert_type(einops.rearrange([o, o], "n a b -> b a n"), OtherArray)
    assert_type(einops.repeat(o, "a -> a n", n=3), OtherArray)
    assert_type(einops.reduce(o, "a b -> a", "max"), OtherArray)
    assert_type(einops.einsum(o, o, "a b, b c -> a c"), OtherArray)
    assert_type(einops.pack([o, o], "a *"), tuple[OtherArray, list[tuple[int, ...]]])
    assert_type(einops.unpack(o, [(2,), (3,)], "a *"), list[OtherArray])
    assert_type(einops.asnumpy(o), np.ndarray)
    assert_type(rc.rearrange(f, "a b -> b a"), rc.Formula)
    assert_type(rc.rearrange(t, "a b -> b a"), rc.Tensor)
    assert_type(rc.einsum("a b, b c -> a c", t, t), rc.Tensor)
    assert_type(rc.einsum(x, x, "a b, b c -> a c", op="add", reduce="min"), np.ndarray)
    assert_type(rc.gather(x, x, "n d, b -> b d"), np.ndarray)
    einops.rearange(x, "a b -> b a")  # pyright: ignore[reportAttributeAccessIssue]
    einops.rearrange(x)  # pyright: ignore[reportCallIssue]
    einops.reduce(x, "a b -> a")  # pyright: ignore[reportCallIssue]
    einops.rearrange(x, 3)  # pyright: ignore[reportArgumentType, reportCallIssue]
