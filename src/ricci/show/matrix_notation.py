r"""Core expressions in matrix notation: ``Xᵀ diag(s) X``, ``tr(A B)``, ``I ⊗ Vᵀ V``, as text or LaTeX.

Conventions. Vectors are columns, and ``1`` is a vector of ones as long as it has to be. ``diag`` makes a matrix of a
vector and a vector of a matrix. Functions entry by entry have a dot, ``exp.(A)`` and ``\exp^{\odot}(A)``, since
``exp(A)`` would be the matrix exponential; powers likewise, ``A^{⊙2}``; of scalars both are plain, and ``A²`` is
``A A``. ``⊙`` and ``⊘`` multiply and divide entry by entry, ``/`` divides by a scalar, ``[x > 0]`` is 1 where that
holds. Functions along one axis of a matrix say which vectors they take: ``softmax_row(A)``, ``max_col(A)``,
``norm_row(A)``. ``‖x‖₁`` is the sum of absolute values.

Results with three axes and more are matrices whose rows are the first of them and whose columns are the others, both in
row-major order. With four axes (i,k,j,l) the rows are (i,k): ``A[i,j] B[k,l]`` is ``A ⊗ B``, ``A[i,k] B[j,l]`` is
``vec(A) vec(B)ᵀ``, and ``K vec(A) = vec(Aᵀ)``. Otherwise the columns are those of what a derivative is by, as in a
Jacobian; where there is none, the smaller half. Each row of ``A • B`` is the Kronecker product of two rows,
``A[b,i] B[b,j]``. Products without a sign bind closer than ``⊗`` and ``•``; beside ``⊙`` and ``⊘`` they are in
brackets, and so are ``⊗`` and ``•`` beside one another.

Of equal forms the shortest is taken, then the one with fewer transposes; order and signs are the author's, as far as
``authors.py`` can tell. ``networks.py`` reduces products to chains, ``unfolding.py`` says what is left with several
indices a side.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Hashable, Sequence

from ricci.budget import spend
from ricci.errors import RuleError
from ricci.expr import (
    CONJ,
    OPS,
    POWER,
    Constant,
    Elementwise,
    Expr,
    Function,
    Op,
    Product,
    Structure,
    Sum,
    Variable,
    conj,
    numeric,
    topological,
)
from ricci.expr.alternating import is_levi_civita
from ricci.expr.build.conjugates import MOST_COUNTED, imaginary
from ricci.expr.structures import is_delta, is_hermitian
from ricci.notation.context import Facts
from ricci.show import latex as in_latex
from ricci.show import matrix_text, words
from ricci.show import text as in_text
from ricci.show.authors import NOBODY, Author
from ricci.show.express import program
from ricci.show.fitting import in_notebook
from ricci.show.matrix_products import MOVES, ProductWords
from ricci.show.words import MatrixWord

Labels = Sequence[Hashable]
Factors = list[tuple[Expr, tuple]]
MOST_TERMS = 32  # of sums that are multiplied out
LONGEST = 60  # letters of a part that a message shows
# Functions whose LaTeX is letters that could be multiplied here, or a power: rc.matrix could not read it.
UNREAD = {"lgamma", "digamma", "polygamma", "log_ndtr", "ndtri", "erfinv", "eigvalsh", "svdvals", "slogdet_sign"}
UNREAD |= {"any", "all", "prod"}
DEEPEST, LARGEST = 100, 2000  # levels, and nodes as a tree
_ACCENTS = {"bar": "\u0304", "dot": "\u0307", "hat": "\u0302", "tilde": "\u0303"}
_COMPARE = {"<": ("<", "<"), "<=": ("≤", r"\le"), "==": ("=", "="), "!=": ("≠", r"\ne")}
_FLIPPED = {"<": ">", "≤": "≥", r"\le": r"\ge"}


class MatrixForm(str):
    """A formula in matrix notation: text, which notebooks show set in type. The LaTeX is made when they ask for it."""

    _latex: str | Callable[[], str]
    __slots__ = ("_latex",)

    def __new__(cls, text: str, latex: str | Callable[[], str]):
        made = super().__new__(cls, text)
        made._latex = latex
        return made

    def _written(self) -> str:
        return self._latex if isinstance(self._latex, str) else self._latex()

    def __reduce__(self):
        return type(self), (str(self), self._written())

    def _repr_latex_(self) -> str:
        return in_notebook(self._written())


def to_matrix(
    expr: Expr,
    facts: Facts,
    latex: bool = False,
    indices: Sequence[str] = (),
    columns: int | None = None,
    author: Author = NOBODY,
) -> str:
    """``expr`` in matrix notation; a :class:`RuleError` says why where there is none.

    Of a result with three indices and more, the last ``columns`` are those of the columns.
    """
    _check_size(expr)
    writer = _Writer(expr, facts, latex, indices, author)
    for node in topological(expr):
        if node.order <= 2:  # others are asked for where they are multiplied out
            writer.learn(node)
    if columns is None:
        columns = expr.order // 2
    word = writer.of(expr) if expr.order <= 2 else writer.unfolded(expr, tuple(range(expr.order)), columns)
    word = words.unbracketed(word)
    _check_names(word)
    return matrix_text.render(word, matrix_text.SUM, latex)


def _check_names(word: MatrixWord) -> None:
    """``I`` and ``K`` have a meaning here, so they cannot be names of variables beside it."""
    kinds, names, waiting = set(), set(), [word]
    while waiting:
        w = waiting.pop()
        kinds.add(w.kind)
        names.add(w.data if w.kind == "text" else None)
        waiting += w.args
    for kind, name in (("identity", "I"), ("commutation", "K")):
        if kind in kinds and name in names:
            words.refuse(f"{name!r} is a variable in it, and would also have to stand for the {kind} matrix")


def _check_size(root: Expr) -> None:
    depth: dict[Expr, int] = {}
    size: dict[Expr, int] = {}
    for node in topological(root):
        depth[node] = 1 + max((depth[a] for a in node.args), default=0)
        size[node] = min(1 + sum(size[a] for a in node.args), LARGEST + 1)
    if depth[root] > DEEPEST:
        words.refuse(f"it is {depth[root]} levels deep, and {DEEPEST} is the most for one line")
    if size[root] > LARGEST:
        words.refuse(f"it has more than {LARGEST} parts when written out, too many for one line")


# From expressions to words.


class _Writer(ProductWords):
    def __init__(self, root: Expr, facts: Facts, latex: bool, indices: Sequence[str], author: Author):
        super().__init__(root, facts, indices, author)
        self.latex = latex
        self.place = {name: position for position, name in enumerate(facts.inputs)}
        self.known: dict[Expr, MatrixWord | RuleError] = {}

    def learn(self, e: Expr) -> None:
        """The word for ``e``, whose operands are known; or why there is none, should anyone ask."""
        try:
            self.known[e] = words.conjugate(self.word(conj(e))) if self.is_of_conjugates(e) else self.word(e)
        except RuleError as error:
            self.known[e] = error

    @staticmethod
    def is_of_conjugates(e: Expr) -> bool:
        """Whether a sum or a function has conjugates of inputs alone, and several: it is said by its conjugate."""
        if not e.complex or isinstance(e, (Constant, Product, Variable)) or (isinstance(e, Sum) and len(e.args) == 1):
            return False
        seen, waiting, found = {e}, [e], 0
        while waiting and len(seen) < MOST_COUNTED:
            node = waiting.pop()
            if isinstance(node, Elementwise) and node.op is CONJ:
                found += 1
            elif isinstance(node, Variable):
                return False
            else:
                new = [a for a in node.args if a.complex and a not in seen]
                waiting += new
                seen.update(new)
        return not waiting and found > 1

    def of(self, e: Expr) -> MatrixWord:
        if e not in self.known:
            self.learn(e)
        found = self.known[e]
        if isinstance(found, RuleError):
            raise found.with_traceback(None)
        return found

    def word(self, e: Expr) -> MatrixWord:
        spend()
        if e.order > 2:
            self.refuse_order(e)
        rules: dict[type, Callable[..., MatrixWord]] = {
            Variable: self.variable,
            Constant: self.constant,
            Structure: self.structure,
            Product: self.product,
            Sum: self.sum,
            Elementwise: self.elementwise,
            Function: self.function,
        }
        return rules[type(e)](e)

    def variable(self, e: Variable) -> MatrixWord:
        head, _, tail = e.name.partition("_")
        accent = unicodedata.normalize("NFC", head + _ACCENTS[tail]) if len(head) == 1 and tail in _ACCENTS else e.name
        first = ((self.place.get(e.name, len(self.place)), e.name),)
        shown = in_latex.symbol(e.name) if self.latex else accent
        mirror = {"symmetric": 1, "positive": 1, "antisymmetric": -1}.get(e.symmetry or "", 0)
        mirror = 0 if is_hermitian(e) else mirror
        return MatrixWord("text", (), shown, e.order, first, mirror=mirror, leads=e.name in self.author.leading)

    def constant(self, e: Constant) -> MatrixWord:
        value = numeric(e)
        if imaginary(e):
            return MatrixWord("size", data="1j")
        if value is not None:
            return words.plus([(value, words.UNIT)], 0) if value < 0 else words.number_word(value)
        render = in_latex if self.latex else in_text
        spelled = render.render(program(e, tuple("ij"[: e.order]), self.facts, None).statements[-1].body, 2)
        if is_levi_civita(e):
            words.refuse("the symbol eps is no matrix of its own")
        if e.order:
            spelled = f"array_{e.value.digest[:6]}"
        return MatrixWord("text" if e.order or e.value == "pi" else "size", data=spelled, order=e.order)

    def structure(self, e: Structure) -> MatrixWord:
        kind = e.relation[0]
        if kind == "zero":
            return MatrixWord("zeros", order=e.order)
        ones = words.ONES if e.order == 1 else words.times([words.ONES, words.flip(words.ONES)], 2)
        if kind == "one":
            return ones
        if is_delta(e):
            return words.IDENTITY
        if kind == ">=" and set(e.relation[1]) == {1, -1} and e.relation[2] == 0:
            lower = words.make_word("triangle", [ones], 2)
            return lower if e.relation[1][0] == 1 else words.flip(lower)
        return words.refuse(f"{MOVES}: {self.named(e)}")

    def elementwise(self, e: Elementwise, of: Callable[[Expr], MatrixWord] | None = None) -> MatrixWord:
        args = [(of or self.of)(a) for a in e.args]
        name, order = e.op.name, min(e.order, 2)
        if e.op is POWER:
            value = numeric(e.args[1])
            if value is None or value > 0:
                return words.power_word(args[0], args[1], value)
            below = args[0] if value == -1 else words.power_word(args[0], words.number_word(-value), -value)
            return words.signed([(-1, below)], order) if order else words.scaled([(-1, below)], None)
        if e.op is CONJ:
            return words.conjugate(args[0])
        if name == "abs2":
            size = words.ABSOLUTE[self.latex] if order else _in_latex(OPS["abs"]) if self.latex else "abs({})"
            return words.size_of(args[0], size)
        if e.op.sign in _COMPARE:
            sign = _COMPARE[e.op.sign][self.latex]
            if not args[0].order and args[1].order:
                sign, args = _FLIPPED.get(sign, sign), args[::-1]
            return words.make_word("compare", args, order, sign)
        if name == "where" and args[0].kind == "compare" and [numeric(a) for a in e.args[1:]] == [1, 0]:
            return args[0]
        sign = 1
        if e.op.parity:
            sign, arg = words.positive(args[0])
            sign, args = sign if e.op.parity == "odd" else 1, [arg]
        if self.latex:
            head = _entrywise(e) if order else _in_latex(e.op)
        else:
            head = f"{name}.({{}})" if order else f"{name}({{}})"
        return words.plus([(sign, words.make_word("call", args, order, head))], order)

    def function(self, e: Function) -> MatrixWord:
        if e.op.loop is not None:
            words.refuse("a part of it is a recurrence, whose entries are computed step by step")
        if e.op.branches is not None:
            words.refuse("a part of it is a choice between branches of a program")
        args = [self.of(a) for a in e.args]
        name, lead = e.op.name, e.args[0].order - e.op.axes_of(e.params)[0]
        if name in ("det", "logdet", "inv"):
            best = min(args[0], words.flip(args[0]), key=lambda w: w.flips)
            return words.inverse_of(args[0]) if name == "inv" else words.make_word(name, [best], 0)
        if name in ("solve", "triangular_solve"):
            return words.times([self.inverse_of(name, args[0], e), args[1]], e.order)
        if not lead:
            head = e.op.latex.replace("_{{{axes}}}", "") if self.latex and name not in UNREAD else ""
            head = head if self.latex else f"{name}({{}})"
            return words.make_word("function", args, e.order, head or _upright(name))
        return self.along(e, args[0])

    def along(self, e: Function, arg: MatrixWord) -> MatrixWord:
        """A function of each row, or of each column where that has fewer transposes."""
        name, order = e.op.name, min(e.order, 2)
        head = (_upright(name) if self.latex else f"{name}({{}})").replace(
            *((r"\left(", r"_{{\mathrm{{%s}}}}\left(") if self.latex else ("(", "_%s("))
        )
        flipped = words.flip(arg)
        by_column = flipped.flips < arg.flips
        word = words.make_word("column" if by_column else "row", [flipped if by_column else arg], order, head)
        return words.make_word("transpose", [word], 2) if by_column and order == 2 else word

    @staticmethod
    def inverse_of(name: str, matrix: MatrixWord, e: Function) -> MatrixWord:
        if name == "solve":
            return words.inverse_of(matrix)
        _, lower, transposed = e.params
        made_lower = e.args[0].args and isinstance(e.args[0], Function) and e.args[0].op.name == "cholesky"
        if not (made_lower and lower):
            matrix = (
                words.make_word("triangle", [matrix], 2)
                if lower
                else words.flip(words.make_word("triangle", [words.flip(matrix)], 2))
            )
        return words.flip(words.inverse_of(matrix)) if transposed else words.inverse_of(matrix)


def _upright(name: str) -> str:
    """A template for a function without a sign of its own."""
    escaped = name.replace("_", r"\_")
    return rf"\operatorname{{{{{escaped}}}}}\left({{}}\right)"


def _in_latex(op: Op) -> str:
    """A template for an elementwise function."""
    if not op.own:
        return (op.name not in UNREAD and op.latex) or _upright(op.name)
    return rf"{_own_head(op)}\left({{}}\right)"


def _own_head(op: Op) -> str:
    """A function of the user's, or a derivative of one, as part of a template."""
    unknown = op.unknown
    name, places = (op.name, ()) if unknown is None else (unknown.name, unknown.places)
    return in_latex.function_head(name, places, op.arity).replace("{", "{{").replace("}", "}}")


def _entrywise(e: Elementwise) -> str:
    r"""``\exp^{\odot}\left(…\right)``."""
    if e.op.own:
        head = _own_head(e.op)
        scripts = e.op.unknown is not None and e.op.unknown.places
        return (f"{{{{{head}}}}}" if scripts else head) + r"^{{\odot}}\left({}\right)"
    plain = e.op.latex.endswith("({0})") and e.op.name not in UNREAD
    template = e.op.latex if plain else _upright(e.op.name).replace(r"\left({}\right)", "({0})")
    return template.removesuffix("({0})") + r"^{{\odot}}\left({}\right)"
