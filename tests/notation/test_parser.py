"""The parser: trees, places, errors, limits.

A tree is compared by its shape, a fully bracketed text without places, so the expected value of a test reads like the
rule it checks. Places are checked by cutting them out of the text again.
"""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ricci as rc
from ricci.errors import NotationError
from ricci.notation import syntax
from ricci.notation.parser import parse_program

FUNCTIONS = frozenset(("exp", "sin", "sqrt", "sum", "max", "softmax", "inv", "det", "maximum", "where", "argmax"))


def parse(text):
    return parse_program(text, FUNCTIONS)


def body(text) -> Any:
    (statement,) = parse(text).statements
    return statement.body


def index_shape(index):
    if index.tensor is not None:
        return shape(index.tensor)
    parts = [f"{c:+d}{name}" for c, name in index.terms] + [f"{c:+d}|{name}|" for c, name in index.sizes]
    mark = {"up": "^", "down": "_", "": ""}[index.height]
    return mark + (index.terms[0][1] if index.plain else "".join(parts) + f"{index.const:+d}")


def bracketed(indices):
    return "" if indices is None else "[" + ",".join(map(index_shape, indices)) + "]"


def shape(node):
    match node:
        case syntax.Number():
            return repr(node.value)
        case syntax.Pi():
            return "pi"
        case syntax.TensorNode():
            return node.name + bracketed(node.indices)
        case syntax.Ones() | syntax.Zeros() | syntax.Delta():
            return {"Ones": "1", "Zeros": "0", "Delta": "delta"}[type(node).__name__] + bracketed(node.indices)
        case syntax.Size():
            return f"|{node.name}|"
        case syntax.CallNode():
            return node.name + bracketed(node.axes) + f"({','.join(map(shape, node.args))})" + bracketed(node.result)
        case syntax.Neg():
            return f"(-{shape(node.body)})"
        case syntax.SumNode():
            return "(" + " ".join(("+" if sign > 0 else "-") + shape(term) for sign, term in node.terms) + ")"
        case syntax.ProductNode():
            return "(" + " ".join(("*" if power > 0 else "/") + shape(factor) for power, factor in node.factors) + ")"
        case syntax.Power():
            return f"({shape(node.base)} ** {shape(node.exponent)})"
        case syntax.Compare():
            return f"({shape(node.left)} {node.op} {shape(node.right)})"
        case syntax.Derivative():
            return f"D({shape(node.body)},{shape(node.variable)})"
    raise AssertionError(node)


def nodes(value) -> Any:
    """All nodes inside a value, itself included."""
    if is_dataclass(value):
        yield value
        for field in fields(value):
            yield from nodes(getattr(value, field.name))
    elif isinstance(value, tuple):
        for part in value:
            yield from nodes(part)


TREES = [
    # atoms
    ("2", "2"),
    ("2.", "2.0"),
    (".5", "0.5"),
    ("1.5e-3", "0.0015"),
    ("1e2", "100.0"),
    ("pi", "pi"),
    ("x", "x"),
    ("w_1", "w_1"),
    ("x[i,j]", "x[i,j]"),
    ("x[ i , j' ]", "x[i,j']"),
    ("λ[μ]", "λ[μ]"),
    ("1[i]", "1[i]"),
    ("0[i,j]", "0[i,j]"),
    ("delta[i,j]", "delta[i,j]"),
    ("|i|", "|i|"),
    ("| batch |", "|batch|"),
    ("|i'||j|", "(*|i'| *|j|)"),
    ("10", "10"),
    ("pi_1", "pi_1"),
    ("D", "D"),
    # products and quotients
    ("a b", "(*a *b)"),
    ("a * b", "(*a *b)"),
    ("a/b c", "(*a /b *c)"),
    ("1/2 x[i]", "(*1 /2 *x[i])"),
    ("a/b/c", "(*a /b /c)"),
    ("a (b c)", "(*a *(*b *c))"),
    ("a / (b c)", "(*a /(*b *c))"),
    ("2x[i]", "(*2 *x[i])"),
    ("2(a)", "(*2 *a)"),
    ("(a)(b)", "(*a *b)"),
    ("s (x[i] + 1)", "(*s *(+x[i] +1))"),
    ("exp (x)", "(*exp *x)"),
    ("2 exp(x)", "(*2 *exp(x))"),
    ("2e", "(*2 *e)"),
    ("1/|h| 1[h] x[b,h]", "(*1 /|h| *1[h] *x[b,h])"),
    # sums
    ("a + b - c", "(+a +b -c)"),
    ("a + (b + c)", "(+a +(+b +c))"),
    ("x[i] -y[i]", "(+x[i] -y[i])"),
    ("a b + c/d", "(+(*a *b) +(*c /d))"),
    ("(a)", "a"),
    ("((a + b))", "(+a +b)"),
    # minus and powers
    ("-a", "(-a)"),
    ("--a", "(-(-a))"),
    ("-a b", "(*(-a) *b)"),
    ("-a + b", "(+(-a) +b)"),
    ("a - -b", "(+a -(-b))"),
    ("a * -b", "(*a *(-b))"),
    ("a/-b c", "(*a /(-b) *c)"),
    ("-x**2", "(-(x ** 2))"),
    ("(-x)**2", "((-x) ** 2)"),
    ("2**-x", "(2 ** (-x))"),
    ("2**-x**2", "(2 ** (-(x ** 2)))"),
    ("2**3**4", "(2 ** (3 ** 4))"),
    ("a b**2 c", "(*a *(b ** 2) *c)"),
    ("2**-x y", "(*(2 ** (-x)) *y)"),
    ("x^2", "(x ** 2)"),
    ("x[i]^2", "(x[i] ** 2)"),
    ("x ^ 2", "(x ** 2)"),
    ("x^(a+b)", "(x ** (+a +b))"),
    ("x^.5", "(x ** 0.5)"),
    ("(.5 -.5 x .5)", "(+0.5 -(*0.5 *x *0.5))"),
    ("maximum(a,.5)", "maximum(a,0.5)"),
    ("(a + b)^2 c", "(*((+a +b) ** 2) *c)"),
    ("x[i]**y[i]", "(x[i] ** y[i])"),
    # comparisons
    ("a < b", "(a < b)"),
    ("a + b >= c d", "((+a +b) >= (*c *d))"),
    ("(a < b) < c", "((a < b) < c)"),
    ("a != -b", "(a != (-b))"),
    ("where(m[i] > 0, a[i], b[i] <= 1)", "where((m[i] > 0),a[i],(b[i] <= 1))"),
    ("2 (a == b)", "(*2 *(a == b))"),
    # functions
    ("exp(a + b)", "exp((+a +b))"),
    ("exp(-x)**2", "(exp((-x)) ** 2)"),
    ("maximum(a, b)", "maximum(a,b)"),
    ("sum[k](x[k])", "sum[k](x[k])"),
    ("sum[j,k'](x[j,k'])", "sum[j,k'](x[j,k'])"),
    ("inv(A)[i,j]", "inv(A)[i,j]"),
    ("inv(A)[0,j+1] x[j]", "(*inv(A)[+0,+1j+1] *x[j])"),
    ("exp(sin(x) y) z", "(*exp((*sin(x) *y)) *z)"),
    ("D(f, x)", "D(f,x)"),
    ("D(a b, x[p,q])", "D((*a *b),x[p,q])"),
    ("2 D(f, x^i)", "(*2 *D(f,x[^i]))"),
    # indices
    ("x[0]", "x[+0]"),
    ("x[-1]", "x[-1]"),
    ("x[i+0]", "x[+1i+0]"),
    ("x[i+k]", "x[+1i+1k+0]"),
    ("x[2*i+k-1]", "x[+2i+1k-1]"),
    ("x[i*2 + 3]", "x[+2i+3]"),
    ("x[2i - 3 k]", "x[+2i-3k+0]"),
    ("x[-i]", "x[-1i+0]"),
    ("x[i+k+i+1+2]", "x[+2i+1k+3]"),
    ("x[i-i]", "x[+0]"),
    ("x[|n|-1-i]", "x[-1i+1|n|-1]"),
    ("x[2|n|-|m|]", "x[+2|n|-1|m|+0]"),
    ("table[t[b],d]", "table[t[b],d]"),
    ("a[b[c[i],0],j]", "a[b[c[i],+0],j]"),
    ("a[i,b[c[i]]]", "a[i,b[c[i]]]"),
    ("x[my_index]", "x[my_index]"),
    # upper and lower indices
    ("x^i", "x[^i]"),
    ("A^i_j", "A[^i,_j]"),
    ("A^i_j B^j_k", "(*A[^i,_j] *B[^j,_k])"),
    ("T^{i j}_{k}", "T[^i,^j,_k]"),
    ("T^{i,j}_k", "T[^i,^j,_k]"),
    ("g_{i j} x^i x^j", "(*g[_i,_j] *x[^i] *x[^j])"),
    ("g_{ij}", "g[_i,_j]"),
    ("g_{ij'k1}", "g[_i,_j',_k1]"),
    ("g_{ batch time }", "g[_batch,_time]"),
    ("w_1_{ij}^k", "w_1[_i,_j,^k]"),
    ("T^i_j^k", "T[^i,_j,^k]"),
    ("T^i_j_k", "T[^i,_j,_k]"),
    ("T^i_j_{kl}", "T[^i,_j,_k,_l]"),
    ("T^i^j", "T[^i,^j]"),
    ("g_{i}_{j}", "g[_i,_j]"),
    ("T^i_0", "T[^i,_+0]"),
    ("T_{0 i}", "T[_+0,_i]"),
    ("x^i'", "x[^i']"),
    ("p_{mu,}", "p[_mu]"),
    ("x^{0,}", "x[^+0]"),
    ("x^{i+1}", "x[^+1i+1]"),
    ("x_{2*i+k,j}", "x[_+2i+1k+0,_j]"),
    ("x^{t[b],d}_e", "x[t[b],^d,_e]"),
    ("1_{i}", "1[_i]"),
    ("1_i", "1[_i]"),
    ("0^i_j", "0[^i,_j]"),
    ("1^{i j} x", "(*1[^i,^j] *x)"),
    ("1^2", "(1 ** 2)"),
    ("inv(g)^{i j}", "inv(g)[^i,^j]"),
    ("inv(A)^i_j x^j", "(*inv(A)[^i,_j] *x[^j])"),
    ("det(A)^2", "(det(A) ** 2)"),
    ("x^i^2", "(x[^i] ** 2)"),
    ("x_{i}^2", "(x[_i] ** 2)"),
    ("x^i**n", "(x[^i] ** n)"),
    ("delta^i_j", "delta[^i,_j]"),
    ("delta_{ij}", "delta[_i,_j]"),
    ("R^i_{jkl} y", "(*R[^i,_j,_k,_l] *y)"),
]


@pytest.mark.parametrize(("text", "expected"), TREES, ids=[text for text, _ in TREES])
def test_tree(text, expected):
    assert shape(body(text)) == expected


@pytest.mark.parametrize("text", [text for text, _ in TREES])
def test_every_place_cuts_out_its_node(text):
    """Only the text of a node decides its shape, apart from the brackets of single operands."""
    for node in nodes(body(text)):
        if not isinstance(node, syntax.Index):
            assert shape(body(text[node.start : node.end])) == shape(node)


def test_places_in_full():
    program = parse("y[i] = 2\nz = -(a + b) c")
    first, second = cast(Any, program.statements)
    assert (first.start, first.end, first.indices[0].start, first.indices[0].end) == (0, 8, 2, 3)
    assert (second.start, second.end) == (9, 23)
    product = second.body
    assert (product.start, product.end) == (13, 23)  # with the bracket that it begins with
    negative = product.factors[0][1]
    assert (negative.start, negative.end) == (13, 21)
    assert (negative.body.start, negative.body.end) == (15, 20)
    (index,) = body("x^{ij}").indices[1:]
    assert (index.start, index.end) == (4, 5)
    call = body(" inv(A)[i,j] ")
    assert (call.start, call.end) == (1, 12)
    power = body("(a)**2")
    assert (power.start, power.end, power.base.start) == (0, 6, 1)
    compare = body("exp(b, (a) < c)").args[1]
    assert (compare.start, compare.end) == (7, 14)


def test_fields():
    (index,) = body("x[|n|-2*i-1]").indices
    assert index == syntax.Index(2, 11, ((-2, "i"),), -1, ((1, "n"),), False, None, "")
    (index,) = body("x[i']").indices
    assert index == syntax.Index(2, 4, ((1, "i'"),), 0, (), True, None, "")
    (index,) = body("x[t[b]]").indices
    assert index.terms == () and not index.plain and index.tensor == body("  t[b]")
    assert [index.height for index in body("A^i_j").indices] == ["up", "down"]
    assert type(body("2").value) is int and type(body("2.0").value) is float
    call = body("sum[k](x[k])")
    assert call.axes[0].plain and call.result is None
    assert body("exp(x)").axes is None


@pytest.mark.parametrize(
    ("text", "name", "indices"),
    [
        ("x", None, None),
        ("x[i] y[i]", None, None),
        ("a == b", None, None),
        ("y = x", "y", None),
        ("y = a == b", "y", None),
        ("y=-x", "y", None),
        ("y=.5", "y", None),
        ("y[i,j'] = x", "y", "[i,j']"),
        ("y^i_j = x", "y", "[^i,_j]"),
        ("y_{i j} = x", "y", "[_i,_j]"),
        ("D[i] = x", "D", "[i]"),
    ],
)
def test_left_side(text, name, indices):
    (statement,) = parse(text).statements
    assert statement.name == name
    assert (bracketed(statement.indices) or None) == indices


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        (";;a;\n\n;b\n;", ["a", "b"]),
        ("a # one\nb # two; c", ["a", "b"]),
        ("# only\na", ["a"]),
        ("a +\nb", ["(+a +b)"]),
        ("a *  # why\n\n  b", ["(*a *b)"]),
        ("y =\n a", ["a"]),
        ("(a\n+ b)", ["(+a +b)"]),
        ("(a # c )\nb)", ["(*a *b)"]),
        ("x[i,\nj]", ["x[i,j]"]),
        ("x[i\n,j]", ["x[i,j]"]),
        ("x^{i\nj}", ["x[^i,^j]"]),
        ("|\ni\n|", ["|i|"]),
        ("a <\nb", ["(a < b)"]),
        ("a **\n2", ["(a ** 2)"]),
        ("a\r\nb", ["a", "b"]),
        ("a\n-b", ["a", "(-b)"]),
        ("a\u00a0b\tc", ["(*a *b *c)"]),
    ],
)
def test_statements_and_lines(text, expected):
    assert [shape(statement.body) for statement in parse(text).statements] == expected


def test_names_are_spelled_as_python_spells_them():
    assert body("µ").name == body("μ").name == "μ"  # the micro sign and the letter mu
    assert body("x\u0302 y").factors[0][1].name == "x\u0302"


def test_the_examples_of_the_notation_page():
    text = """
    y[i,j] = x[i,k] a[k,j] + 1[i] b[j]
    l      = 1[m] sin(-y[m] X[m,n] w[n])
    m[b]   = 1/|h| 1[h] x[b,h];  v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
    y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]
    p[b,h,i,j] = softmax[j](q[b,h,i,d] k[b,h,j,d] / sqrt(|d|));  o[b,h,i,e] = p[b,h,i,j] v[b,h,j,e]
    c[i]   = x[i+k] w[k]
    s[i,j] = 1[d] (x[i,d] 1[j] - 1[i] x[j,d])**2;  E = 1[i] 1[j] (1 - delta[i,j]) / (s[i,j] + delta[i,j])
    y[b,t,d] = table[tokens[b,t], d]
    l      = 1/2 det(S) + 1/2 r[i] inv(S)[i,j] r[j]
    """
    assert "".join(s.name or "" for s in parse(text).statements) == "ylmvypocsEyl"


ERRORS = [
    # text, what the caret is under, message, hint
    ("a + ", "+", "nothing after '+'", "Write what"),
    ("a * / b", "*", "nothing after '*'", "Write what"),
    ("a +; b", "+", "nothing after '+'", "Write what"),
    ("* a", "*", "nothing before '*'", "leave it out"),
    ("+ a", "+", "nothing before '+'", "leave it out"),
    ("y =", "=", "nothing after '='", "Write what"),
    ("a**", "**", "nothing after '**'", "Write what"),
    ("exp(a,)", ",", "nothing after ','", "Write what"),
    ("(a +)", "+", "nothing after '+'", "Write what"),
    ("exp()", "()", "'exp' has no argument", "Write an expression"),
    ("a ()", "()", "The bracket is empty", "Write an expression"),
    ("a\n+ b", "+", "A line cannot begin with '+'", "put '+' at its end"),
    ("a\n\n  / b", "/", "A line cannot begin with '/'", "put '/' at its end"),
    # brackets
    ("(a", "(", "'(' is never closed", "')'"),
    ("y = x[i", "[", "'[' is never closed", "']'"),
    ("x^{i", "{", "'{' is never closed", "'}'"),
    ("f = ((a)", "(", "'(' is never closed", "')'"),
    ("(a; b)", "(", "'(' is not closed before ';'", "')'"),
    ("x[i)", "[", "'[' is closed by ')'", "']'"),
    ("a)", ")", "')' was never opened", "'('"),
    ("a]", "]", "']' was never opened", "'['"),
    ("a}", "}", "'}' was never opened", "'{'"),
    ("2 |i", "|", "'|' has no meaning here", "|i|"),
    ("|x[i]|", "|", "'|' has no meaning here", "abs("),
    # characters and numbers
    ("x @ y", "@", "'@' has no meaning here", "Name the indices: x[i] y[i]."),
    ("a ~ b", "~", "'~' has no meaning here", "letters, digits and underscores"),
    ("x²", "²", "'²' has no meaning here", "**2"),
    ("x_₁", "₁", "'₁' has no meaning here", "x_1"),
    ("xᵢ", "ᵢ", "no raised or lowered character", "x[i,j]"),
    ("a − b", "−", "'−' has no meaning here", "Write -"),
    ("٣", "٣", "has no meaning here", "letters"),
    ("a ! b", "!", "'!' has no meaning here", "!="),
    ("1.2.3", "1.2.3", "'1.2.3' is not a number", "1.5"),
    ("x1.5", "x1.5", "stands apart", "* 0.5"),
    ("1_000", "1_000", "'1_000' is not a number", "12"),
    ("a + 1e999", "1e999", "too large", "Scale"),
    # statements
    ("", "", "no statement", "y[i] ="),
    ("  # nothing\n;", " ", "no statement", "y[i] ="),
    ("a = b = c", "=@6", "only one '='", "=="),
    ("a = = c", "=@4", "only one '='", "=="),
    ("(a = b)", "=", "stands only after a left side", "=="),
    ("2 = x", "2", "left side of '=' is not a name", "y[i] ="),
    ("x += z", "x +", "left side of '=' is not a name", "z = x + …"),
    ("a[i] (no sum i) b[i]", "(no sum i)", "at the end of a statement", "(no sum i)"),
    ("a[i] b[i] (no sum)", "(no sum)", "names the indices", "(no sum i, j)"),
    ("x y = z = w", "=@8", "only one '='", "=="),
    ("1[i] = z", "1[i]", "left side of '=' is not a name", "y[i] ="),
    ("= z", "=", "left side of '=' is missing", "y[i] ="),
    ("f(x) = x**2", "f", "no function 'f'", "f = …"),
    ("exp = 2", "exp", "'exp' is reserved", "exp_1"),
    ("exp_{i} = 2", "exp_", "'exp' is reserved", "exp_1"),
    ("delta[i,j] = x[i,j]", "delta", "'delta' is reserved", "delta_1"),
    ("pi = 3", "pi", "'pi' is reserved", "pi_1"),
    ("y[i,i] = x[i]", "i@4", "'i' stands twice", "delta[i,i']"),
    ("y^i_i = x", "i@4", "'i' stands twice", "delta[i,i']"),
    ("y[0] = x", "0", "plain names", "Give each axis a name"),
    ("y[i+1] = x[i]", "i+1", "nothing says how it begins", "Write y[0]"),
    ("y[t[i]] = x[i]", "t[i]", "plain names", "Give each axis a name"),
    ("a, b", ",", "comma stands only", "';'"),
    ("(a, b)", ",", "comma stands only", "';'"),
    ("a < b < c", "<@6", "Two comparisons", "brackets"),
    # indices
    ("a[]", "[]", "brackets are empty", "Name an index"),
    ("1[]", "[]", "brackets are empty", "Name an index"),
    ("a[i,]", ",", "missing after ','", "name or an integer"),
    ("a[,i]", "[", "missing after '['", "name or an integer"),
    ("a[i+]", "+", "missing after '+'", "name or an integer"),
    ("a[i j]", "i j", "comma is missing between 'i' and 'j'", "a[i,j]"),
    ("b a[i j  k]", "i j", "comma is missing", "a[i,j,k]"),
    ("a[i 2]", "i 2", "comma is missing", "a[i,2]"),
    ("x[i*j]", "j", "product of two indices", "x[2*i+k-1]"),
    ("x[i/2]", "/", "cannot hold '/'", "x[2*i+k-1]"),
    ("x[i**2]", "**", "cannot hold '**'", "x[2*i+k-1]"),
    ("x[(i+1)]", "(", "cannot begin with '('", "x[2*i+k-1]"),
    ("x[1.5]", "1.5", "is an integer", "x[2*i+k-1]"),
    ("x[a=3]", "=", "cannot hold '='", "x[2*i+k-1]"),
    ("x[t[b]+1]", "+", "gathered stands alone", "j[b] = …"),
    ("x[1+t[b]]", "[@5", "gathered stands alone", "j[b] = …"),
    ("x[argmax[k](y[k])]", "](", "cannot hold a function", "j[b] = …"),
    ("x[delta[i,j]]", "delta[i,j]", "gathered by 'delta'", "j[b] = …"),
    ("x [i]", "[i]", "directly after the name", "x[i]"),
    ("1 [i]", "[i]", "directly after the name", "1[i]"),
    ("2[i]", "[i]", "directly after the name", "2 1[i]"),
    ("(a)[i]", "[i]", "directly after the name", "a name"),
    ("sum[k](x[k])[i]", "[i]", "directly after the name", "a name"),
    ("[i]", "[", "directly after a name", "x[i]"),
    ("x[i][j]", "[@4", "two pairs of brackets", "x[i,j]"),
    ("delta", "delta", "has 0", "delta[i,j]"),
    ("2 delta[i]", "delta[i]", "has 1", "delta[i,j]"),
    ("delta[i,j,k]", "delta[i,j,k]", "has 3", "delta[i,j] delta[j,k]"),
    ("pi[i]", "pi[i]", "pi has no indices", "pi 1[i]"),
    ("x'", "x'", "no prime", "Primes are for indices"),
    ("2 x'[i]", "x'", "no prime", "Primes are for indices"),
    ("x[i]'", "'", "has no meaning here", "Primes are for indices"),
    # upper and lower indices
    ("x[i]^j", "x[i]^j", "do not mix", "x[i]**n"),
    ("x[i]^{j}", "x[i]^", "do not mix", "x[i]**n"),
    ("x[i]_j", "x[i]_j", "do not mix", "x^i_j"),
    ("x^i[j]", "x^i[", "do not mix", "x^i_j"),
    ("2^n", "^n", "upper index stands directly after a name", "**n"),
    ("x ^n", "^n", "upper index stands directly after a name", "**n"),
    ("(a)^n", "^n", "upper index stands directly after a name", "**n"),
    ("x^-1", "^", "only before a number or '('", "x^(…)"),
    ("x^ {i}", "^", "only before a number or '('", "x^(…)"),
    ("x^", "^", "only before a number or '('", "x^(…)"),
    ("x^{2}", "{2}", "could be a power or an index", "**2"),
    ("x^{}", "{}", "missing in the braces", "x^{i j}"),
    ("x^{,}", "{,}", "missing in the braces", "x^{i j}"),
    ("x^{i j,}", "{i j,}", "missing in the braces", "x^{i j}"),
    ("x_{i,,j}", "{i,,j}", "missing in the braces", "x^{i j}"),
    ("x^{i+}", "+", "missing after '+'", "name or an integer"),
    ("x^{i+k j}", "k j", "comma is missing", "^{i+k,j}"),
    ("x^{i/2}", "/", "cannot hold '/'", "x[2*i+k-1]"),
    ("x^{a_b}", "a_b", "name without underscores", "brackets"),
    ("A^i_", "_", "missing after '_'", "x^i_j"),
    ("x{i}", "{", "only after '^' and '_'", "x^i_j"),
    ("T^i{}_j", "{", "only after '^' and '_'", "x^{i j}"),
    ("{i}", "{", "only after '^' and '_'", "x^{i j}"),
    # functions
    ("s(x)", "s", "There is no function 's'.", "s * (…)"),
    ("2 sinn(x)", "sinn", "There is no function 'sinn'.", "Did you mean 'sin'?"),
    ("sinn(x)", "sinn", "There is no function 'sinn'.", "sinn * (…)"),
    ("x[i](y)", "x", "There is no function 'x'.", "x[i] * (…)"),
    ("sofmax[k](x[k])", "sofmax", "There is no function 'sofmax'.", "Did you mean 'softmax'?"),
    ("x^i(y)", "x", "There is no function 'x'.", "x^i * (…)"),
    ("D[i](y)", "D", "There is no function 'D'.", "D[i] * (…)"),
    ("sum[0](x)", "0", "axes of sum are plain names", "sum[k](…)"),
    ("sum[i+1](x)", "i+1", "axes of sum are plain names", "sum[k](…)"),
    ("2 D(f)", "D(f)", "two arguments, and here it has 1", "D(f, x[i,j])"),
    ("D(f, x, y)", "D(f, x, y)", "two arguments, and here it has 3", "D(f, x[i,j])"),
    ("D(f, 2 x)", "2 x", "not a tensor", "D(f, x[i,j])"),
]


@pytest.mark.parametrize(("text", "under", "message", "hint"), ERRORS, ids=[row[0] for row in ERRORS])
def test_error(text, under, message, hint):
    with pytest.raises(NotationError) as caught:
        parse(text)
    error = caught.value
    under, _, place = under.partition("@") if under != "@" else (under, "", "")
    start = int(place) if place else text.index(under)
    assert message in error.message and error.message.endswith(".")
    assert hint in error.hint
    assert (error.start, text[error.start : error.end]) == (start, under)


@pytest.mark.parametrize(("text", "under", "message", "hint"), ERRORS, ids=[row[0] for row in ERRORS])
def test_errors_in_the_middle_of_a_program_point_at_their_line(text, under, message, hint):
    if "nothing" in message or "no statement" in message or "never" in message or text.startswith(("*", "+")):
        return  # these depend on what stands before or after
    before = "a[i] = b[i]  # (\n\nc = (d +\n e)\n"
    with pytest.raises(NotationError) as alone:
        parse(text)
    with pytest.raises(NotationError) as inside:
        parse(before + text + "\nz = 2")
    shift = len(before)
    assert inside.value.message == alone.value.message
    assert (inside.value.start, inside.value.end) == (alone.value.start + shift, alone.value.end + shift)


def test_the_printed_error():
    with pytest.raises(NotationError) as caught:
        parse("a = 1\ny[i] = x[i j] 2\nb = 2")
    expected = "A comma is missing between 'i' and 'j'.\n  y[i] = x[i j] 2\n           ^^^\n  Write x[i,j]."
    assert str(caught.value) == expected


DEEP = [
    ("brackets", "(", "a", ")"),
    ("functions", "exp(", "a", ")"),
    ("axes", "sum[k](", "a", ")"),
    ("minus", "-", "a", ""),
    ("powers", "2**", "a", ""),
    ("gathers", "x[", "i", "]"),
]


@pytest.mark.parametrize(("opening", "inner", "closing"), [row[1:] for row in DEEP], ids=[row[0] for row in DEEP])
def test_nesting_is_limited(opening, inner, closing):
    def text(n, m):
        return opening * n + inner + closing * m

    assert len(parse(text(100, 100)).statements) == 1
    for n, m in ((201, 201), (10_000, 10_000), (10_000, 0)):
        with pytest.raises(NotationError, match="nested more than 100 deep") as caught:
            parse(text(n, m))
        assert "statements of their own" in caught.value.hint
        assert len(opening) * 100 <= caught.value.start < len(opening) * 101


@pytest.mark.parametrize(
    "opening", ["-(", "a + b*(", "2**(", "a < (", "exp(b, -", "D(", "1 - sum[k](x[k] **", "x[i+", "x^{", "|"]
)
def test_no_text_overflows_the_stack(opening):
    with pytest.raises(NotationError):
        parse(opening * 10_000)


def test_the_deepest_text_needs_no_stack_of_python():
    def at_depth(n):
        return parse("a < b - c*(" * 100 + "a" + ")" * 100) if n == 0 else at_depth(n - 1)

    limit = sys.getrecursionlimit()
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    assert at_depth(limit - depth - 60).statements


NESTED = ["exp(%s)", "2**(%s)", "where(x < 1, 2, 1 + %s)", "x[%s]", "1 + 2*(%s)", r"\frac{1}{1 + %s}", r"\bar{%s}"]
NESTED += [r"x^{%s}", r"x_{%s}", r"\sqrt{%s}", r"\left(%s\right)", r"\exp(1 - %s)", r"\hat{x_{%s}}", r"\mathbf{%s}"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", NESTED)
@pytest.mark.parametrize("room", [120, 250, 500])
def test_a_deep_caller_reads_or_is_told_of_the_stack(form, room):
    """With little room left on the stack a text is read or refused, and never a RecursionError."""

    def called(n, text):
        return rc.parse(text) if n == 0 else called(n - 1, text)

    before, after = form.split("%s")
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    for n in (30, 100, 5000):
        try:
            assert called(sys.getrecursionlimit() - depth - room, before * n + "x" + after * n).expr is not None
        except rc.RicciError as error:
            assert isinstance(error, NotationError) and error.text


@pytest.mark.parametrize("n", [10_000, pytest.param(100_000, marks=pytest.mark.thorough)])
def test_long_chains_are_flat(n):
    assert len(body("(a) " * n + "exp(a)").factors) == n + 1  # what is closed does not count as nesting
    assert len(body("-a**2 * " * n + "a").factors) == n + 1
    assert len(body("a + " * n + "a").terms) == n + 1
    assert len(body("a " * n + "a").factors) == n + 1
    assert len(body("x[" + "i," * n + "i]").indices) == n + 1
    assert len(parse("a;" * n).statements) == n
    assert len(body("x[" + "i+" * n + "i]").indices) == 1


def test_the_length_is_limited():
    assert parse("a" + " " * 999_999)
    with pytest.raises(NotationError, match="1,000,001 characters; the notation takes at most 1,000,000") as caught:
        parse("(" + " " * 1_000_000)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "text", ["x" * 999_998 + "²", "|" + " " * 999_999, "| " * 500_000, "x[i " + "j " * 499_000 + "]", "9" * 999_999]
)
def test_long_faults_are_found_fast_and_reported_short(text):
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert len(str(caught.value)) < 500


# Random trees, written with as few brackets as the precedences allow and with all of them.

LEVELS = {"compare": 0, "sum": 1, "product": 2, "minus": 3, "power": 4, "atom": 5}
KINDS = {"<": "compare", "==": "compare", "+": "sum", "-": "sum", "*": "product", "/": "product", "**": "power"}
PARTS = {
    "compare": ("sum", "sum"),
    "sum": ("product", "product"),
    "product": ("minus", "minus"),
    "power": ("atom", "minus"),
}
ATOMS = "2 0.5 pi w_1 λ |i| 1[i] 0[i,j] delta[i,j] A^i_j g_{ij} inv(A)[i,j] x[i,j'] x[2*i+k,0] y[t[b],|n|-1-i]"


def words(text):
    return st.sampled_from(text.split())


trees = st.recursive(
    words(ATOMS),
    lambda tree: st.tuples(words("< == + - * / **"), tree, tree) | st.tuples(words("neg exp sum[k] D maximum"), tree),
    max_leaves=12,
)


def write(tree, full):
    """The text of a random tree and the kind of its outermost operator."""

    def part(tree, level):
        text, kind = write(tree, full)
        bare = kind == "atom" or (not full and LEVELS[kind] >= LEVELS[level])
        return text if bare else f"({text})"

    if isinstance(tree, str):
        return tree, "atom"
    op, *rest = tree
    if op == "neg":
        return "-" + part(rest[0], "minus"), "minus"
    if op not in KINDS:
        more = {"D": ", x[p,q]", "maximum": ", 0"}.get(op, "")
        return f"{op}({part(rest[0], 'compare')}{more})", "atom"
    left, right = (part(operand, level) for operand, level in zip(rest, PARTS[KINDS[op]], strict=True))
    return f"{left} {op} {right}", KINDS[op]


@settings(max_examples=300, deadline=None)
@given(trees)
def test_the_fewest_brackets_say_the_same_as_all(tree):
    """Sums in sums need no brackets to bind alike, but are other trees: those keep theirs in either style."""
    assert shape(body(write(tree, False)[0])) == shape(body(write(tree, True)[0]))


@settings(max_examples=300, deadline=None)
@given(trees, st.sampled_from(["\t", "   ", "\u00a0"]))
def test_places_and_blanks(tree, blank):
    text = write(tree, False)[0]
    assert shape(body(text.replace(" ", blank))) == shape(body(text)) == shape(body(f"({text})"))
    for node in nodes(body(text)):
        assert 0 <= node.start < node.end <= len(text)
        if not isinstance(node, syntax.Index):
            assert shape(body(text[node.start : node.end])) == shape(node)


JUNK = "a x[ i ] ( ) { } , ; = == + - * / ** ^ ^i _j _ | |i| 1 0 2.5 exp exp( sum[k]( D( delta[ ' . @"


@settings(max_examples=500, deadline=None)
@given(st.lists(words(JUNK) | st.sampled_from(["a ", "b", "\n"]), max_size=12).map("".join))
def test_any_text_gives_a_tree_or_an_error_with_a_place(text):
    try:
        program = parse(text)
    except NotationError as error:
        assert error.message.endswith(".") and error.hint
        assert 0 <= error.start <= len(text)
        assert str(error)
    else:
        assert program.text == text and program.statements
        assert all(text[s.start : s.end].strip() == text[s.start : s.end] for s in program.statements)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30))
def test_any_characters_at_all(text):
    try:
        assert parse(text).statements
    except NotationError as error:
        assert error.hint and str(error)
