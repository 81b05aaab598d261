"""What travels in the tests: functions that other processes import, and examples of all that the API returns."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import ricci as rc
import ricci.einops as einops

WEIGHTS = np.array([1.0, 5.0, 2.0])


def energy(x: Any) -> Any:
    return (x * x * x + 2.0 * x).sum()


def weighted(x: Any) -> Any:
    return (x * x * WEIGHTS).sum()


def slopes(x: Any) -> Any:
    return x * x * x + 2.0 * x


def energy_and_slopes(x: Any) -> Any:
    return energy(x), slopes(x)


def of_tree(p: Any) -> Any:
    return (p["w"] * p["b"][0]).sum()


def scaled(x: Any, power: int) -> Any:
    return (x**power).sum()


@rc.grad
def decorated(x: Any) -> Any:
    return (x**3).sum()


@rc.compile
@rc.vmap
def twice_decorated(x: Any) -> Any:
    return x * x


@rc.custom
def half_as_steep(x: Any) -> Any:
    return x * x


@half_as_steep.derivative
def _(x: Any) -> Any:
    return x


@rc.custom
def running(x: Any) -> Any:
    return np.cumsum(x)


@running.jvp
def _(primals: Any, tangents: Any) -> Any:
    return np.cumsum(tangents[0])


def with_rules(x: Any) -> Any:
    return (half_as_steep(x) * running(x)).sum()


def plain(x: Any) -> Any:
    return x * x


def its_slope(x: Any) -> Any:
    return 3.0 * x


@rc.signature("i -> i")
def described(x: Any) -> Any:
    return x + x


def rows(x: Any) -> Any:
    return rc.rearrange(x, "(a b) -> a b", b=1)


class Model:
    """Something that is called, and has a method that is transformed."""

    def __init__(self, power: float):
        self.power = power

    def __call__(self, x: Any) -> Any:
        return self.power * (x * x).sum()

    @rc.compile
    def twice(self, x: Any) -> Any:
        return x + x


@dataclass
class Layer:
    """Parameters, of which one is static."""

    w: Any
    b: Any
    power: int = field(default=2, metadata={"static": True})


def of_layer(layer: Layer, x: Any) -> Any:
    return ((layer.w * x) ** layer.power).sum() + (layer.b * layer.b).sum()


@dataclass
class Example:
    """Something that the API returns; what it is called with, if it is a function; what is said of it otherwise."""

    thing: Any
    args: tuple = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    def worth(self) -> Any:
        """What tells it from others, by numbers and words."""
        return worth(self.thing(*self.args, **self.kwargs) if self.args or self.kwargs else self.thing)


def worth(thing: Any) -> Any:
    """A value in words and numbers of NumPy, whatever it is."""
    if isinstance(thing, (list, tuple)):
        return [worth(part) for part in thing]
    if isinstance(thing, dict):
        return {key: worth(part) for key, part in thing.items()}
    if isinstance(thing, (rc.Compressed, rc.Tensor)):
        return [np.asarray(thing.todense() if isinstance(thing, rc.Compressed) else thing.numpy()), repr(thing)]
    if hasattr(thing, "detach"):
        return np.asarray(thing.detach())
    if hasattr(thing, "__array__"):
        return np.asarray(thing)
    return re.sub(" at 0x[0-9a-f]+", "", str(thing))


def arrays(backend: str) -> Any:
    """What makes an array of a backend."""
    if backend == "numpy":
        return np.asarray
    if backend == "torch":
        return importlib.import_module("torch").tensor
    return importlib.import_module("jax.numpy").asarray


class Here:
    """Arrays of a backend, and what is made of them."""

    def __init__(self, backend: str):
        self.backend, self.a = backend, arrays(backend)
        self.x, self.v = self.a([1.0, 2.0, 3.0]), self.a([0.5, -1.0, 2.0])
        self.A = self.a([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [2.0, 0.0, 1.0]])
        self.f = rc.parse("l = (A[i,j] x[j] - b[i])**2 1[i]")
        self.given = {"A": self.A, "x": self.x, "b": self.v}
        self.rows: list[Example] = []

    def __call__(self, thing: Any, *args: Any, **kwargs: Any) -> None:
        self.rows.append(Example(thing, args, kwargs))

    def called(self, compiled: Any) -> Any:
        """A compiled function that was called, and so has compiled something."""
        compiled(**self.given)
        return compiled

    def inputs(self, compiled: Any) -> list[Any]:
        return [self.given[name] for name in compiled.inputs]


ROWS: dict[str, Callable[[Here], Any]] = {}  # for each name of the API, what gives examples of what it returns
Row = Callable[[Here], Any]


def row(*names: str) -> Callable[[Row], Row]:
    def put(function: Row) -> Row:
        ROWS.update(dict.fromkeys(names, function))
        return function

    return put


def examples(name: str, backend: str) -> list[Example]:
    here = Here(backend)
    ROWS[name](here)
    return here.rows


TRANSFORMS = {  # of a function of one array
    "jacobian": slopes,
    "jacfwd": slopes,
    "jacrev": slopes,
    "value_and_grad": weighted,
    "hessian_diagonal": energy,
    "laplacian": weighted,
    "elementwise_grad": slopes,
    "checkpoint": slopes,
    "trace": energy,
    "explain": energy,
}
NOT_SENT = {  # what gives nothing that could travel, and why
    "cache_clear": "returns nothing",
    "check_grads": "returns nothing, or raises",
    "limits": "is a scope of this process",
}


def _transform(name: str, function: Callable, here: Here) -> None:
    made = getattr(rc, name)(function)
    here(made, here.x)
    here(made(here.x))
    here(made, here.x)  # after a call


for _name, _function in TRANSFORMS.items():
    ROWS[_name] = partial(_transform, _name, _function)


@row("grad")
def _grad(here: Here) -> None:
    x, v = here.x, here.v
    here(rc.grad(weighted), x)
    here(decorated, x)
    here(rc.grad(energy_and_slopes, has_aux=True), x)
    here(rc.grad(scaled, static_argnums=1), x, 3)
    here(partial(rc.grad(scaled, static_argnums=1), x), 2)
    here(rc.grad(of_tree), {"w": x, "b": [v]})
    here(rc.grad(rc.compile(energy)), x)
    here(rc.grad(Model(3.0)), x)
    here(Model(2.0).twice, x)
    here(rc.grad(of_layer), Layer(x, v), x)
    here(rc.grad(with_rules), x)
    here(rc.grad(here.f, argnums="x"), **here.given)
    compiled = here.called(here.f.compile())
    here(rc.grad(compiled, argnums=0), *here.inputs(compiled))


@row("code")
def _code(here: Here) -> None:
    code = here.f.code(here.backend, with_gradient="x")
    here(code, **{name: here.given[name] for name in here.f.variables})
    here(str(code))


@row("hessian")
def _hessian(here: Here) -> None:
    for compressed in (False, True):
        made = rc.hessian(energy, compressed=compressed)
        here(made, here.x)
        here(made(here.x))


@row("vmap")
def _vmap(here: Here) -> None:
    here(rc.vmap(energy), here.A)
    here(twice_decorated, here.A)
    here(rc.vmap(rc.grad(energy), in_axes=1, out_axes=1), here.A)


def looped(x: Any) -> Any:
    """All that loops and branches there are by name."""
    total, _ = rc.scan(lambda s, t: (s * 0.5 + t, s), 0.0, x)
    total = rc.fori_loop(0, 3, lambda i, s: s * 0.9 + i, total)
    total = rc.while_loop(lambda s: s > 3.0, lambda s: s / 2, total, max_steps=60)
    total = rc.cond(total > 0, lambda s: s * 2, lambda s: s * 3, total)
    return rc.switch(1, [lambda s: s, lambda s: s * s], total) + rc.associative_scan(rc.multiply, x)[-1]


@row("scan", "fori_loop", "while_loop", "cond", "switch", "associative_scan")
def _loops(here: Here) -> None:
    here(looped(here.x))
    here(rc.grad(looped), here.x)
    here(rc.compile(looped), here.x)


@row("hvp", "taylor", "gauss_newton_vp", "jvp", "linearize", "vjp")
def _along(here: Here) -> None:
    x, v = here.x, here.v
    here(rc.hvp(energy), x, v)
    here(rc.taylor(energy, 2), x, v)
    here(rc.gauss_newton_vp(slopes), x, v)
    here(rc.gauss_newton_vp(slopes, energy), x, v)
    here(rc.jvp(slopes, (x,), (v,)))
    for function in (slopes, weighted, with_rules):
        along = rc.linearize(function, x)[1]
        here(along, v)
        here(along(v))
        here(along, v)
    here(rc.vjp(slopes, x)[1], v)
    here(rc.vjp(energy_and_slopes, x, has_aux=True)[1], here.a(1.0))
    t = rc.Tensor([1.0, 2.0, 3.0])
    here(rc.vjp(slopes, t)[1], t)
    here(rc.linearize(slopes, t)[1], t)


@row("custom")
def _custom(here: Here) -> None:
    here(half_as_steep, here.x)
    other = rc.custom(plain)
    other.derivative(its_slope)
    here(other, here.x)
    here(rc.grad(partial(_summed, other)), here.x)
    here(rc.trace(with_rules)(np.arange(3.0)), x=here.x)
    x = rc.variable("x[i]")
    for formula in (half_as_steep(x), half_as_steep(x).sum("i").diff("x"), running(x), running(x).diff("x")):
        here(formula, x=here.x)
        here(formula.compile(), x=here.x)


def balance(x: Any, t: Any) -> Any:
    return x**3 + x - t


def bowl(x: Any, t: Any) -> Any:
    return ((x - t) ** 2).sum() + (x**4).sum()


def halved(x: Any, t: Any) -> Any:
    return np.cos(x) / 2 + t


def decay(y: Any, t: Any, rate: Any) -> Any:
    return -rate * y


@row("problem", "Problem")
def _problems(here: Here) -> None:
    made = rc.problem(bowl, np.ones(3), (np.arange(3.0),))
    here(partial(_product, made["hessp"]), here.x)


def _product(hessp: Any, x: Any) -> Any:
    return hessp(x, np.ones(3))


@row("odeint")
def _odes(here: Here) -> None:
    made = rc.odeint(decay, np.ones(3), np.linspace(0.0, 1.0, 3))
    here(made, here.x)
    here(rc.jacobian(made), here.x)
    here(rc.grad(partial(_summed, made)), here.x)
    here(rc.trace(made)(np.arange(3.0)), rate=here.x)


@row("root", "fixed_point")
def _implicit(here: Here) -> None:
    start = np.ones(3)
    for made in (rc.root(balance, start), rc.fixed_point(halved, start), rc.argmin(bowl, start)):
        here(made, here.x)
        here(rc.jacobian(made), here.x)
        here(rc.grad(partial(_summed, made)), here.x)
        here(rc.trace(made)(np.arange(3.0)), t=here.x)


def _summed(function: Any, x: Any) -> Any:
    return function(x).sum()


@row("compile", "Compressed")
def _compile(here: Here) -> None:
    f, given = here.f, here.given
    here(rc.compile(energy), here.x)
    here(twice_decorated, here.A)
    for made in (f.compile, partial(f.compile, here.backend), partial(f.diff("x", "x").compile, compressed=True)):
        here(made(), **given)
        here(here.called(made()), **given)
        here(here.called(made()).plan)
        here(here.called(made()).source)
        here(here.called(made()).runner, *here.inputs(made()))
        here(here.called(made())(**given))
    here(rc.compile([f, f.diff("x")]), **given)
    here(f.diff("x", "x").compile(compressed=True)(**given).T)


@row("einsum", "rearrange", "reduce", "repeat", "pack", "unpack", "parse_shape", "sizes", "inverse")
def _patterns(here: Here) -> None:
    A = here.A
    for place in (rc, einops):
        here(place.rearrange, A, "a b -> b a")
        here(partial(place.rearrange, pattern="a b -> b a"), A)
        here(partial(place.reduce, pattern="a b -> a", reduction="max"), A)
        here(partial(place.repeat, pattern="a b -> (a k) b", k=2), A)
        here(partial(place.einsum, A), here.x, "i j, j -> i")
        here(place.unpack, *place.pack([A, A], "i *"), "i *")
        here(place.parse_shape, A, "a b")
    here(einops.asnumpy, A)
    here(partial(rc.sizes, "a b"), A)
    here(rc.inverse("b (h p) -> h p b", p=1), here.a([[[1.0, 2.0]], [[3.0, 4.0]]]))


@row("gather", "scatter")
def _looked_up(here: Here) -> None:
    here(partial(rc.gather, "v d, b -> b d"), here.A, here.a([2, 0]))
    here(partial(rc.scatter, "t, t -> v", v=4), here.x, here.a([2, 0, 2]))


@row(
    "Formula",
    "matrix",
    "parse",
    "tensors",
    "variable",
    "diff",
    "diff_all",
    "pullback",
    "pushforward",
    "elimination_cost",
)
def _formulas(here: Here) -> None:
    f, given = here.f, here.given
    here(f, **given)
    here(f.diff("x"), **given)
    here(f.diff("x", "x"), **given)
    here(rc.diff(f, "A"), **given)
    here(rc.diff_all(f, ["x", "A"]))
    here(rc.pullback(f, "x"), **given)
    here(rc.pushforward(f, {"x": rc.variable("d[j]")}), **given, d=here.v)
    here(f.diff("x").derivation())
    here(f.diff("x").graph())
    here(f.structure())
    here(f.named("g"), **given)
    here(f.simplify(), **given)
    unknown = rc.parse("y[i] = point(x[i])", functions=["point"])
    here(unknown.diff("x"), x=here.x, point=np.sin)
    here(unknown.compile(), x=here.x, point=slopes)
    mine = {"mine": half_as_steep, "cubic": slopes, "sp": np.tanh, "running": np.cumsum}
    for text in ("y[i] = mine(x[i]) + cubic(x[i]) sp(x[i])", "y[i] = running[j](x[j])[i]"):
        here(rc.parse(text, functions=mine), x=here.x)
        here(rc.parse(text, functions=mine).diff("x").compile(), x=here.x)
    here(rc.variable("c[i]", [1.0, 2.0]))
    here(rc.variable("c[i]", [1.0, 2.0]) * 2)
    here(list(rc.tensors("A[i,j] x[j]")))
    here(rc.matrix("r = A*x - b; f = r'*r", "A[m,n]"))
    here(rc.elimination_cost(f, "x"))


@row("Equation", "EquationSystem")
def _equations(here: Here) -> None:
    y = rc.parse("y[i] = A[i,j] x[j]")
    here(y.equation)
    here(y.equation.rename(i="k"))
    here(y.equation.multiply(rc.variable("b[i]")))
    here(y.equation.expand(i=2))
    here(rc.parse("a[i] b[i] = c[i] d[i]  (no sum i)").equation)
    here(rc.parse("y[i] = S[i,j] eps[j,k,l] x[k] Q[l,m] x[m]", symmetric="S", orthogonal="Q").equation)


@row("check", "CheckReport")
def _reports(here: Here) -> None:
    here(rc.check("y = x**2; D(y, x) = 2 x = 3 x = )"))


@row("Tensor", "enable_grad", "no_grad", "debug_nans")
def _tensors(here: Here) -> None:
    t = rc.Tensor([1.0, 2.0], name="t")
    y = (t * t).sum()
    here(y.numpy())
    here(y.detach())
    y.backward()
    here(t)
    here(t.grad)
    here(rc.no_grad())
    here(rc.enable_grad())
    here(rc.debug_nans())


@row("draw", "Drawing", "trace_table", "TraceTable", "Undecided", "cache_info", "numerical_jacobian", "tree_map")
def _looked_at(here: Here) -> None:
    here(rc.draw(here.f))
    here(rc.trace_table(weighted, np.arange(3.0)))
    here(here.f.equivalent(here.f.diff("x").sum()))
    here(rc.cache_info())
    here(partial(rc.numerical_jacobian, slopes), np.arange(3.0))
    here(partial(rc.tree_map, slopes), {"a": here.x})


@row("axes", "shapes", "signature")
def _scopes(here: Here) -> None:
    with rc.axes("i", j=3) as scope:
        rc.rearrange(here.A, "i j -> j i")
    here(scope)
    here(described, here.x)
    here(rc.signature("i -> i"))
    here(rc.shapes(rows), here.x)
    here(rc.shapes(rows)(here.x))


def worths(rows: list[Example]) -> list[Any]:
    """What examples are worth in the process that calls this."""
    return [row.worth() for row in rows]
