r"""The words of LaTeX: which commands are letters, accents, fonts, functions, signs, and which have no meaning here.

The reader of LaTeX and what writes it (``show/latex.py``) both go by these tables, so that a name comes back.
"""

from __future__ import annotations

from ricci.functions.table import IN_TEXT
from ricci.notation import syntax


def _commands(words: str) -> frozenset[str]:
    return frozenset(["\\" + word for word in words.split()])


_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega "
    "varepsilon varphi vartheta varrho varsigma varpi varkappa ell hbar wp"
)
GREEK = frozenset(_GREEK.split())
ACCENTS = {word: "\\" + word for word in ("dot", "ddot", "bar", "hat", "tilde", "vec", "check", "breve")}
ACCENT_COMMANDS = {command: word for word, command in ACCENTS.items()}
ACCENT_COMMANDS |= {r"\overline": "bar", r"\widehat": "hat", r"\widetilde": "tilde", r"\overrightarrow": "vec"}

# What is a name where it is not the number, or the delta of two indices; its text has another word for these.
RESERVED_LETTERS = {"pi": "π", "delta": "δ"}

# What makes letters look otherwise, and what makes one name of several.
FONTS = _commands("mathbf boldsymbol bm mathcal mathbb mathbbm mathds mathsf mathfrak mathscr mathnormal pmb bf")
CALLIGRAPHIC = _commands("mathcal mathscr mathfrak mathbb mathbbm mathds")
UPRIGHT = _commands("mathrm operatorname operatorname* mathop rm")
WORDS = _commands("text textrm textit textbf textsf texttt mbox textnormal")

# Names that stand for functions where a bracket follows, in most books; one that is a product there has a sign, \cdot.
_LIKE_FUNCTIONS = "f g h F G H phi varphi psi Phi Psi sigma Gamma"
LIKE_FUNCTIONS = frozenset(_LIKE_FUNCTIONS.split())

# Functions: how their rows write them, up to the bracket, ``\log\left|\Gamma`` of a function that is one here.
HEADS: dict[str, str] = {}
for _name, _row in IN_TEXT.items():
    if _row.kind == "elementwise" or _row.gives == "scalar":
        HEADS.setdefault(_row.latex.replace("{{", "{").replace("}}", "}").partition("({0}")[0], _name)
FUNCTIONS = {head: name for head, name in HEADS.items() if head[1:].isalpha() and head[1:] not in GREEK}
FUNCTIONS |= {
    r"\max": "max",
    r"\min": "min",
    r"\arg": "arg",
    r"\Re": "real",
    r"\Im": "imag",
    r"\ln": "log",
    r"\lg": "log10",
    r"\tr": "tr",
    r"\Tr": "tr",
}
_BY_ANOTHER_NAME = (
    "arcsinh arsinh, arccosh arcosh, arctanh artanh, logsoftmax log_softmax, Tr tr, trace tr, sgn sign, ReLU relu, "
    "GELU gelu, SiLU silu, lse logsumexp, LSE logsumexp, Softmax softmax, Det det, ln log, chol cholesky"
)
OPERATORS = {
    head[14:-1]: name for head, name in HEADS.items() if head.startswith(r"\operatorname{") and head[-1] == "}"
}
OPERATORS |= {word: OPERATORS.get(name, name) for word, name in [pair.split() for pair in _BY_ANOTHER_NAME.split(", ")]}
FUNCTION_NAMES = frozenset((*IN_TEXT, *OPERATORS))
INVERSES = {row.inverse: name for name, row in IN_TEXT.items() if row.inverse and not name.startswith("log")}

RELATIONS = {"<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "!=", r"\lt": "<", r"\gt": ">", "==": "=="}
RELATIONS |= {r"\le": "<=", r"\leq": "<=", r"\leqslant": "<=", r"\ge": ">=", r"\geq": ">=", r"\geqslant": ">="}
RELATIONS |= {r"\ne": "!=", r"\neq": "!="}
EQUALS = frozenset(("=", ":=", r"\equiv", r"\coloneqq", r"\triangleq", r"\doteq", r"\leftarrow", r"\gets", r"\coloneq"))
TIMES = frozenset((r"\cdot", r"\times", r"\ast", "*", r"\odot", r"\circ", r"\bullet"))
BY_ENTRIES = frozenset((r"\odot", r"\circ"))
TRANSPOSED = frozenset((r"\top", r"\intercal"))
ADJOINT = frozenset((r"\dagger", "H", "\\mathrm H", "\\operatorname H"))  # above a matrix of complex numbers
STARS = frozenset(("*", r"\ast", r"\star"))
UNITS = frozenset(("\\mathrm i", "\\mathrm j", r"\imath", r"\jmath"))  # the imaginary unit

# What is left out: spacing, sizes of brackets, layout.
IGNORED = _commands(
    "quad qquad thinspace medspace thickspace enspace space hfill displaystyle textstyle scriptstyle nonumber notag "
    "limits nolimits left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr bigm Bigm "
    "negthinspace strut hline centering medskip bigskip smallskip noindent protect relax allowbreak nobreak "
    ", ; : ! > / -"
) | {"\\ "}
WITH_ARGUMENT = _commands("tag tag* label hspace hspace* vspace vspace* phantom hphantom vphantom color")
_LAYOUTS = (
    "equation align aligned alignat alignedat gather gathered split multline multlined eqnarray displaymath math "
    "flalign subequations"
)
LAYOUTS = frozenset(_LAYOUTS.split())
ARRAYS = frozenset(("matrix", "pmatrix", "bmatrix", "vmatrix", "Vmatrix", "Bmatrix", "smallmatrix", "array"))

# What has no meaning here, and what to write.
_SUM = r"Write a sum with \sum_i."
_TWO = "Write two statements, one with + and one with -."
_INNER = "Name the indices: x_i y_i is the inner product."
_EQUATION = "Write = for an equation."
_APART = "Write statements one after the other."
_ARROWS = "to rightarrow longrightarrow leftrightarrow longleftarrow approx simeq cong"
NO_MEANING = {
    r"\int": "There are no integrals in the notation.",
    r"\oint": "There are no integrals in the notation.",
    r"\lim": "There are no limits in the notation.",
    r"\nabla": r"Write the derivative with its index, \frac{\partial f}{\partial x_i}.",
    r"\infty": "A size is finite, and an infinite number is an input.",
    r"\otimes": "Name the indices: x_i y_j is the outer product.",
    r"\oplus": "Write + for a sum.",
    r"\wedge": r"Name the indices, and write the product of vectors with \varepsilon_{ijk}.",
    r"\over": r"Write \frac{a}{b}.",
    r"\div": r"Write \frac{a}{b}.",
    r"\bmod": r"Write \operatorname{mod}(a, b).",
    r"\pmod": r"Write \operatorname{mod}(a, b).",
    r"\cot": r"Write \frac{1}{\tan(x)}.",
    r"\sec": r"Write \frac{1}{\cos(x)}.",
    r"\csc": r"Write \frac{1}{\sin(x)}.",
    r"\coth": r"Write \frac{1}{\tanh(x)}.",
    r"\binom": r"Write it with \log\left|\Gamma(n + 1)\right|.",
    r"\sim": "A text has equations; there are no random variables in it.",
    r"\propto": "Write = with the factor.",
    r"\in": "A text has equations; an index runs over its axis.",
    r"\mapsto": "Write y = … with the expression.",
    r"\forall": "An index that is free holds for all its values already; leave this out.",
    r"\mid": "There are no conditional distributions in the notation; write a name.",
    r"\mathbb{E}": r"Write the mean over an index, \frac{1}{n} \sum_{i=1}^{n} x_i or \operatorname{mean}_i(x_i).",
    r"\mathbb{P}": "Write the density as an expression.",
    r"\mathbb{R}": "A text has equations; sets are not read.",
    r"\mathbb{V}": r"Write \operatorname{var}_i(x_i), over an index.",
    **dict.fromkeys((r"\ldots", r"\cdots", r"\dots", r"\vdots"), _SUM),
    **dict.fromkeys((r"\pm", r"\mp"), _TWO),
    **dict.fromkeys((r"\langle", r"\rangle"), _INNER),
    **dict.fromkeys(("\\" + word for word in _ARROWS.split()), _EQUATION),
    **dict.fromkeys((r"\Rightarrow", r"\implies", r"\iff"), _APART),
    **dict.fromkeys((r"\cap", r"\cup", r"\subset"), "There are no sets in the notation."),
}


def may_be_product(node: syntax.TensorNode, sums: bool) -> bool:
    """Whether a name before a bracket is a factor: one with indices is, and a letter before a sum, but for letters
    that are functions in most books."""
    head = node.name.partition("_")[0]
    if node.indices is not None:
        return sums or head not in LIKE_FUNCTIONS
    return sums and head not in LIKE_FUNCTIONS and (len(head) == 1 or head in GREEK)
