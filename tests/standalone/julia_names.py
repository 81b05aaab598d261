"""What Julia has by name, of what is written for formulas: its base, LinearAlgebra and SpecialFunctions."""

from __future__ import annotations

import math
from types import SimpleNamespace as Parts
from typing import Any

import numpy as np


def scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def logabsdet(a: Any) -> np.ndarray:
    sign, size = np.linalg.slogdet(a)
    return np.array([size, sign])


def factorised(a: Any) -> Parts:
    left, _, right = np.linalg.svd(a, full_matrices=False)
    return Parts(U=left, V=right.T)


def totalled(values: Any, init: float | None = None) -> Any:
    return math.fsum([]) + sum(values, init) if init is not None else scalar(np.sum(values))


def reversed_along(x: Any, dims: int = 0) -> Any:
    assert dims or np.ndim(x) == 1
    return np.flip(x, max(dims - 1, 0))


def refused(message: str) -> Any:
    raise ValueError(message)


def selected(x: Any, axis: int, place: int) -> Any:
    return x[(slice(None),) * (axis - 1) + (place - 1, ...)]


def numbers(function: Any) -> Any:
    """A function of a number, which gives one."""

    def called(*values: Any) -> Any:
        assert not any(map(np.ndim, values)), f"{function} of an array, without a point"
        with np.errstate(all="ignore"):
            return scalar(function(*map(np.float64, values)))

    return called


def exponential(x: Any) -> Any:
    from scipy import linalg

    return linalg.expm(x) if np.ndim(x) == 2 else numbers(np.exp)(x)


NUMPYS = {"log2": "log2", "log10": "log10", "asin": "arcsin", "acos": "arccos", "asinh": "arcsinh", "acosh": "arccosh"}
NUMPYS |= {
    "atanh": "arctanh",
    **{n: n for n in ["abs", "sign", "floor", "ceil", "exp2", "expm1", "cbrt", "log", "log1p", "sin", "cos", "tan"]},
}
NUMPYS |= {n: n for n in ["sinh", "cosh", "tanh", "sqrt", "hypot", "isfinite", "angle"]}
ENTRYWISE = {"exp": np.exp}
BASE: dict[str, Any] = {
    **{name: numbers(getattr(np, own)) for name, own in NUMPYS.items()},
    "exp": exponential,
    "max": lambda a, b: scalar(np.maximum(a, b)),
    "min": lambda a, b: scalar(np.minimum(a, b)),
    "round": numbers(np.round),
    "mod": lambda a, b: a % b,
    "div": lambda a, b: int(a // b),
    "atan": numbers(lambda y, x=1.0: np.arctan2(y, x)),
    "pi": math.pi,
    "Inf": math.inf,
    "NaN": math.nan,
    "true": True,
    "false": False,
    "float": float,
    "oftype": lambda x, y: type(x)(y),
    "iszero": lambda x: x == 0,
    "sum": totalled,
    "prod": lambda x: scalar(np.prod(x)),
    "maximum": lambda x: scalar(np.max(x)),
    "minimum": lambda x: scalar(np.min(x)),
    "argmax": lambda x: int(np.argmax(x)) + 1,
    "argmin": lambda x: int(np.argmin(x)) + 1,
    "any": lambda f, x: any(map(f, x)),
    "all": lambda f, x: all(map(f, x)),
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "sort": np.sort,
    "reverse": reversed_along,
    "zero": np.zeros_like,
    "sortperm": lambda x: np.argsort(x, kind="stable") + 1,
    "zeros": lambda *shape: np.zeros(shape),
    "ndims": np.ndim,
    "size": lambda x, axis=0: np.shape(x)[axis - 1] if axis else np.shape(x),
    "reshape": lambda x, *shape: np.reshape(x, shape, order="F"),
    "selectdim": selected,
    "throw": refused,
    "DimensionMismatch": str,
}
PACKAGES: dict[str, dict[str, Any]] = {
    "LinearAlgebra": {
        "det": lambda a: scalar(np.linalg.det(a)),
        "logabsdet": logabsdet,
        "inv": np.linalg.inv,
        "cholesky": lambda a: Parts(L=np.linalg.cholesky(a)),
        "Matrix": np.asarray,
        "svd": factorised,
        "Symmetric": lambda a, half="": a,
        "eigvals": np.linalg.eigvalsh,
        "eigvecs": lambda a: np.linalg.eigh(a)[1],
        "pinv": np.linalg.pinv,
        "svdvals": lambda a: np.linalg.svd(a, compute_uv=False),
        "LowerTriangular": np.tril,
        "UpperTriangular": np.triu,
        "qr": lambda a: Parts(Q=np.linalg.qr(a)[0]),
    }
}


def special() -> dict[str, Any]:
    from scipy import special as s

    own = {name: numbers(getattr(s, name)) for name in ("erf", "erfc", "erfinv", "erfcinv", "digamma")}
    own["logerfc"] = numbers(lambda x: s.log_ndtr(-x * math.sqrt(2)) + math.log(2))
    own["logabsgamma"] = lambda x: np.array([scalar(s.gammaln(x)), scalar(s.gammasgn(x))])
    own["polygamma"] = lambda n, x: float(s.polygamma(n, x))
    return own


PACKAGES["SpecialFunctions"] = special()
