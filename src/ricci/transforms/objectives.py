"""Functions of trees as SciPy's optimisers take them: functions of one vector, with derivatives as sparse as they are.

``rc.problem`` flattens what a function is minimised over, and gives the arguments of ``scipy.optimize.minimize`` or
``least_squares`` by their names. The function is traced as one of a flat vector, so its Hessian is one matrix, and what
is sparse in it stays so: it multiplies vectors, or is an array of ``scipy.sparse``, and is never made whole unless a
method needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from ricci.checked_calls import call_back, shown, takes
from ricci.errors import InputError, ShapeError
from ricci.kinds import kind_of
from ricci.markup import Carded, code
from ricci.tracing import trees
from ricci.transforms.api import hessian, hvp, jacobian, value_and_grad

PRODUCTS = ("Newton-CG", "trust-ncg", "trust-krylov")  # methods that take products with the Hessian
SPARSE = ("trust-constr",)  # and those that take sparse arrays of it
WHOLE = ("dogleg", "trust-exact")
FIRST = ("CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP")  # gradients alone
NONE = ("Nelder-Mead", "Powell", "COBYLA", "COBYQA")
METHODS = (*PRODUCTS, *SPARSE, *WHOLE, *FIRST, *NONE)
FULL = 4  # a Jacobian is a whole array if more than one in so many of its entries may differ from zero


class Problem(Carded, dict):
    """What an optimiser is called with: ``minimize(**problem)``. ``problem.tree(result.x)`` has the form of ``x0``."""

    def __init__(self, parts: Mapping[str, Any], flat: FlatTree):
        super().__init__(parts)
        self._flat = flat

    def tree(self, x: Any) -> Any:
        """A vector as what the function takes."""
        return self._flat.tree(np.asarray(x))

    def __repr__(self) -> str:
        return f"<rc.problem of {self._flat.size} numbers: {', '.join(self)}>"

    def told(self) -> Iterable[tuple[str, str]]:
        """What each part is; of ``x0`` the tree, by the shapes of its arrays."""
        for name, part in self.items():
            yield name, (part.__doc__ or "").rstrip(".") if callable(part) else self._flat.told(name, part)


@takes("rc.problem", squares="flag")
def problem(
    f: Callable, x0: Any, data: Any = (), *, squares: bool = False, method: str | None = None, bounds: Any = None
) -> Problem:
    """What SciPy's optimisers take for a function ``f(x, *data)``: ``fun``, ``x0``, ``jac``, and ``hess`` or ``hessp``.

    ``x0`` is an array, a number, or a tree of them, and ``data`` a tuple of further arguments, a dictionary of those by
    name, or one array. Of the second derivatives there is what ``method`` uses: products with vectors, a sparse array,
    a whole one, or nothing; without a method products, which Newton-CG, trust-ncg and trust-krylov take. With
    ``squares`` the function gives residuals, for ``least_squares``, and their Jacobian is sparse where it is.
    ``bounds`` are two trees, or numbers, below and above.

    >>> import numpy as np, ricci as rc
    >>> def rosenbrock(x):
    ...     return (100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2).sum()
    >>> found = rc.problem(rosenbrock, np.zeros(1000), method="trust-constr")
    >>> found
    <rc.problem of 1000 numbers: fun, x0, jac, hess, method>
    >>> found["hess"](found["x0"]).nnz
    2998
    >>> fit = rc.problem(lambda p, t: p["a"] * np.exp(-p["b"] * t), {"a": 1.0, "b": 2.0}, np.arange(3.0), squares=True)
    >>> fit["jac"](fit["x0"]).shape, fit.tree([3.0, 4.0])
    ((3, 2), {'a': np.float64(3.0), 'b': np.float64(4.0)})
    """
    if not callable(f):
        raise InputError(f"rc.problem takes a function of what is to be found, not {shown(f)}.")
    if method is not None and method not in METHODS:
        raise InputError(f"rc.problem(method={method!r}): the methods of minimize are {', '.join(METHODS)}.")
    if squares and method is not None:
        raise InputError("rc.problem(squares=True) is for least_squares; give method= to that.")
    flat = FlatTree(x0, "x0")
    given = bounds_of(bounds, flat, squares)
    if squares:
        return Problem({**Residuals(f, flat, data).parts(), **given}, flat)
    objective = Objective(f, flat, data)
    chosen = {} if method is None else {"method": method}
    return Problem({**objective.parts(method), **given, **chosen}, flat)


class FlatTree:
    """A tree of numbers and arrays as one vector."""

    def __init__(self, tree: Any, name: str):
        leaves, self.form = trees.flatten(tree)
        if not leaves:
            raise InputError(f"rc.problem: {name} is {shown(tree)}, which holds no numbers.")
        arrays = [np.asarray(leaf) for leaf in leaves]
        for leaf, array in zip(leaves, arrays, strict=True):
            if array.dtype.kind not in "fiu":
                raise InputError(f"rc.problem: {name} holds {shown(leaf)}, where numbers are needed.")
        self.shapes = [array.shape for array in arrays]
        ends = np.cumsum([0, *[array.size for array in arrays]])
        self.places = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.size = int(ends[-1])
        self.start = joined_up(arrays).astype(np.float64)

    def told(self, name: str, part: Any) -> str:
        """In a few words for notebooks, what is no function."""
        if name == "bounds":
            return "below and above each number"
        return code(str(trees.unflatten(self.form, self.shapes)) if name == "x0" else repr(part))

    def tree(self, x: Any) -> Any:
        leaves = [x[place].reshape(shape) for place, shape in zip(self.places, self.shapes, strict=True)]
        leaves = [leaf[()] if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
        return trees.unflatten(self.form, leaves)


def joined_up(arrays: list[Any]) -> Any:
    """Arrays one after another, as one vector."""
    if len(arrays) == 1:
        return arrays[0].reshape(-1)
    return np.concatenate([array.reshape(-1) for array in arrays])


class Called:
    """A function of a tree and data as one of a vector."""

    def __init__(self, f: Callable, flat: FlatTree, data: Any):
        self.f, self.flat = f, flat
        self.__name__ = getattr(f, "__name__", "the function")  # which errors speak of
        self.named = dict(data) if isinstance(data, Mapping) else {}
        self.data = () if isinstance(data, Mapping) else data if isinstance(data, tuple) else (data,)

    def __call__(self, x: Any, data: tuple, named: dict) -> Any:
        return call_back("rc.problem", self.f, self.flat.tree(x), *data, **named)


class Objective:
    """A scalar function. Its value and its gradient are computed at once, and kept for the point they were asked at."""

    def __init__(self, f: Callable, flat: FlatTree, data: Any):
        self.called, self.flat = Called(f, flat, data), flat
        self.more = self.called.data, self.called.named
        self._both = value_and_grad(self.called)
        self._product, self._sparse, self._whole = (
            hvp(self.called),
            hessian(self.called, sparse=True),
            hessian(self.called),
        )
        self._latest: tuple[bytes, Any, np.ndarray] | None = None

    def _at(self, x: np.ndarray) -> tuple[Any, np.ndarray]:
        key = x.tobytes()
        latest = self._latest
        if latest is None or latest[0] != key:
            value, gradient = self._both(x, *self.more)
            self._latest = latest = key, value, gradient
        return latest[1], latest[2]

    def value(self, x: np.ndarray) -> Any:
        """The value."""
        return self._at(x)[0]

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient."""
        return self._at(x)[1].copy()  # optimisers may write into what they are given

    def product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The Hessian times a vector."""
        return self._product(x, *self.more, v)

    def sparse(self, x: np.ndarray) -> Any:
        """The Hessian, a sparse array."""
        return self._sparse(x, *self.more)

    def whole(self, x: np.ndarray) -> np.ndarray:
        """The Hessian, a whole array."""
        return self._whole(x, *self.more)

    def parts(self, method: str | None) -> dict[str, Any]:
        parts = {"fun": self.value, "x0": self.flat.start}
        if method not in NONE:
            parts["jac"] = self.gradient
        if method is None or method in PRODUCTS:
            parts["hessp"] = self.product
        elif method in SPARSE or method in WHOLE:
            parts["hess"] = self.sparse if method in SPARSE else self.whole
        return parts


class Residuals:
    """A function whose results, one after another, are residuals."""

    def __init__(self, f: Callable, flat: FlatTree, data: Any):
        self.flat, called = flat, Called(f, flat, data)
        self.more = called.data, called.named

        def vector(x: Any, data: tuple, named: dict) -> Any:
            leaves, _ = trees.flatten(called(x, data, named))
            return joined_up([np.reshape(leaf, -1) for leaf in leaves])

        self._value, self._jacobian = vector, jacobian(vector, compressed=True)

    def value(self, x: np.ndarray) -> np.ndarray:
        """The residuals."""
        return np.asarray(self._value(x, *self.more))

    def jacobian(self, x: np.ndarray) -> Any:
        """Their Jacobian, sparse if few of its entries may differ from zero."""
        found = self._jacobian(x, *self.more)
        rows, columns = found.shape
        if found.most_entries * FULL > rows * columns:
            return found.todense()
        return found.sparse()

    def parts(self) -> dict[str, Any]:
        return {"fun": self.value, "x0": self.flat.start, "jac": self.jacobian}


def bounds_of(bounds: Any, flat: FlatTree, squares: bool) -> dict[str, Any]:
    """Bounds as SciPy has them: below and above, each a vector."""
    if bounds is None:
        return {}
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise InputError(f"rc.problem: bounds are two trees, or numbers, below and above, not {shown(bounds)}.")
    ends = [bound_of(one, flat, side) for one, side in zip(bounds, ("below", "above"), strict=True)]
    if squares:
        return {"bounds": tuple(ends)}
    from ricci.compiler.compressed.sparse_systems import needed

    return {"bounds": needed("scipy.optimize").Bounds(*ends)}


def bound_of(one: Any, flat: FlatTree, side: str) -> np.ndarray:
    if np.ndim(one) == 0 and kind_of(one) != "formula" and isinstance(one, (int, float, np.number)):
        return np.full(flat.size, float(one))
    found = FlatTree(one, f"bounds {side}")
    if found.form != flat.form or found.shapes != flat.shapes:
        raise ShapeError(f"rc.problem: the bounds {side} have another form than x0, or other shapes.")
    return found.start
