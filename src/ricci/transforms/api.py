"""The transforms of functions, under the names and with the arguments known from JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Concatenate, Literal, Unpack, overload

import numpy as np

from ricci.checked_calls import call_back, shown, takes
from ricci.compiler.compressed.result import Compressed
from ricci.compiler.run.function import Compiled
from ricci.errors import InputError
from ricci.kinds import kind_of
from ricci.tracing import trees
from ricci.transforms import deriving
from ricci.transforms.conventions import Meaning
from ricci.transforms.linear import identity, linearize, vjp
from ricci.transforms.transformed import Transformed
from ricci.transforms.typed import A, Argnums, Blocks, DerivativeOptions, OfFirst, P, R, Several, TransformOptions, X
from ricci.wrapping import MadeOf

MOST_ORDERS = 1000  # of a Taylor series


@overload
def grad(
    function: Compiled, argnums: Argnums = 0, has_aux: bool = False, **options: Unpack[DerivativeOptions]
) -> Transformed[..., Any]: ...
@overload
def grad(
    function: OfFirst[A, P, R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    **options: Unpack[DerivativeOptions],
) -> Transformed[Concatenate[A, P], A]: ...
@overload
def grad(
    function: OfFirst[A, P, tuple[R, X]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    **options: Unpack[DerivativeOptions],
) -> Transformed[Concatenate[A, P], tuple[A, X]]: ...
@overload
def grad(
    function: Callable[P, R], argnums: Several, has_aux: Literal[False] = False, **options: Unpack[DerivativeOptions]
) -> Transformed[P, tuple[Any, ...]]: ...
@overload
def grad(
    function: Callable, argnums: Argnums = 0, has_aux: bool = False, **options: Unpack[DerivativeOptions]
) -> Transformed[..., Any]: ...
@takes("rc.grad", argnums="argnums", has_aux="flag")
def grad(function: Callable, argnums: Argnums = 0, has_aux: bool = False, **options: Any) -> Transformed:
    """The gradient of a function whose result is a scalar, by the argument ``argnums``, or by several.

    An argument may be an array, a number, or lists, tuples, dictionaries and dataclasses of them; the gradient has its
    form. With ``has_aux`` the function returns ``(result, aux)``, and so does the gradient. Options of all transforms:
    ``static_argnums``, ``static_argnames`` for arguments that are not traced, ``backend``, ``jit``, which is that of
    ``rc.compile``, and ``fused``: whether Numba compiles what NumPy would do step by step, at once (True), never
    (False), or, by default, where measured times of calls say that it pays, aside, while they go on.

    By a complex ``z = x + iy`` it is ``∂f/∂x - i ∂f/∂y``, as in JAX and autograd; ``convention="torch"`` gives the
    conjugate of that, as PyTorch does, ``wirtinger=True`` the pair of the derivatives by ``z`` and by its conjugate,
    and ``holomorphic=True`` the derivative of a complex result that depends on ``z`` alone.

    >>> import numpy as np, ricci as rc
    >>> rc.grad(lambda x: (x**2).sum())(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> rc.grad(lambda z: abs(z) ** 2)(3.0 + 4.0j)
    np.complex128(6-8j)
    >>> rc.grad(lambda p, x: p["a"] * x, argnums=(0, 1))({"a": 3.0}, 2.0)
    ({'a': np.float64(2.0)}, np.float64(3.0))
    """
    meaning = Meaning.of("grad", options)
    return Transformed(
        function,
        partial(deriving.gradient, argnums=argnums, value=False, what="grad", meaning=meaning),
        "grad",
        argnums=argnums,
        has_aux=has_aux,
        **options,
    )


@overload
def value_and_grad(
    function: Compiled, argnums: Argnums = 0, has_aux: bool = False, **options: Unpack[DerivativeOptions]
) -> Transformed[..., Any]: ...
@overload
def value_and_grad(
    function: OfFirst[A, P, R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    **options: Unpack[DerivativeOptions],
) -> Transformed[Concatenate[A, P], tuple[R, A]]: ...
@overload
def value_and_grad(
    function: OfFirst[A, P, tuple[R, X]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    **options: Unpack[DerivativeOptions],
) -> Transformed[Concatenate[A, P], tuple[tuple[R, X], A]]: ...
@overload
def value_and_grad(
    function: Callable[P, R], argnums: Several, has_aux: Literal[False] = False, **options: Unpack[DerivativeOptions]
) -> Transformed[P, tuple[R, tuple[Any, ...]]]: ...
@overload
def value_and_grad(
    function: Callable, argnums: Argnums = 0, has_aux: bool = False, **options: Unpack[DerivativeOptions]
) -> Transformed[..., Any]: ...
@takes("rc.value_and_grad", argnums="argnums", has_aux="flag")
def value_and_grad(function: Callable, argnums: Argnums = 0, has_aux: bool = False, **options: Any) -> Transformed:
    """The value and the gradient, what they share computed once.

    >>> import numpy as np, ricci as rc
    >>> rc.value_and_grad(lambda x: x * x)(3.0)
    (np.float64(9.0), np.float64(6.0))
    """
    meaning = Meaning.of("value_and_grad", options)
    derive = partial(deriving.gradient, argnums=argnums, value=True, what="value_and_grad", meaning=meaning)
    return Transformed(function, derive, "value_and_grad", argnums=argnums, has_aux=has_aux, **options)


@overload
def jacobian(
    function: Compiled,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    mode: str = "auto",
    **options: Unpack[DerivativeOptions],
) -> Transformed[..., Any]: ...
@overload
def jacobian(
    function: OfFirst[A, P, R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    *,
    mode: str = "auto",
    **options: Unpack[DerivativeOptions],
) -> Transformed[Concatenate[A, P], Blocks[A, R]]: ...
@overload
def jacobian(
    function: Callable,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    mode: str = "auto",
    compressed: bool = False,
    sparse: bool | str = False,
    **options: Unpack[DerivativeOptions],
) -> Transformed[..., Any]: ...
@takes("rc.jacobian", argnums="argnums", has_aux="flag", mode="text")
def jacobian(
    function: Callable, argnums: Argnums = 0, has_aux: bool = False, *, mode: str = "auto", **options: Any
) -> Transformed:
    """All derivatives: an array with the axes of the result, then those of the argument.

    ``mode`` is "forward", "reverse", "cross-country", or "auto", which takes the cheapest. With ``sparse`` the result
    is a sparse array of SciPy, with the axes of the result merged to one, and those of the argument: "csr", "csc",
    "coo", "dia", "bsr", "auto" or True. Which entries may differ from zero follows from the program; nothing is
    searched. With ``compressed`` it is not made at all: see ``rc.Compressed``.

    Complex results of complex arguments have one with ``holomorphic=True``, or two with ``wirtinger=True``; real
    results have the gradients of ``rc.grad``, in the same conventions.

    >>> import numpy as np, ricci as rc
    >>> rc.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> rc.jacobian(lambda x: x[1:] - x[:-1]**2, sparse=True)(np.ones(1_000_000)).nnz
    1999998
    """
    meaning = Meaning.of("jacobian", options)
    derive = partial(deriving.jacobian, argnums=argnums, mode=mode, what="jacobian", meaning=meaning)
    return Transformed(function, derive, "jacobian", argnums=argnums, has_aux=has_aux, **options)


@overload
def jacfwd(
    function: OfFirst[A, P, R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    **options: Unpack[DerivativeOptions],
) -> Transformed[Concatenate[A, P], Blocks[A, R]]: ...
@overload
def jacfwd(
    function: Callable, argnums: Argnums = 0, has_aux: bool = False, **options: Unpack[DerivativeOptions]
) -> Transformed[..., Any]: ...
@takes("rc.jacfwd", argnums="argnums", has_aux="flag")
def jacfwd(function: Callable, argnums: Argnums = 0, has_aux: bool = False, **options: Any) -> Transformed:
    """The Jacobian by forward mode."""
    meaning = Meaning.of("jacfwd", options)
    derive = partial(deriving.jacobian, argnums=argnums, mode="forward", what="jacfwd", meaning=meaning)
    return Transformed(function, derive, "jacfwd", argnums=argnums, has_aux=has_aux, **options)


@overload
def jacrev(
    function: OfFirst[A, P, R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    **options: Unpack[DerivativeOptions],
) -> Transformed[Concatenate[A, P], Blocks[A, R]]: ...
@overload
def jacrev(
    function: Callable, argnums: Argnums = 0, has_aux: bool = False, **options: Unpack[DerivativeOptions]
) -> Transformed[..., Any]: ...
@takes("rc.jacrev", argnums="argnums", has_aux="flag")
def jacrev(function: Callable, argnums: Argnums = 0, has_aux: bool = False, **options: Any) -> Transformed:
    """The Jacobian by reverse mode."""
    meaning = Meaning.of("jacrev", options)
    derive = partial(deriving.jacobian, argnums=argnums, mode="reverse", what="jacrev", meaning=meaning)
    return Transformed(function, derive, "jacrev", argnums=argnums, has_aux=has_aux, **options)


@overload
def hessian(
    function: Compiled,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    mode: str = "auto",
    compressed: bool = False,
    sparse: bool | str = False,
    **options: Unpack[DerivativeOptions],
) -> Transformed[..., Any]: ...
@overload
def hessian(
    function: OfFirst[A, P, R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    *,
    mode: str = "auto",
    compressed: Literal[False] = False,
    sparse: Literal[False] = False,
    **options: Unpack[DerivativeOptions],
) -> Transformed[Concatenate[A, P], Blocks[A, A]]: ...
@overload
def hessian(
    function: OfFirst[A, P, R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    *,
    mode: str = "auto",
    compressed: Literal[True],
    **options: Unpack[DerivativeOptions],
) -> Transformed[Concatenate[A, P], Compressed]: ...
@overload
def hessian(
    function: Callable,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    mode: str = "auto",
    compressed: bool = False,
    sparse: bool | str = False,
    **options: Unpack[DerivativeOptions],
) -> Transformed[..., Any]: ...
@takes("rc.hessian", argnums="argnums", has_aux="flag", mode="text", compressed="flag")
def hessian(
    function: Callable,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    mode: str = "auto",
    compressed: bool = False,
    sparse: bool | str = False,
    **options: Any,
) -> Transformed:
    """The second derivatives, as one expression: there is no loop over basis vectors.

    With ``compressed`` the result is not made whole: it is cores and structure, multiplies vectors and solves systems.
    With ``sparse`` it is a sparse array of SciPy, as with ``rc.jacobian``. By complex numbers there are four of them, a
    pair of pairs, with ``wirtinger=True``, or one with ``holomorphic=True``.

    >>> import numpy as np, ricci as rc
    >>> rc.hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    >>> rc.hessian(lambda x: (x**3).sum(), compressed=True)(np.array([1.0, 2.0])).solve(np.array([6.0, 6.0]))
    array([1. , 0.5])
    """
    derive = partial(deriving.hessian, argnums=argnums, mode=mode, meaning=Meaning.of("hessian", options))
    options |= {"compressed": compressed, "sparse": sparse}
    return Transformed(function, derive, "hessian", argnums=argnums, has_aux=has_aux, **options)


@overload
def hvp(
    function: OfFirst[A, P, R], argnums: Literal[0] = 0, **options: Unpack[DerivativeOptions]
) -> Transformed[..., A]: ...
@overload
def hvp(function: Callable, argnums: Argnums = 0, **options: Unpack[DerivativeOptions]) -> Transformed[..., Any]: ...
@takes("rc.hvp", argnums="argnums")
def hvp(function: Callable, argnums: Argnums = 0, **options: Any) -> Transformed:
    """The Hessian times a direction, which is the last argument of the call; the Hessian is not made.

    >>> import numpy as np, ricci as rc
    >>> rc.hvp(lambda x: (x**3).sum())(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """
    derive = partial(deriving.hvp, argnums=argnums, meaning=Meaning.of("hvp", options))
    return Transformed(function, derive, "hvp", extras=1, argnums=argnums, **options)


@takes("rc.gauss_newton_vp", function="function", loss="function or None", argnums="argnums")
def gauss_newton_vp(
    function: Callable, loss: Callable | None = None, argnums: Argnums = 0, **options: Unpack[TransformOptions]
) -> Transformed[..., Any]:
    """``Jᵀ H J v``: ``J`` the Jacobian of ``function``, ``H`` the Hessian of ``loss`` by its result; ``v`` comes last.

    Without ``loss`` it is ``Jᵀ J v``, that of half the sum of squares.

    >>> import numpy as np, ricci as rc
    >>> A = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> rc.gauss_newton_vp(lambda x: A @ x)(np.zeros(2), np.array([1.0, 0.0]))
    array([10., 14.])
    """

    if kind_of(function) == "formula" or isinstance(function, Compiled):
        raise InputError(
            "rc.gauss_newton_vp takes a function of its arguments by position; a formula has its inputs by name. "
            "Write lambda x: f(A=A, x=x)."
        )
    return Transformed(_GaussNewton(function, loss, argnums), identity, "gauss_newton_vp", **options)


class _GaussNewton(MadeOf):
    """The product with a vector, the last argument, as a function that is traced."""

    __signature__ = inspect.Signature(  # not that of the function
        [
            inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
            inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
        ]
    )

    def __init__(self, function: Callable, loss: Callable | None, argnums: Argnums):
        super().__init__(function)
        self.loss, self.argnums = loss, argnums

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        rest: list[Any]
        v: Any
        *rest, v = args or (None,)
        single = not isinstance(self.argnums, (list, tuple))
        numbers = _places([self.argnums] if single else self.argnums, len(rest))  # type: ignore[arg-type]

        def of_chosen(*chosen: Any) -> Any:
            given = dict(zip(numbers, chosen, strict=True))
            every = [given.get(k, x) for k, x in enumerate(rest)]
            return call_back("rc.gauss_newton_vp", self.function, *every, **kwargs)

        chosen = [rest[k] for k in numbers]
        y, push = linearize(of_chosen, *chosen)
        pushed = push(v) if single else push(*v)
        bar = trees.tree_map(_conjugate, pushed) if self.loss is None else hvp(self.loss)(y, pushed)
        found = vjp(of_chosen, *chosen)[1](bar)
        return found[0] if single else found


def _conjugate(x: Any) -> Any:
    return np.conj(x) if "complex" in str(getattr(x, "dtype", "")) else x


def _places(argnums: Sequence[Any], count: int) -> list[int]:
    """The places of arguments of a call of ``rc.gauss_newton_vp``, that has this many before the direction."""
    for number in argnums:
        if isinstance(number, str) or not -count <= number < count:
            raise InputError(
                f"rc.gauss_newton_vp: argnums={number!r} asks for an argument that the call does not have; it has "
                f"{count} by position, numbered from 0, and after them the direction."
            )
    return [number % count for number in argnums]


@overload
def hessian_diagonal(
    function: OfFirst[A, P, R], argnums: Literal[0] = 0, **options: Unpack[TransformOptions]
) -> Transformed[Concatenate[A, P], A]: ...
@overload
def hessian_diagonal(
    function: Callable, argnums: Argnums = 0, **options: Unpack[TransformOptions]
) -> Transformed[..., Any]: ...
@takes("rc.hessian_diagonal", argnums="argnums")
def hessian_diagonal(function: Callable, argnums: Argnums = 0, **options: Any) -> Transformed:
    """The second derivative by each entry alone; the rest of the Hessian is not computed.

    >>> import numpy as np, ricci as rc
    >>> rc.hessian_diagonal(lambda x: (x**3).sum() + x[0] * x[1])(np.array([1.0, 2.0]))
    array([ 6., 12.])
    """
    derive = partial(deriving.hessian_diagonal, argnums=argnums, trace=False, what="hessian_diagonal")
    return Transformed(function, derive, "hessian_diagonal", argnums=argnums, **options)


@takes("rc.laplacian", argnums="argnums")
def laplacian(function: Callable[P, R], argnums: Argnums = 0, **options: Unpack[TransformOptions]) -> Transformed[P, R]:
    """The sum of the second derivatives by each entry.

    >>> import numpy as np, ricci as rc
    >>> rc.laplacian(lambda x: (x**2).sum())(np.ones(3))
    np.float64(6.0)
    """
    derive = partial(deriving.hessian_diagonal, argnums=argnums, trace=True, what="laplacian")
    return Transformed(function, derive, "laplacian", argnums=argnums, **options)


@takes("rc.taylor", order="count", argnums="argnums")
def taylor(
    function: Callable[..., R], order: int, argnums: Argnums = 0, **options: Unpack[TransformOptions]
) -> Transformed[..., tuple[R, ...]]:
    """The value and its derivatives along a direction up to ``order``; the direction is the last argument of the call.

    >>> import numpy as np, ricci as rc
    >>> rc.taylor(np.exp, 3)(0.0, 2.0)
    (np.float64(1.0), np.float64(2.0), np.float64(4.0), np.float64(8.0))
    """
    if order > MOST_ORDERS:
        raise InputError(f"rc.taylor goes up to the order {MOST_ORDERS}, not to {shown(order)}.")
    return Transformed(
        function, partial(deriving.taylor, order=order, argnums=argnums), "taylor", extras=1, argnums=argnums, **options
    )


@overload
def elementwise_grad(
    function: OfFirst[A, P, R], argnums: Literal[0] = 0, **options: Unpack[DerivativeOptions]
) -> Transformed[Concatenate[A, P], A]: ...
@overload
def elementwise_grad(
    function: Callable, argnums: Argnums = 0, **options: Unpack[DerivativeOptions]
) -> Transformed[..., Any]: ...
@takes("rc.elementwise_grad", argnums="argnums")
def elementwise_grad(function: Callable, argnums: Argnums = 0, **options: Any) -> Transformed:
    """The derivative entry by entry, of a function that works entry by entry; for any other it is an error.

    >>> import numpy as np, ricci as rc
    >>> rc.elementwise_grad(np.tanh)(np.zeros(3))
    array([1., 1., 1.])
    """
    meaning = Meaning.of("elementwise_grad", options)
    derive = partial(deriving.elementwise_gradient, argnums=argnums, meaning=meaning)
    return Transformed(function, derive, "elementwise_grad", argnums=argnums, **options)


def compile_function(function: Callable[P, R], backend: str | None = None, **options: Any) -> Transformed[P, R]:
    """The function itself, traced and compiled."""
    own = (
        "static_argnums",
        "static_argnames",
        "fused",
        "roll",
        "mesh",
        "axes",
        "blocks",
        "memory",
        "progress",
        "threads",
    )
    known = {k: options.pop(k) for k in own if k in options}
    return Transformed(function, identity, "compile", backend=backend, options=options, **known)
