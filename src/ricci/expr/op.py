"""The row of a function: all that ricci knows of it, in one place.

Everything else asks here: the notation which names there are, the printers how they are written, the calculus what the
derivatives are, the rules what values can be, the compiler what each library calls the function, tracing which calls
of NumPy, SciPy, PyTorch and JAX are it, the tests where it can be compared. A row names functions of libraries by
text, since none of them may be imported here; what a library's own function cannot do is an exception, which the
table of that backend has.

A row builds its node when it is called. One that is ``short`` for other nodes builds those instead. Rows with a
``help`` are the functions that users may write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ricci.expr.nodes import Expr, Shape

ROWS: dict[str, Op] = {}  # by name, all of them
OPS: dict[str, Op] = {}  # those that nodes have


@dataclass(frozen=True)
class Change:
    """A local derivative in steps: of the operands, the result, the parameters and a change of one operand.

    It builds the change of the result, in the first order: an expression that is linear in the given one. So it can be
    gone through in both directions, and nothing larger than operands and result is made on the way.
    """

    rule: Callable[[tuple, Expr, tuple, Expr], Expr]

    def __call__(self, operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
        return self.rule(operands, y, params, change)


@dataclass(frozen=True)
class Adjoint:
    """The function is linear in this operand, its last, which may carry further axes: it is its own derivative.

    What it builds, of the operands before it, of what is pulled back (the axes of the result, then any further ones)
    and of the parameters, is the pullback.
    """

    build: Callable[[tuple, Expr, tuple], Expr]

    def __call__(self, operands: tuple, bar: Expr, params: tuple) -> Expr:
        return self.build(operands, bar, params)


@dataclass(eq=False, frozen=True)
class Op:
    """A row of the tables of functions.

    ``value`` computes it on Python numbers (elementwise), or on nested lists of them (functions over axes): slow,
    plain and independent of NumPy. ``partials`` has one entry for each operand: a function of the operands, the result
    and the parameters that builds the local derivative; ``None`` where the derivative is zero almost everywhere; or a
    text that says why there is none. Elementwise, the derivative has the shape of the result; over axes, it has the
    common axes, then the result's own, then those of the operand.

    Where that would be larger than operand and result, the entry is a :class:`Change`, or :class:`Adjoint`.

    ``kind`` says how a function treats indices, and how the row is called:

    - ``elementwise``: ``f(*operands)``, operands of one shape or scalars;
    - ``reduce``: ``f(x, axes)``, the axes at these positions go, the others keep their order;
    - ``keep``: ``f(x, axes)``, all axes stay;
    - ``matrix``: ``f(x, (row, column))``. By ``gives``: ``scalar``, both axes go; ``matrix``, both stay in place;
      ``vector``, the row stays; ``solve``, called as ``f(a, b, a_labels, b_labels, row, column, out)``.
    """

    name: str
    arity: int
    value: Callable[..., Any]
    partials: tuple[Any, ...]  # of functions, Change, Adjoint, words or None
    kind: str = "elementwise"
    gives: str = ""
    maker: Callable[..., Expr] | None = None  # of the row and what it is called with
    short: Callable[..., Expr] | None = None  # of that alone
    # what people read
    help: str = ""
    operands: str = ""  # their names, with commas
    note: str = ""
    latex: str = ""
    method: bool = True  # of formulas and arrays
    sign: str = ""  # what stands between the two operands, in Python and in equations
    # what holds for all real numbers, and keeps NaN
    symmetric: bool = False
    rewrite: Callable[..., Expr | None] | None = None
    points: dict = field(default_factory=dict)
    means: Callable[..., Any] | None = None  # what it is, by few other rows, exactly: as ``by``, for proofs
    parity: str = ""  # "odd" or "even"
    inverse: str = ""  # the function that it is the inverse of, where it is defined
    rising: bool = False  # the larger the operand, the larger the value
    domain: str = ""  # where it is defined, if not everywhere
    range: tuple[float, float] = (float("-inf"), float("inf"))  # between which all values are that are not NaN
    keeps_sign: str = ""  # not negative if "all" operands are not, or "any", or the "last", or the "branches"
    periodic: bool = False  # the operand is an angle
    # what its values are
    type: str = "floating"  # "same" as that of the operands, a "truth", a "place", or that of the "branches"
    whole: str = ""  # whole numbers "always", or "kept" where the operands are
    identity: bool = False  # the operand itself
    # of complex operands: "" there is none; the result is "kept" complex, or "real", or complex "always"
    complex: str = ""
    # the derivatives by a complex operand and by its conjugate, where the row's own, which is that of a holomorphic
    # function, does not hold; of a real function the first, since the second is the conjugate of that
    wirtinger: tuple[Any, ...] = ()
    conjugate: Callable[..., Expr | None] | None = None  # of the function, where it is not that of the conjugates
    opaque: bool = False  # that is not told by the conjugates of the operands either
    choice: str = ""  # "compares" operands, whose numbers must be those of all their uses; or "selects" one
    grows: bool = False  # integers may become too large for their type
    # where random operands are neither singular nor large; the operands of jumps must be exact
    tame: tuple[tuple[float, float], ...] = ()  # an interval for each operand
    # what computes it: of the libraries, the paths of functions, and for all that have none a definition
    by: Callable[..., Any] | None = None  # of a namespace with the rows, and operands with operators
    numpy: str = ""
    scipy: str = ""  # within scipy.special
    torch: str = ""
    jax: str = ""
    numba: str = ""  # the name in a kernel, or a text with the operands; "math.…" is the C library's
    c: bool = False  # the C library has it, by its own name
    cost: float = 10.0  # in a kernel: of arithmetic it is 1
    # further names under which it is met when a function is traced: "np.fabs", "aten.sgn", "lax.logistic"
    traced: tuple[str, ...] = ()
    # over axes only: how many axes of each operand it works on, and the shape of the result on them
    works_on: tuple[int, ...] = ()
    result: Callable[..., Shape] | None = None
    columns: bool = False  # the last operand carries further axes, their number being the first parameter, if any
    rectangular: bool = False  # of matrices: rows and columns may differ in number
    nonempty: bool = False  # over an axis of size 0 there is none
    signless: bool = False  # columns come with either sign
    # made in this process, for one function of the user's, and in no table:
    body: Callable[..., Expr] | None = None  # of other nodes, which take its place before anything is computed
    outside: Any = None  # or of code that only runs; see ``compiler/outside.py``
    later: bool = False  # or not known before sizes are; then ``rewrite`` gives what takes its place
    loop: Any = None  # or of a step that is repeated; see ``ricci.loops``
    branches: Any = None  # or of several, of which one is computed; see there
    unknown: Any = None  # or of nothing, before a call says what it is; see ``functions/unknown.py``
    derived: Any = None  # the name, and what it is differentiated by, where a text gives it: as for unknown ones
    head: str = ""  # what rules and keys know it by, where that is not its name
    widen: Callable[..., Expr] | None = (
        None  # with a further axis in front, where it is not in parallel over leading ones
    )
    resize: Callable[..., Expr] | None = None  # a node with other operands and sizes, where the function holds some
    again: Callable[[], tuple | None] | None = None  # gives what makes it in another process, and of what

    @property
    def own(self) -> bool:
        """Whether it was made in this process, for one function of the user's, and is in no table."""
        return (
            self.body is not None
            or self.outside is not None
            or self.later
            or self.loop is not None
            or self.branches is not None
            or self.unknown is not None
        )

    def gives_complex(self, among: bool) -> bool:
        """Whether the result is complex, where there are complex numbers ``among`` the operands, or are not."""
        return self.complex == "always" or (among and self.complex != "real")

    def axes_of(self, params: tuple) -> tuple[int, ...]:
        """How many axes of each operand the function works on."""
        further = params[0] if self.columns and params else 0
        return (*self.works_on[:-1], self.works_on[-1] + further)

    def __call__(self, *args: Any, **more: Any) -> Expr:
        """The expression, by the kind of the row."""
        if self.short is not None:
            return self.short(*args, **more)
        assert self.maker is not None
        return self.maker(self, *args, **more)

    def __repr__(self) -> str:
        return f"op:{self.name}"

    def __reduce__(self):
        if not self.own:
            return find_op, (self.name,)
        made = None if self.again is None else self.again()
        if made is None:
            raise TypeError(f"The function {self.name} was made in this process, so expressions with it stay in it.")
        return made

    def __post_init__(self):
        if not self.head:
            object.__setattr__(self, "head", self.name)
        if self.own:
            return
        if self.name in ROWS:
            raise ValueError(f"There are two functions named {self.name!r}.")
        ROWS[self.name] = self
        if self.short is None:
            OPS[self.name] = self


def find_op(name: str) -> Op:
    return OPS[name]
