"""A page of worked derivations: what a rulebook of tensor calculus has on paper, and what ricci writes.

``python -m ricci.testing.worked_examples docs/derivations.md`` writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ricci.show.derivation import Derivation
from ricci.user.derivatives import pullback, pushforward
from ricci.user.entry import parse, tensors

HEAD = """# Derivations, worked out

What is printed here is written by `python -m ricci.testing.worked_examples docs/derivations.md`. Each example has a
text, the lines that stand on paper where it is done by hand, and the derivation that ricci prints. All lines are in the
notation: they read back, and each is true at random points, which tests look at.

A line is named by the rule by which it follows from the one before. New free indices are those of the derivative; where
a summed index of one factor has the name of one in another factor, it gets a prime. The gradient that comes in from
what is behind a function, on paper `∂l/∂y`, is `y_bar`, and `l = y_bar[i] y[i]` has it as its derivative by `y`.
"""


@dataclass(frozen=True)
class Worked:
    """A text, what is derived, words about it, and lines of it that stand on paper."""

    title: str
    text: str
    asked: tuple[str, ...]  # what it is differentiated by, in turn; or the variable of a pullback or a pushforward
    words: str = ""
    paper: tuple[str, ...] = ()
    coming: str = ""  # what comes in, for a pullback
    along: str = ""  # the direction, for a pushforward
    functions: tuple[str, ...] = ()
    detail: str = "normal"

    def derivation(self) -> Derivation:
        f = parse(self.text, functions=list(self.functions)) if self.functions else parse(self.text)
        if self.coming:
            return pullback(f, self.asked[0], tensors(self.coming)[0]).derivation(self.detail)
        if self.along:
            return pushforward(f, {self.asked[0]: tensors(self.along)[0]}).derivation(self.detail)
        return f.diff(*self.asked).derivation(self.detail)

    @property
    def call(self) -> str:
        """How it is asked for in Python."""
        listed = ", ".join([f'"{name}"' for name in self.functions])
        lines = self.text.split("; ")
        whole = '"""\n    ' + "\n    ".join(lines) + '\n"""'
        detail = "" if self.detail == "normal" else f'detail="{self.detail}"'
        if len(lines) == 1:
            made = f'f = rc.parse("{self.text}"' + (f", functions=[{listed}])\n" if listed else ")\n")
        elif listed:
            made = f"f = rc.parse(\n    {whole},\n    functions=[{listed}],\n)\n"
        else:
            made = f"f = rc.parse({whole})\n"
        if self.coming:
            return made + f'rc.pullback(f, "{self.asked[0]}", rc.tensors("{self.coming}")[0]).derivation({detail})'
        if self.along:
            return (
                made + f'rc.pushforward(f, {{"{self.asked[0]}": rc.tensors("{self.along}")[0]}}).derivation({detail})'
            )
        return made + f"f.diff({', '.join([repr(x) for x in self.asked])}).derivation({detail})".replace("'", '"')


NORMALISED = (
    "m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2; "
    "y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]"
)
PRODUCT = "y[i,j] = x[i,k] a[k,j]"
PARTS: Sequence[tuple[str, Sequence[Worked]]] = (
    (
        "The rules",
        (
            Worked("A tensor by itself", "y[i,j] = x[i,j]", ("x[a,b]",), "A product of deltas, one for each axis.",
                   ("D(y[i,j], x[a,b]) = D(x[i,j], x[a,b])", "= delta[i,a] delta[j,b]")),
            Worked("Product rule", "y[a,b,c,d] = u(x[a,b]) v(x[c,d])", ("x[p,q]",), "",
                   ("= D(u(x[a,b]), x[p,q]) v(x[c,d]) + u(x[a,b]) D(v(x[c,d]), x[p,q])",), functions=("u", "v")),
            Worked("Product rule in a contraction", "y[a,c] = u(x[a,b]) v(x[b,c])", ("x[p,q]",), "",
                   ("= D(u(x[a,b]), x[p,q]) v(x[b,c]) + u(x[a,b]) D(v(x[b,c]), x[p,q])",), functions=("u", "v")),
            Worked("Quotient rule", "y[a,b,c,d] = u(x[a,b]) / v(x[c,d])", ("x[p,q]",), "",
                   ("= (D(u(x[a,b]), x[p,q]) v(x[c,d]) - u(x[a,b]) D(v(x[c,d]), x[p,q])) / v(x[c,d])**2",),
                   functions=("u", "v")),
            Worked("Chain rule", "u[c] = f(x[c]); y[a] = B[a,c] u[c]", ("x[p]",),
                   "The two derivatives are contracted: `c` is summed.",
                   ("D(y[a], x[p]) = D(y[a], u[c]) D(u[c], x[p])",), functions=("f",)),
            Worked("Chain rule through several functions", "v[e] = f(x[e]); u[c] = g(v[c]); y[a] = h(u[a])", ("x[p]",),
                   "Each function has a section of its own.",
                   ("D(y[a], x[p]) = D(y[a], u[c]) D(u[c], v[e]) D(v[e], x[p])",),
                   functions=("f", "g", "h")),
            Worked("Chain rule with several tensors", "u[c] = f(x[c]); v[e] = g(x[e]); y[a] = A[a,c,e] u[c] v[e]",
                   ("x[p]",), "There is a term for each.",
                   ("D(y[a], x[p]) = D(y[a], u[c]) D(u[c], x[p]) + D(y[a], v[e]) D(v[e], x[p])",),
                   functions=("f", "g")),
        ),
    ),
    (
        "Functions that act on each entry",
        (
            Worked("The derivative", "y[i] = point(x[i])", ("x[p]",),
                   "Nothing is known of `point` but that it acts on each entry; `point'` is its derivative.",
                   ("D(y[i], x[p]) = D(point(x[i]), x[p])", "= D(point(x[i]), x[i']) D(x[i'], x[p])",
                    "= point'(x[i]) delta[i,p]"), functions=("point",)),
            Worked("The gradient that flows back", "y[i] = point(x[i])", ("x[p]",), "",
                   ("D(l, x[p]) = D(l, y[i]) D(y[i], x[p])", "= y_bar[i] point'(x[i]) delta[i,p]",
                    "= y_bar[p] point'(x[p])"), coming="y_bar[i]", functions=("point",)),
        ),
    ),
    (
        "A product of matrices",
        (
            Worked("By the left factor", PRODUCT, ("x[p,q]",), "`Y = X A`.",
                   ("D(y[i,j], x[p,q]) = D(x[i,k] a[k,j], x[p,q])", "= D(x[i,k], x[p,q]) a[k,j]",
                    "= delta[i,p] delta[k,q] a[k,j]", "= delta[i,p] a[q,j]")),
            Worked("What flows back to the left factor", PRODUCT, ("x[p,q]",), "In matrices `Ȳ Aᵀ`.",
                   ("D(l, x[p,q]) = D(l, y[i,j]) D(y[i,j], x[p,q])", "= y_bar[i,j] delta[i,p] a[q,j]",
                    "= y_bar[p,j] a[q,j]"), coming="y_bar[i,j]"),
            Worked("By the right factor", PRODUCT, ("a[p,q]",), "",
                   ("D(y[i,j], a[p,q]) = D(x[i,k] a[k,j], a[p,q])", "= x[i,k] D(a[k,j], a[p,q])",
                    "= x[i,k] delta[k,p] delta[j,q]", "= x[i,p] delta[j,q]")),
            Worked("What flows back to the right factor", PRODUCT, ("a[p,q]",), "In matrices `Xᵀ Ȳ`.",
                   ("D(l, a[p,q]) = D(l, y[i,j]) D(y[i,j], a[p,q])", "= y_bar[i,j] x[i,p] delta[j,q]",
                    "= y_bar[i,q] x[i,p]"), coming="y_bar[i,j]"),
            Worked("Along a direction", PRODUCT, ("x",), "", (), along="x_dot[i,k]"),
        ),
    ),
    (
        "Normalised layers",
        (
            Worked("By the input", NORMALISED, ("x[c,k]",),
                   "The mean and the variance keep their names. Differences from a mean add up to zero, so `m` drops\n"
                   "out of the derivative of `v`; the result is said by the normalised input, which gets a name.",
                   ("= 1/|h| 1[k] delta[b,c]",)),
            Worked("By the scale", NORMALISED, ("g[k]",)),
        ),
    ),
    (
        "Probabilities",
        (
            Worked("Softmax", "p[i] = exp(x[i]) / (1[k] exp(x[k]))", ("x[j]",), "",
                   ("= p[i] (delta[i,j] - 1[i] p[j])",)),
            Worked("Cross entropy", "p[b,k] = softmax[k](z[b,k]); l = -t[b,k] log(p[b,k])", ("z[c,j]",)),
            Worked("Logistic regression, the Hessian", "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))", ("w[p]", "w[q]")),
        ),
    ),
    (
        "Models",
        (
            Worked("Least squares", "l = 1/2 (y[i] - X[i,j] w[j])**2 1[i]", ("w[k]",),
                   "Signs stay as they were typed.", ("= -(y[i] - X[i,j] w[j]) X[i,k]",)),
            Worked("A network with one hidden layer",
                   "h[b,i] = tanh(x[b,j] W[j,i] + 1[b] c[i]); o[b,i] = h[b,j] V[j,i]; "
                   "l = 1/2 (o[b,i] - t[b,i])**2 1[b,i]",
                   ("W[p,q]",), "The result is said by the activations.",
                   ("D(l, W[p,q]) = D(l, o[b,i]) D(o[b,i], h[b',i']) D(h[b',i'], W[p,q])",)),
            Worked("Attention, by a query",
                   "s[i,j] = q[i,d] k[j,d] / sqrt(|d|); p[i,j] = softmax[j](s[i,j]); o[i,e] = p[i,j] v[j,e]",
                   ("q[a,c]",)),
            Worked("The likelihood of a Gaussian process, by the noise",
                   "S[i,j] = K[i,j] + n delta[i,j]; l = 1/2 y[i] inv(S)[i,j] y[j] + 1/2 logdet(S)", ("n",)),
        ),
    ),
)  # fmt: skip


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for title, examples in PARTS:
        lines += [f"## {title}", ""]
        for example in examples:
            lines += section(example)
    return "\n".join(lines)


def section(example: Worked) -> list[str]:
    lines = [f"### {example.title}", ""]
    lines += [example.words, ""] if example.words else []
    lines += ["```py", example.call, "```", ""]
    if example.paper:
        lines += ["On paper:", "", "```text", *example.paper, "```", "", "ricci:", ""]
    return [*lines, "```text", str(example.derivation()), "```", ""]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
