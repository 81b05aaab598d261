"""Bad input to derivatives: what is said, and the types of the errors."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import ricci as rc

MATMUL = rc.parse("y[i,j] = x[i,k] a[k,j]")
GATHER = rc.parse("y[i] = x[t[i]] s[i]")
PROGRAM = rc.parse("u[i] = sin(x[i]); v[i] = cos(x[i]); y[i] = u[i] v[i]")
(VECTOR,) = rc.tensors("d[i]")
(MATRIX,) = rc.tensors("m[p,q]")
INTEGER = "'t' is an integer tensor, used as an index; there is no derivative by it."
NO_CUT = "These nodes are no cut: a way from the variable to the result goes past all of them."
MODES = "There is no mode {!r}; the modes are auto, forward, reverse, cross-country."
NEW = "The derivative operator needs new free indices; {!r} is already one of [{}]."
PART = "is not part of the expression as it stands, so there is no derivative by it"
ORDER = "The order of polygamma is a whole number, so there is no derivative by it."

ERRORS: dict[str, tuple[Callable[[], object], type[rc.RicciError], str]] = {
    # integers
    "integer": (lambda: GATHER.diff("t"), rc.InputError, INTEGER),
    "integer with indices": (lambda: GATHER.diff("t[p]"), rc.InputError, INTEGER),
    "integer, second": (lambda: GATHER.diff("s", "t"), rc.InputError, INTEGER),
    "integer among others": (lambda: GATHER.diff_all("x", "t"), rc.InputError, INTEGER),
    "integer as a formula": (lambda: GATHER.diff(rc.tensors("t[i]")[0]), rc.InputError, INTEGER),
    "integer pulled back": (lambda: rc.pullback(GATHER, "t"), rc.InputError, INTEGER),
    "integer pushed forward": (lambda: rc.pushforward(GATHER, {"t": VECTOR}), rc.InputError, INTEGER),
    # what is not there
    "not in the graph": (
        lambda: MATMUL.diff(rc.sin(rc.tensors("x[i,k]")[0])),
        rc.InputError,
        f"sin(x[i,k]) {PART}; name it in a statement of its own and use that name.",
    ),
    "unknown": (lambda: MATMUL.diff("z"), rc.InputError, "There is no variable 'z'; there are x, a, y."),
    "unknown, nearly": (
        lambda: rc.parse("l = 1[m] log(weights[m])").diff("weight"),
        rc.InputError,
        "There is no variable 'weight'; there are weights, l. Did you mean 'weights'?",
    ),
    "unknown formula": (lambda: MATMUL.diff(VECTOR), rc.InputError, "There is no variable 'd'; there are x, a, y."),
    "unknown, pulled back": (lambda: rc.pullback(MATMUL, ["x", "b"]), rc.InputError, "There is no variable 'b'"),
    "unknown, pushed forward": (lambda: rc.pushforward(MATMUL, {"b": VECTOR}), rc.InputError, "no variable 'b'"),
    "unknown cost": (lambda: rc.elimination_cost(MATMUL, "z"), rc.InputError, "There is no variable 'z'"),
    # names of indices
    "clash with the result": (lambda: MATMUL.diff("x[i,p]"), rc.RuleError, NEW.format("i", "i,j,i,p")),
    "twice": (lambda: MATMUL.diff("x[p,p]"), rc.RuleError, NEW.format("p", "i,j,p,p")),
    "clash with an earlier one": (
        lambda: MATMUL.diff("x[p,q]", "a[p,r]"),
        rc.RuleError,
        NEW.format("p", "i,j,p,q,p,r"),
    ),
    "clash of a definition": (lambda: PROGRAM.diff("u[i]"), rc.RuleError, NEW.format("i", "i,i")),
    "too few": (lambda: MATMUL.diff("x[p]"), rc.RuleError, "The variable has 2 indices, and"),
    "too many": (
        lambda: MATMUL.diff("x[p,q,r]"),
        rc.RuleError,
        "The variable has 2 indices, and 3 were given: p, q, r.",
    ),
    "no name": (lambda: MATMUL.diff("x[p,q"), rc.InputError, "'x[p,q' is not a name, nor a name with indices such as"),
    "empty": (lambda: MATMUL.diff(""), rc.InputError, "'' is not a name"),
    # no derivative
    "polygamma by its order": (lambda: rc.parse("y = polygamma(n, x)").diff("n"), rc.RuleError, ORDER),
    "polygamma by its order, second": (lambda: rc.parse("y = polygamma(n, x)").diff("x", "n"), rc.RuleError, ORDER),
    "polygamma below": (lambda: rc.parse("y = exp(polygamma(n**2, x))").diff("n"), rc.RuleError, ORDER),
    # the call
    "no arguments": (MATMUL.diff, rc.InputError, 'diff needs to know by what: formula.diff("x").'),
    "no arguments, function": (lambda: rc.diff(MATMUL), rc.InputError, "diff needs to know by what"),
    "an empty list": (lambda: MATMUL.diff([]), rc.InputError, "needs to know by what"),
    "no arguments, all": (MATMUL.diff_all, rc.InputError, "needs to know by what"),
    "a number": (lambda: MATMUL.diff(3), rc.InputError, "diff goes by a name or a formula, not int."),  # pyright: ignore[reportArgumentType]
    "of a text": (lambda: rc.diff("y = x", "x"), rc.InputError, "takes a formula"),  # pyright: ignore[reportArgumentType]
    "mode": (lambda: MATMUL.diff("x", mode="sideways"), rc.InputError, MODES.format("sideways")),
    "mode for all": (lambda: MATMUL.diff_all("x", mode="up"), rc.InputError, MODES.format("up")),
    "mode of a cost": (lambda: rc.elimination_cost(MATMUL, "x", "up"), rc.InputError, MODES.format("up")),
    "no cut": (lambda: PROGRAM.diff("x", cut=[PROGRAM["u"]]), rc.RuleError, NO_CUT),
    "no cut, by name": (lambda: PROGRAM.diff("x", cut=["v"]), rc.RuleError, NO_CUT),
    "an empty cut": (lambda: PROGRAM.diff("x", cut=[]), rc.RuleError, NO_CUT),
    "a cut of the unknown": (lambda: PROGRAM.diff("x", cut=["w"]), rc.InputError, "There is no variable 'w'"),
    # sweeps
    "bar of other indices": (
        lambda: rc.pullback(MATMUL, "x", MATRIX),
        rc.RuleError,
        "What comes in has the indices of the formula, [i,j], not [p,q].",
    ),
    "bar of other order": (lambda: rc.pullback(MATMUL, "x", VECTOR), rc.RuleError, "[i,j], not [i]."),
    "bar that is a number": (lambda: rc.pullback(MATMUL, "x", 1.0), rc.RuleError, "[i,j], not []."),  # pyright: ignore[reportArgumentType, reportCallIssue]
    "bar that is a text": (lambda: rc.pullback(MATMUL, "x", "b"), rc.InputError, "A str cannot be part of a formula"),  # pyright: ignore[reportArgumentType, reportCallIssue]
    "direction of other order": (
        lambda: rc.pushforward(MATMUL, {"x": VECTOR}),
        rc.RuleError,
        "The direction for 'x' has 1 ind",
    ),
    "direction that is a text": (
        lambda: rc.pushforward(MATMUL, {"x": "d"}),  # pyright: ignore[reportArgumentType]
        rc.InputError,
        "A str cannot be part of a formula",
    ),
    "no direction": (
        lambda: rc.pushforward(MATMUL, {}),
        rc.InputError,
        "pushforward needs directions: rc.pushforward(",
    ),
    "directions without names": (lambda: rc.pushforward(MATMUL, [MATRIX]), rc.InputError, "directions"),  # pyright: ignore[reportArgumentType]
    "no derivation": (
        MATMUL.derivation,
        rc.InputError,
        "Only a derivative, a pullback or a pushforward has a derivation",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str):
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=re.escape(message)) as caught:
        call()
    assert type(caught.value) is kind
    assert isinstance(caught.value, TypeError if kind is rc.InputError else ValueError)


@pytest.mark.parametrize("target", ["x[p,2!]", "x[,]", "x[1,2]", "x[p q,r]", "x[]"])
def test_what_is_no_index_name_is_called_so(target: str):
    """Not a clash: the message must not say that the name is taken."""
    with pytest.raises(rc.RicciError) as caught:
        MATMUL.diff(target)
    assert "already" not in str(caught.value)


# Inside equations; the text between « and » is what the carets stand under.

TEXTS = [
    ("y[i] = x[t[i]]; g[i,j] = D(y[i], «t[j]»)", "'t' is an integer tensor; there is no derivative by it.", ""),
    ("y = sin(x); g = «D(y)»", "A derivative has two arguments, and here it has 1.", "Write D(f, x[i,j])"),
    ("y = sin(x); g = «D(y, x, x)»", "A derivative has two arguments, and here it has 3.", "Write D(f, x[i,j])"),
    ("g[i] = D(x[i], «sin(x[j])»)", "The second argument of a derivative is not a tensor.", "Write D(f, x[i,j])"),
    ("g = D(x, «2»)", "The second argument of a derivative is not a tensor.", "Write D(f, x[i,j])"),
    ("g[p] = D(1[i,j] A[i,j], «A[p,p]»)", "The indices of the variable of a derivative are different.", ""),
    ("g[i] = D(1[j] x[j], x[«i+1»])", "The indices of the variable of a derivative are names.", "D(f, x[i"),
    ("y[i] = sin(x[i]); g[i,j,k] = D(y[i], «x[j,k]»)", "'x' has 1 index elsewhere and 2 here.", "A tensor keeps"),
    ("y[i] = sin(x[i]); g[i,j] = D(«y», x[j])", "'y' has 1 index elsewhere and 0 here.", "A tensor keeps"),
    ("g[i] = «D(sin(x[i]), x[p])»", "This term has the free indices [i,p] where [i] are wanted.", "sum[p](…)"),
]


@pytest.mark.parametrize(("marked", "message", "hint"), TEXTS, ids=lambda part: part[:40])
def test_errors_inside_equations(marked: str, message: str, hint: str):
    start, end = marked.index("«"), marked.index("»") - 1
    with pytest.raises(rc.NotationError) as caught:
        rc.parse(marked.replace("«", "").replace("»", ""))
    assert (caught.value.message, caught.value.start, caught.value.end) == (message, start, end)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "y[i,j] = x[i,k] a[k,j]; g[i,j,p] = D(y[i,j], x[i,p])",
        "y[i] = sin(x[i]); g[i,j] = D(y[i], x[i]) 1[j]",
        "y[i] = sin(x[i]); s = D(y[i], x[i])",
    ],
)
def test_a_clash_inside_equations_is_called_so(text: str):
    """A free index of the function stands at the variable too, which is not allowed, whether it was meant as a sum or
    not; that the index 'occurs once' is not what is wrong."""
    with pytest.raises(rc.NotationError) as caught:
        rc.parse(text)
    assert "'i'" in caught.value.message
    assert "occurs once" not in caught.value.message and "new" in str(caught.value)


def test_a_function_without_derivative_inside_an_equation():
    with pytest.raises(rc.RicciError, match=re.escape(ORDER)):
        rc.parse("y = polygamma(n, x); g = D(y, n)")


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_refuse(name: str):
    with pytest.raises(rc.RuleError, match=f"{name} cannot be differentiated here: its value is the place of an entry"):
        rc.parse(f"m[i] = {name}[j](x[i,j])").diff("x")


def test_what_looks_like_an_error_and_is_none():
    """Dummy indices may be taken; a variable may have gone, and a bar be turned."""
    assert str(rc.parse("m[i] = floor(x[i])").diff("x[p]")) == "sizes: x[p], x[i]\ndm_dx[i,p] = 0[i,p]"
    assert str(rc.parse("u[i] = sin(x[i]); y[i] = x[i]").diff("u[p]")) == "sizes: x[p], x[i]\ndy_du[i,p] = 0[i,p]"
    assert str(MATMUL.diff("x[k,l]")) == "dy_dx[i,j,k,l] = delta[i,k] a[l,j]"
    gone = rc.parse("y[i] = x[i] + z[i] - z[i]")
    assert gone.variables == ("x",) and gone.diff("z").order == 2
    turned = rc.pullback(MATMUL, "x", rc.tensors("b[j,i]")[0])
    assert turned == rc.pullback(MATMUL, "x", rc.tensors("b[j,i]")[0].transpose())
