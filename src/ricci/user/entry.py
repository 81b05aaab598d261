"""Where formulas come from: texts and names."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ricci.checked_calls import check, takes
from ricci.errors import InputError, ReadingWarning, ShapeError, nearest
from ricci.expr import Size, dims
from ricci.functions.unknown import unmarked
from ricci.kinds import check_numbers
from ricci.notation.context import Context, Facts
from ricci.notation.declarations import ALWAYS_COMPLEX, COMPLEX, WORDS, Declarations, split_names
from ricci.notation.resolve import named, resolve
from ricci.notation.symbols import EPS
from ricci.user.formula import Formula, derive_in_text


@takes(
    "rc.parse",
    text="text",
    result="text or None",
    sizes="sizes or None",
    metric="tensor name or None",
    symmetric="names of tensors or None",
    antisymmetric="names of tensors or None",
    positive="names of tensors or None",
    orthogonal="names of tensors or None",
    hermitian="names of tensors or None",
    unitary="names of tensors or None",
    complex="names of tensors or None",
    functions="functions or None",
    latex="flag or None",
)
def parse(
    text: str,
    result: str | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    metric: str | None = None,
    symmetric: str | Sequence[str] | None = None,
    antisymmetric: str | Sequence[str] | None = None,
    positive: str | Sequence[str] | None = None,
    orthogonal: str | Sequence[str] | None = None,
    hermitian: str | Sequence[str] | None = None,
    unitary: str | Sequence[str] | None = None,
    complex: str | Sequence[str] | None = None,
    functions: str | Iterable[str] | Mapping[str, Callable[..., Any] | None] | None = None,
    latex: bool | None = None,
) -> Formula:
    r"""Read equations in index notation, as text or LaTeX; the value is the last statement, or that named ``result``.

    >>> m = parse("m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2", result="m")
    >>> print(m)
    m[b] = 1/|h| 1[h] x[b,h]

    A text with a backslash is LaTeX, and any is with ``latex=True``:

    >>> print(parse(r"\ell = \frac{1}{2} \sum_{i} \left(y_{i} - X_{ij} w_{j}\right)^2").diff("w"))
    dell_dw[j] = (X[i,j'] w[j'] - y[i]) X[i,j]

    With a ``metric``, a name may stand at other heights than it was first given:

    >>> print(parse("s = v^i v_{i}", metric="g"))
    s = v^i v_{i}

    Of matrices that are inputs it may be said that they are symmetric, antisymmetric, positive definite or orthogonal:

    >>> print(parse("f = x[i] A[i,j] x[j]", symmetric="A").diff("x[k]"))
    df_dx[k] = 2 A[k,i] x[i]

    Names of complex numbers are ``complex``; a derivative is by one or by its conjugate, and these are Wirtinger's:

    >>> f = parse("l = abs(A[i,j] z[j] - b[i])**2 1[i]", complex="A z b")
    >>> print(f.diff("conj(z[k])"))
    dl_dconj_z[k] = conj(A[i,k]) (A[i,j] z[j] - b[i])

    With ``functions``, names may stand for functions: for unknown ones, whose derivatives are ``f'``, and which a call
    gives, or for those of a mapping from names to functions.

    >>> y = parse("y[i] = point(x[i])", functions=["point"])
    >>> print(y.diff("x[j]"))
    dy_dx[i,j] = delta[i,j] point'(x[i])
    """
    said = map(split_names, (symmetric, antisymmetric, positive, orthogonal, hermitian, unitary, complex))
    return _read(text, result, sizes, Declarations(latex, metric, *said, functions=functions_by_name(functions)))


@takes(
    "rc.matrix",
    text="text",
    declarations="text",
    result="text or None",
    sizes="sizes or None",
    functions="functions or None",
    complex="names of tensors or None",
)
def matrix(
    text: str,
    declarations: str = "",
    *,
    result: str | None = None,
    sizes: Mapping[str, int] | None = None,
    functions: str | Iterable[str] | Mapping[str, Callable[..., Any] | None] | None = None,
    complex: str | Sequence[str] | None = None,
) -> Formula:
    """Read formulas in the matrix language, that of matrixcalculus.org, NumPy or papers, in text or LaTeX.

    Capital letters are matrices, Greek names scalars and all others columns, unless they are declared:

    >>> f = matrix("f = 1/2*norm2(A*x - b)^2 + lam*x'*x")
    >>> print(f.diff("x").matrix())
    Aᵀ (A x - b) + 2 lam x
    >>> print(matrix("y = A.T @ (A @ x)", "A[m,n] x[n]"))
    y[n] = A[m,n'] A[m,n] x[n']
    >>> print(matrix("x'*S*x", "S: symmetric").diff("x").matrix())
    2 S x

    With complex numbers ``'`` is the conjugate transpose, as in MATLAB and Julia, and ``.'``, ``.T``, ``ᵀ`` the plain
    one:

    >>> print(matrix("norm2(A*z - b)^2", complex="A z b").diff("conj(z)").matrix())
    Aᴴ (A z - b)
    """
    from ricci.notation.matrix_program import declared_in

    said = declared_in(text, declarations, functions_by_name(functions), split_names(complex))
    return _read(text, result, sizes, said)


def _read(text: str, result: str | None, sizes: Mapping[str, int] | None, declared: Declarations) -> Formula:
    """The formula that a text says, read as declared."""
    statements: dict[str, Formula] = {}
    last = None
    doubtful: list[str] = []
    for position, part in enumerate(resolve(text, sizes or {}, derive_in_text, doubtful=doubtful, declared=declared)):
        last = Formula(part.value.expr, part.value.names, part.context, part.name, part.heights, statements)
        last.source = (text, dict(sizes or {}), position, declared)
        if part.left is not None:
            last.left = Formula(part.left.expr, part.left.names, part.context, None, part.heights)
        if part.name is not None:
            statements[part.name] = last
    assert last is not None
    declared.check(last.context.facts.inputs)
    for message in doubtful:
        warnings.warn(message, ReadingWarning, stacklevel=4)  # past the check of the arguments
    return last if result is None else last[result]


def functions_by_name(functions: str | Iterable[str] | Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...]:
    """The functions of a text, by name; None for one of which nothing is known."""
    if functions is None:
        return ()
    words = split_names(functions) if isinstance(functions, str) else functions
    known: dict[str, Any] = dict(words) if isinstance(words, Mapping) else dict.fromkeys(words)
    found = {unicodedata.normalize("NFKC", name): what for name, what in known.items()}
    for name, what in found.items():
        if what is not None:
            from ricci.user.functions_in_texts import given_function

            found[name] = given_function(name, what)
    unknown = frozenset([name for name, what in found.items() if what is None])
    for name in found:
        other = unmarked(name, unknown - {name})
        if other is not None:
            raise InputError(
                f"rc.parse: the name {name!r} is that of a derivative of the function {other[0]!r}; choose another one."
            )
    return tuple(found.items())


_NAME = r"[^\W\d]\w*"
_HEIGHTS = r"(?:\^?\{[^{}]*\}|\^[^\W_]+'*|_\w+'*|_\{[^{}]*\})"  # the name may end with the "_" of a brace


@takes("rc.variable", text="text")
def variable(text: str, value: Any = None) -> Formula:
    """A variable, by name or with indices (``"X[m,n]"``, ``"A^i_j"``), that may carry a value.

    What is declared of a matrix stands after it: ``"S[i,j]: symmetric"``, antisymmetric, positive, orthogonal,
    hermitian or unitary; ``"z[i]: complex"`` of any tensor. A complex value says so itself.

    >>> x = variable("x", 3.0)
    >>> float(((x + 2) * x)())
    15.0
    >>> S = variable("S[i,j]: symmetric")
    >>> print(S - S.T.rename({"i": "j", "j": "i"}))
    sizes: S[i,j]
    0[i,j]
    """
    text, symmetry, complex_numbers = _said(text)
    match = re.fullmatch(rf"\s*({_NAME})\s*(?:\[([^\[\]]*)\])?\s*", text)
    node = named(text) if match is None and re.fullmatch(rf"\s*{_NAME}{_HEIGHTS}+\s*", text) else None
    if match is None and node is None:
        raise InputError(f"{text!r} does not name a variable; write a name, or a name with indices: 'X[m,n]'.")
    name, inside = match.groups() if match is not None else (node.name, "")  # type: ignore[union-attr]
    check("rc.variable", "text", name, "tensor name")
    names = [word.strip() for word in inside.split(",")] if inside else []
    heights = tuple([index.height for index in node.indices or ()]) if node is not None else ()
    if node is not None:
        names = [index.terms[0][1] if index.plain else "" for index in node.indices or ()]
    if value is not None:
        import numpy as np

        check_numbers(value, f"The value of {name!r}", name, real=False)
        shape: tuple[Size, ...] = np.shape(value)
        names = names or list("ijklmnpqrstuvw"[: len(shape)])
        if len(names) != len(shape):
            raise ShapeError(f"{text!r} names {len(names)} axes and the value has {len(shape)}: its shape is {shape}.")
    else:
        shape = tuple([dims.axis_size(name, axis) for axis in range(len(names))])
    if len(set(names)) != len(names) or not all(re.fullmatch(r"\w+'*", n) for n in names):
        raise InputError(f"The indices in {text!r} must be different names.")
    if name == EPS and len(names) > 1:
        raise InputError("'eps' with two or more indices is the Levi-Civita symbol, in a text; choose another name.")
    facts = Facts(inputs={name: len(names)}, groups=[(n, ((name, axis),)) for axis, n in enumerate(names)])
    if symmetry:
        _check_matrix(text, symmetry, shape, heights)
        facts.symmetries[name] = symmetry
        axes = ((name, 0), (name, 1))
        facts.groups, shape = [(n, axes) for n in names], (shape[0], shape[0])
    if complex_numbers or _is_complex(value):
        facts.complex[name] = None
    if value is not None:
        facts.values[name] = value
        if symmetry:
            from ricci.compiler.declared_values import as_declared

            as_declared(facts.symmetries, facts.values)
    if heights:
        facts.heights[name] = heights
    return Formula(facts.input(name, shape), names, Context(facts), None, heights)


def _is_complex(value: Any) -> bool:
    """Whether a value has complex numbers: an array of any library, or lists and numbers."""
    if value is None or isinstance(value, (int, float)):
        return False
    kind = getattr(value, "dtype", None)
    if kind is None:
        import numpy as np

        return bool(np.iscomplexobj(value))
    return "complex" in str(kind)


def _said(text: str) -> tuple[str, str, bool]:
    """The text of a variable, what is declared of it as a matrix after a colon, and whether it is complex."""
    text, colon, said = text.partition(":")
    words = said.split()
    for word in words if words or not colon else [""]:
        if word not in WORDS:
            hint = nearest(word, WORDS)
            raise InputError(f"{word!r} cannot be said of a tensor; {', '.join(WORDS)} can. {hint}".rstrip())
    own = [word for word in words if word != COMPLEX]
    if len(own) > 1 or (own == ["orthogonal"] and COMPLEX in words):
        hint = "say one of them" if len(own) > 1 else "such matrices are unitary"
        raise InputError(f"{text.strip()!r} is declared {' and '.join(words)}; {hint}.")
    word = own[0] if own else ""
    return text, word, COMPLEX in words or word in ALWAYS_COMPLEX


def _check_matrix(text: str, word: str, shape: tuple[Size, ...], heights: tuple[str, ...]) -> None:
    square = len(shape) == 2 and (shape[0] == shape[1] or not all(isinstance(n, int) for n in shape))
    if not square or len(set(heights)) > 1 or (heights and word in ("orthogonal", "unitary")):
        raise InputError(
            f"{word!r} is said of square matrices with both indices at one height, not of {text.strip()!r}."
        )


@takes("rc.tensors", text="text")
def tensors(text: str) -> tuple[Formula, ...]:
    """Several variables at once: ``X, w = rc.tensors("X[m,n] w[n]")``, ``A, x = rc.tensors("A^i_j x^j")``.

    What is declared of a matrix stands after it: ``rc.tensors("S[i,j]: symmetric x[j]")``.
    """
    words = "|".join(WORDS)
    one = rf"{_NAME}(?:{_HEIGHTS}+|\s*\[[^\[\]]*\])?(?:\s*:\s*\w+(?:\s+(?:{words})\b(?!\s*[\[:^_]))*)?"
    found = re.findall(one, text)
    rest = re.sub(one, "", text).replace(",", "").strip()
    if rest or not found:
        raise InputError(f"rc.tensors reads names with indices, as in 'X[m,n] w[n]', not {text!r}.")
    made = tuple([variable(part) for part in found])
    names = [f.variables[0] for f in made]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"rc.tensors names {name!r} twice in {text!r}; each tensor once.")
    return made
