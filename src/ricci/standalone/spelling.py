"""What functions are called in NumPy, PyTorch and JAX, and how they are written where no function has the name.

The rows of the tables know the names that libraries have for them (``expr/op.py``); what stands here are the others. In
a template ``{0}``, ``{1}`` are operands, ``{axis}`` is the axis worked on, ``{np}`` the module. A helper is a function
that is written above the code that needs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ricci.expr import OPS

SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
COMPARISONS = {"less": "<", "less_equal": "<=", "equal": "==", "not_equal": "!="}
OF_NUMBERS = {"abs": "abs({0})", "round": "round({0})", "maximum": "max({0}, {1})", "minimum": "min({0}, {1})"}


@dataclass(frozen=True)
class ArrayLibrary:
    """How a library of arrays says things."""

    name: str
    module: str  # what its module is called in code
    imports: dict[str, str]  # the lines that bring the names in which templates begin
    axis: str  # the parameter for an axis
    entrywise: dict[str, str]
    along: dict[str, str]
    matrix: dict[str, str]
    helpers: dict[str, str] = field(default_factory=dict)

    def elementwise(self, name: str) -> str | None:
        """The template for a function entry by entry."""
        if name in self.entrywise:
            return self.entrywise[name]
        row = OPS.get(name)
        own = self.path(name)
        return None if own is None else f"{own}({', '.join(f'{{{k}}}' for k in range(row.arity if row else 1))})"

    def path(self, name: str) -> str | None:
        """What the library calls a row, if it has it."""
        row = OPS.get(name)
        known = (row.torch if self.name == "torch" else "") or (row.numpy if row else "") if row else ""
        own = known or name
        return f"{self.module}.{own}" if own in _SHARED or own in _ONLY[self.name] else None


def words(text: str) -> set[str]:
    """The words of a text."""
    return {*text.split()}


_SHARED = words(
    "abs sign floor ceil round exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh "
    "tanh arcsinh arccosh arctanh hypot maximum minimum where sqrt square logaddexp real imag angle"
)
_ONLY = {
    "numpy": {"mod", "cbrt", "conj"},
    "torch": {
        *words("remainder erf erfc erfinv lgamma digamma sigmoid relu special.ndtri special.log_ndtr conj_physical"),
        *words("nn.functional.leaky_relu nn.functional.elu nn.functional.silu"),
    },
    "jax": {"mod", "cbrt", "conj"},
}

_SQUARE = {"square": "{0}**2", "abs2": "{0}.real**2 + {0}.imag**2"}
NUMPY = ArrayLibrary(
    "numpy",
    "np",
    {
        "np.": "import numpy as np",
        "special.": "from scipy import special",
        "linalg.": "from scipy import linalg",
        "math.": "import math",
    },
    "axis",
    {
        **_SQUARE,
        "sigmoid": "np.exp(-np.logaddexp(0, -{0}))",
        "softplus": "np.logaddexp(0, {0})",
        "relu": "np.maximum({0}, 0)",
        "leaky_relu": "np.where({0} > 0, {0}, 0.01 * {0})",
        "elu": "np.where({0} > 0, {0}, np.expm1(np.minimum({0}, 0)))",
        "gelu": "0.5 * {0} * special.erfc(-math.sqrt(0.5) * {0})",
        "silu": "{0} * np.exp(-np.logaddexp(0, -{0}))",
        "erf": "special.erf({0})",
        "erfc": "special.erfc({0})",
        "erfinv": "special.erfinv({0})",
        "ndtri": "special.ndtri({0})",
        "log_ndtr": "special.log_ndtr({0})",
        "lgamma": "special.gammaln({0})",
        "digamma": "special.digamma({0})",
        "polygamma": "special.polygamma({0}, {1})",
        "stop_gradient": "{0}",
    },
    {
        **{name: f"np.{name}({{0}}, axis={{axis}})" for name in ("prod", "max", "min", "argmax", "argmin")},
        **{name: f"np.{name}({{0}}, axis={{axis}})" for name in ("any", "all", "cumprod", "cumsum", "sort")},
        "logsumexp": "np.logaddexp.reduce({0}, axis={axis})",
        "softmax": "softmax({0}, {axis})",
        "log_softmax": "{0} - np.logaddexp.reduce({0}, axis={axis}, keepdims=True)",
        "argsort": 'np.argsort({0}, axis={axis}, kind="stable")',
        "cumsum_back": "np.flip(np.cumsum(np.flip({0}, {axis}), axis={axis}), {axis})",
        "fft": "np.fft.fft({0}, axis={axis})",
        "bfft": "np.fft.ifft({0}, axis={axis}, norm='forward')",
        "hardmax": "hardmax({0}, {axis})",
        "hardmin": "hardmax(-{0}, {axis})",
        "prod_before": "prod_before({0}, {axis})",
        "prod_after": "np.flip(prod_before(np.flip({0}, {axis}), {axis}), {axis})",
    },
    {
        "det": "np.linalg.det({0})",
        "logdet": "np.linalg.slogdet({0})[1]",
        "slogdet_sign": "np.linalg.slogdet({0})[0]",
        "inv": "np.linalg.inv({0})",
        "cholesky": "np.linalg.cholesky({S})",
        "expm": "linalg.expm({0})",
        "eigvalsh": "np.linalg.eigvalsh({S})",
        "eigh_vectors": "np.linalg.eigh({S})[1]",
        "svdvals": "np.linalg.svd({0}, compute_uv=False)",
        "svd_vectors": "svd_vectors({0})",
        "qr_q": "np.linalg.qr({0})[0]",
        "pinv": "np.linalg.pinv({0})",
        "pinv_to": "np.linalg.pinv({0}, {p})",
        "solve": "np.linalg.solve({0}, {1})",
        "lower_solve": "np.linalg.solve(np.tril({0}), {1})",
        "upper_solve": "np.linalg.solve(np.triu({0}), {1})",
        "expm_along": "expm_along({0}, {1})",
    },
)

TORCH = ArrayLibrary(
    "torch",
    "torch",
    {"torch.": "import torch", "math.": "import math"},
    "dim",
    {
        **_SQUARE,
        "softplus": "torch.nn.functional.softplus({0}, threshold=40)",
        "cbrt": "torch.sign({0}) * torch.abs({0}) ** (1 / 3)",
        "gelu": "0.5 * {0} * torch.erfc(-math.sqrt(0.5) * {0})",
        "polygamma": "torch.polygamma({0}, {1})",
        "stop_gradient": "{0}.detach()",
        "mod": "torch.remainder({0}, {1})",
        "sign": "torch.sgn({0})",
    },
    {
        **{name: f"torch.{name}({{0}}, dim={{axis}})" for name in ("prod", "argmax", "argmin", "any", "all")},
        **{name: f"torch.{name}({{0}}, dim={{axis}})" for name in ("cumprod", "cumsum", "logsumexp")},
        **{name: f"torch.{name}({{0}}, dim={{axis}})" for name in ("softmax", "log_softmax")},
        "max": "torch.amax({0}, dim={axis})",
        "min": "torch.amin({0}, dim={axis})",
        "sort": "torch.sort({0}, dim={axis}, stable=True).values",
        "argsort": "torch.argsort({0}, dim={axis}, stable=True)",
        "cumsum_back": "torch.flip(torch.cumsum(torch.flip({0}, [{axis}]), dim={axis}), [{axis}])",
        "fft": "torch.fft.fft({0}, dim={axis})",
        "bfft": "torch.fft.ifft({0}, dim={axis}, norm='forward')",
        "hardmax": "hardmax({0}, {axis})",
        "hardmin": "hardmax(-{0}, {axis})",
        "prod_before": "prod_before({0}, {axis})",
        "prod_after": "torch.flip(prod_before(torch.flip({0}, [{axis}]), {axis}), [{axis}])",
    },
    {
        "det": "torch.linalg.det({0})",
        "logdet": "torch.linalg.slogdet({0})[1]",
        "slogdet_sign": "torch.linalg.slogdet({0})[0]",
        "inv": "torch.linalg.inv({0})",
        "cholesky": "torch.linalg.cholesky({S})",
        "expm": "torch.linalg.matrix_exp({0})",
        "eigvalsh": "torch.linalg.eigvalsh({S})",
        "eigh_vectors": "torch.linalg.eigh({S})[1]",
        "svdvals": "torch.linalg.svdvals({0})",
        "svd_vectors": "svd_vectors({0})",
        "qr_q": "torch.linalg.qr({0})[0]",
        "pinv": "torch.linalg.pinv({0})",
        "pinv_to": "torch.linalg.pinv({0}, rtol={p})",
        "solve": "torch.linalg.solve({0}, {1})",
        "lower_solve": "torch.linalg.solve_triangular({0}, {1}, upper=False)",
        "upper_solve": "torch.linalg.solve_triangular({0}, {1}, upper=True)",
        "expm_along": "expm_along({0}, {1})",
    },
)

JAX = ArrayLibrary(
    "jax",
    "jnp",
    {"jax.": "import jax", "jnp.": "import jax.numpy as jnp", "math.": "import math"},
    "axis",
    {
        **_SQUARE,
        **{name: f"jax.nn.{name}({{0}})" for name in ("sigmoid", "softplus", "relu", "leaky_relu", "elu", "silu")},
        "gelu": "0.5 * {0} * jax.scipy.special.erfc(-math.sqrt(0.5) * {0})",
        **{name: f"jax.scipy.special.{name}({{0}})" for name in ("erf", "erfc", "erfinv", "ndtri", "log_ndtr")},
        "lgamma": "jax.scipy.special.gammaln({0})",
        "digamma": "jax.scipy.special.digamma({0})",
        "polygamma": "jax.scipy.special.polygamma({0}, {1})",
        "stop_gradient": "jax.lax.stop_gradient({0})",
    },
    {
        **{name: f"jnp.{name}({{0}}, axis={{axis}})" for name in ("prod", "max", "min", "argmax", "argmin")},
        **{
            name: f"jnp.{name}({{0}}, axis={{axis}})" for name in ("any", "all", "cumprod", "cumsum", "sort", "argsort")
        },
        **{name: f"jax.nn.{name}({{0}}, axis={{axis}})" for name in ("logsumexp", "softmax", "log_softmax")},
        "cumsum_back": "jnp.flip(jnp.cumsum(jnp.flip({0}, {axis}), axis={axis}), {axis})",
        "fft": "jnp.fft.fft({0}, axis={axis})",
        "bfft": "jnp.fft.ifft({0}, axis={axis}, norm='forward')",
        "hardmax": "hardmax({0}, {axis})",
        "hardmin": "hardmax(-{0}, {axis})",
        "prod_before": "prod_before({0}, {axis})",
        "prod_after": "jnp.flip(prod_before(jnp.flip({0}, {axis}), {axis}), {axis})",
    },
    {
        **{name: text.replace("np.", "jnp.") for name, text in NUMPY.matrix.items() if text.startswith("np.")},
        "expm": "jax.scipy.linalg.expm({0})",
        "svd_vectors": "svd_vectors({0})",
        "pinv_to": "jnp.linalg.pinv({0}, rtol={p})",
        "lower_solve": "jax.scipy.linalg.solve_triangular({0}, {1}, lower=True)",
        "upper_solve": "jax.scipy.linalg.solve_triangular({0}, {1}, lower=False)",
        "expm_along": "expm_along({0}, {1})",
    },
)
LIBRARIES = {library.name: library for library in (NUMPY, TORCH, JAX)}

# Helpers: {np} is the module, {axis} what it calls an axis, {cat} its function that joins arrays.
HELPERS = {
    "softmax": '''
def softmax(x, axis):
    """exp(x) / sum(exp(x)) along an axis, without overflow."""
    weights = {np}.exp(x - {np}.max(x, axis=axis, keepdims=True) if x.size else x)
    return weights / {np}.sum(weights, axis=axis, keepdims=True)
''',
    "hardmax": '''
def hardmax(x, axis):
    """1/n at the n largest entries along an axis, or along several, and 0 elsewhere."""
    hits = {hits}
    return hits / {np}.sum(hits, {axis}=axis, {keep}=True)
''',
    "prod_before": '''
def prod_before(x, axis):
    """The products of the entries before each one."""
    x = {np}.moveaxis(x, axis, 0)
    found = {np}.concatenate([{np}.ones_like(x[:1]), {np}.cumprod(x[:-1], {axis}=0)])
    return {np}.moveaxis(found, 0, axis)
''',
    "recurrence": '''
def recurrence(a, b):
    """y[0] = 0, y[i+1] = a[i] y[i] + b[i], along the first axis."""
    y = [{np}.zeros_like(b[:1])]
    for i in range(len(b) - 1):
        y.append(a[i : i + 1] * y[-1] + b[i : i + 1])
    return {np}.concatenate(y) if len(b) else b
''',
    "svd_vectors": '''
def svd_vectors(a):
    """The left singular vectors, and below them the right ones, in columns."""
    left, _, right = {np}.linalg.svd(a, full_matrices=False)
    return {np}.concatenate([left, {np}.swapaxes(right, -1, -2)], {axis}=-2)
''',
    "symmetric": '''
def symmetric(a):
    """The symmetric part of matrices."""
    return (a + {np}.swapaxes(a, -1, -2)) / 2
''',
    "expm_along": '''
def expm_along(a, e):
    """How exponentials of matrices change along e: by a corner of [[a, e], [0, a]]."""
    n = a.shape[-1]
    above = {np}.concatenate([a, e], {axis}=-1)
    below = {np}.concatenate([{np}.zeros_like(e), a], {axis}=-1)
    both = {np}.concatenate([above, below], {axis}=-2)
    return {expm}(both)[..., :n, n:]
''',
}
HITS = {
    "numpy": "(x == np.max(x, axis=axis, keepdims=True)).astype(x.dtype)",
    "torch": "(x == torch.amax(x, dim=axis, keepdim=True)).to(x.dtype)",
    "jax": "(x == jnp.max(x, axis=axis, keepdims=True)).astype(x.dtype)",
}


def helper(library: ArrayLibrary, name: str) -> str:
    """The text of a helper."""
    expm = library.matrix["expm"].split("(")[0]
    keep = "keepdim" if library.name == "torch" else "keepdims"
    words = {"np": library.module, "axis": library.axis, "expm": expm, "hits": HITS[library.name], "keep": keep}
    return HELPERS[name].strip("\n").format(**words)
