"""The functions that users may write in equations, by name.

``kind`` says how a function treats indices, and how its builder is called:

- ``elementwise``: ``build(*operands)``, operands of one shape or scalars;
- ``reduce``: ``build(x, axes)``, the axes at these positions go, the others keep their order;
- ``keep``: ``build(x, axes)``, all axes stay;
- ``matrix``: ``build(x, (row, column))``. By ``result``: ``scalar``, both axes go; ``matrix``, both stay in place;
  ``vector``, the row stays; ``solve``, called as ``build(a, b, a_labels, b_labels, row, column, out)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ricci.expr import Expr
from ricci.functions import elementwise as e
from ricci.functions import matrix as m
from ricci.functions import recomputing
from ricci.functions import reductions as r


@dataclass(frozen=True)
class Surface:
    """A function as users see it."""

    name: str
    kind: str
    arity: int
    build: Callable[..., Expr]
    help: str
    result: str = ""


_ELEMENTWISE = [
    ("abs", 1, e.abs_, "the size of x; its derivative at 0 is 0"),
    ("sign", 1, e.sign, "-1, 0 or 1"),
    ("floor", 1, e.floor, "the largest whole number not above x"),
    ("ceil", 1, e.ceil, "the smallest whole number not below x"),
    ("round", 1, e.round_, "the nearest whole number; halves go to the even one"),
    ("mod", 2, e.mod, "mod(a, b), the remainder of a divided by b, with the sign of b"),
    ("neg", 1, e.neg, "-x"),
    ("square", 1, e.square, "x**2"),
    ("sqrt", 1, e.sqrt, "x**(1/2)"),
    ("cbrt", 1, e.cbrt, "the cube root, also of negative numbers"),
    ("reciprocal", 1, e.reciprocal, "1/x"),
    ("exp", 1, e.exp, "the exponential function"),
    ("exp2", 1, e.exp2, "2**x"),
    ("expm1", 1, e.expm1, "exp(x) - 1, exact for small x"),
    ("log", 1, e.log, "the natural logarithm"),
    ("log2", 1, e.log2, "the logarithm to base 2"),
    ("log10", 1, e.log10, "the logarithm to base 10"),
    ("log1p", 1, e.log1p, "log(1 + x), exact for small x"),
    ("sin", 1, e.sin, "the sine"),
    ("cos", 1, e.cos, "the cosine"),
    ("tan", 1, e.tan, "the tangent"),
    ("asin", 1, e.asin, "the inverse of the sine"),
    ("acos", 1, e.acos, "the inverse of the cosine"),
    ("atan", 1, e.atan, "the inverse of the tangent"),
    ("atan2", 2, e.atan2, "atan2(a, b), the angle of the point (b, a)"),
    ("sinh", 1, e.sinh, "the hyperbolic sine"),
    ("cosh", 1, e.cosh, "the hyperbolic cosine"),
    ("tanh", 1, e.tanh, "the hyperbolic tangent"),
    ("asinh", 1, e.asinh, "the inverse of the hyperbolic sine"),
    ("acosh", 1, e.acosh, "the inverse of the hyperbolic cosine"),
    ("atanh", 1, e.atanh, "the inverse of the hyperbolic tangent"),
    ("hypot", 2, e.hypot, "sqrt(a**2 + b**2) without overflow"),
    ("sigmoid", 1, e.sigmoid, "1/(1 + exp(-x))"),
    ("softplus", 1, e.softplus, "log(1 + exp(x))"),
    ("relu", 1, e.relu, "maximum(x, 0); its derivative at 0 is 0"),
    ("leaky_relu", 1, e.leaky_relu, "x where x > 0, otherwise 0.01 x"),
    ("elu", 1, e.elu, "x where x > 0, otherwise exp(x) - 1"),
    ("gelu", 1, e.gelu, "x times the normal distribution function at x"),
    ("silu", 1, e.silu, "x sigmoid(x)"),
    ("erf", 1, e.erf, "the error function"),
    ("erfc", 1, e.erfc, "1 - erf(x), exact for large x"),
    ("erfinv", 1, e.erfinv, "the inverse of the error function"),
    ("ndtri", 1, e.ndtri, "the inverse of the normal distribution function"),
    ("log_ndtr", 1, e.log_ndtr, "the logarithm of the normal distribution function, exact for large -x"),
    ("lgamma", 1, e.lgamma, "the logarithm of the size of the gamma function"),
    ("digamma", 1, e.digamma, "the derivative of lgamma"),
    ("polygamma", 2, e.polygamma, "polygamma(n, x), the derivative of order n of digamma"),
    ("add", 2, e.add, "a + b"),
    ("subtract", 2, e.subtract, "a - b"),
    ("multiply", 2, e.multiply, "a * b, entry by entry"),
    ("divide", 2, e.divide, "a / b"),
    ("power", 2, e.power, "a ** b"),
    ("maximum", 2, e.maximum, "the larger of a and b"),
    ("minimum", 2, e.minimum, "the smaller of a and b"),
    ("clip", 3, e.clip, "clip(x, low, high), x moved into the interval"),
    ("logaddexp", 2, e.logaddexp, "log(exp(a) + exp(b)) without overflow"),
    ("where", 3, e.where, "where(c, a, b), a where c is not zero, otherwise b"),
    ("less", 2, e.less, "1 where a < b, otherwise 0"),
    ("less_equal", 2, e.less_equal, "1 where a <= b, otherwise 0"),
    ("greater", 2, e.greater, "1 where a > b, otherwise 0"),
    ("greater_equal", 2, e.greater_equal, "1 where a >= b, otherwise 0"),
    ("equal", 2, e.equal, "1 where a == b, otherwise 0"),
    ("not_equal", 2, e.not_equal, "1 where a != b, otherwise 0"),
    ("stop_gradient", 1, e.stop_gradient, "x, taken as a constant by derivatives"),
    ("barrier", 1, recomputing.barrier, "x itself; what is made of it is computed apart from what is made of x"),
]
_REDUCE = [
    ("sum", r.sum_, "the sum"),
    ("mean", r.mean, "the mean"),
    ("var", r.var, "the mean squared distance from the mean"),
    ("std", r.std, "the square root of var"),
    ("prod", r.prod, "the product"),
    ("max", r.max_, "the largest entry; entries that tie share the derivative"),
    ("min", r.min_, "the smallest entry; entries that tie share the derivative"),
    ("norm", r.norm, "the square root of the sum of squares"),
    ("logsumexp", r.logsumexp, "log(sum(exp(x))) without overflow"),
    ("argmax", r.argmax, "the place of the largest entry"),
    ("argmin", r.argmin, "the place of the smallest entry"),
    ("any", r.any_, "1 where some entry is not zero, otherwise 0"),
    ("all", r.all_, "1 where no entry is zero, otherwise 0"),
]
_KEEP = [
    ("softmax", r.softmax, "exp(x) / sum(exp(x)) without overflow"),
    ("log_softmax", r.log_softmax, "x - logsumexp(x)"),
    ("hardmax", r.hardmax, "1/n at the n largest entries, otherwise 0"),
    ("hardmin", r.hardmin, "1/n at the n smallest entries, otherwise 0"),
    ("cumsum", r.cumsum, "the sums of the entries so far"),
    ("cumprod", r.cumprod, "the products of the entries so far"),
    ("sort", r.sort, "the entries in ascending order"),
    ("argsort", r.argsort, "the places of the entries in ascending order"),
]
_MATRIX = [
    ("det", 1, m.det, "scalar", "the determinant"),
    ("logdet", 1, m.logdet, "scalar", "the logarithm of the size of the determinant"),
    ("slogdet_sign", 1, m.slogdet_sign, "scalar", "the sign of the determinant"),
    ("tr", 1, m.trace, "scalar", "the trace"),
    ("trace", 1, m.trace, "scalar", "the trace"),
    ("inv", 1, m.inv, "matrix", "the inverse"),
    ("cholesky", 1, m.cholesky, "matrix", "the lower Cholesky factor of the symmetric part"),
    ("expm", 1, m.expm, "matrix", "the matrix exponential"),
    ("eigvalsh", 1, m.eigvalsh, "vector", "the eigenvalues of the symmetric part, ascending"),
    ("eigh_vectors", 1, m.eigh_vectors, "matrix", "the eigenvectors of the symmetric part, in columns"),
    ("svdvals", 1, m.svdvals, "vector", "the singular values, descending"),
    ("solve", 2, m.solve, "solve", "solve(A, b), the x with A x = b"),
]

FUNCTIONS: dict[str, Surface] = {
    surface.name: surface
    for surface in (
        *[Surface(name, "elementwise", arity, build, text) for name, arity, build, text in _ELEMENTWISE],
        *[Surface(name, "reduce", 1, build, text) for name, build, text in _REDUCE],
        *[Surface(name, "keep", 1, build, text) for name, build, text in _KEEP],
        *[Surface(name, "matrix", arity, build, text, kind) for name, arity, build, kind, text in _MATRIX],
    )
}
