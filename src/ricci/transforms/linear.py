"""``jvp``, ``vjp`` and ``linearize``: derivatives as linear functions, in one or the other direction.

A linear function at a point is wanted many times for one point. So it is computed in two stages: what depends on the
point alone, once; what depends on the direction, each time. Both are expressions, and the cut between them is where an
operand that does not depend on the direction meets one that does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np

from ricci.caches import OfFunctions
from ricci.calculus.gradients import pulled
from ricci.checked_calls import takes
from ricci.compiler.run.engines import target_of
from ricci.dispatch import recorded
from ricci.errors import DTypeError, InputError, ShapeError
from ricci.expr import Expr, Variable, variable, variables
from ricci.markup import Carded, code
from ricci.tracing import frames, trees
from ricci.tracing.basics import checked_dtype, lift
from ricci.tracing.guards import Guards
from ricci.tracing.likeness import like_tensor
from ricci.tracing.meanings import of_torch
from ricci.tracing.recording import ANY_TYPE, Arguments, Recording
from ricci.tracing.trees import Form
from ricci.transforms import nans
from ricci.transforms.conventions import Meaning
from ricci.transforms.deriving import Wanted, along, floats, matched, paired, split, stable
from ricci.transforms.formula_functions import as_function
from ricci.transforms.on_tensors import on_tensors
from ricci.transforms.transformed import ProgramVersion, Transformed, placed
from ricci.transforms.typed import R, X

Axes = Mapping[str, Any] | None
_kept = OfFunctions("transformed functions", 16)


def kept(function: Callable, kind: Hashable, make: Callable[[], Transformed]) -> Transformed:
    """The transformed function of an earlier call, if the same function is transformed again."""
    try:
        return _kept.made(function, kind, make)
    except TypeError:  # not hashable
        return make()


class LinearOptions(TypedDict, total=False):
    """The options of linear functions."""

    fused: bool | None
    mesh: Any
    axes: Axes


def _kind(options: Mapping[str, Any]) -> tuple:
    """What tells options apart."""
    return tuple([(name, value if name == "mesh" else repr(value)) for name, value in sorted(options.items())])


def identity(recording: Recording) -> Recording:
    """The results as they are, and aux beside them where there is one."""
    if recording.aux is None:
        return recording
    return paired(recording, recording.out_form, recording.outputs, recording.out_dtypes)


def _tuple(primals: Any, what: str, word: str) -> tuple:
    if not isinstance(primals, (tuple, list)):
        raise InputError(f"rc.{what} takes the {word} as a tuple, one for each argument: rc.{what}(f, (x,), (v,)).")
    return tuple(primals)


@overload
def jvp(
    function: Callable[..., R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
    *,
    fused: bool | None = None,
    mesh: Any = None,
    axes: Axes = None,
) -> tuple[R, R]: ...
@overload
def jvp(
    function: Callable[..., tuple[R, X]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[True],
    *,
    fused: bool | None = None,
    mesh: Any = None,
    axes: Axes = None,
) -> tuple[R, R, X]: ...
@takes("rc.jvp", function="function", has_aux="flag", fused="flag or None")
def jvp(
    function: Callable,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    *,
    fused: bool | None = None,
    mesh: Any = None,
    axes: Axes = None,
) -> tuple:
    """The value and its derivative along ``tangents``: one for each argument, of its shape.

    ``fused``, ``mesh`` and ``axes`` are as in ``rc.grad``.

    >>> import numpy as np, ricci as rc
    >>> rc.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    function = as_function(function, "jvp")
    primals, tangents = _tuple(primals, "jvp", "primals"), _tuple(tangents, "jvp", "tangents")
    if len(primals) != len(tangents):
        raise InputError(f"rc.jvp: there are {len(primals)} primals and {len(tangents)} tangents; one for each.")
    count = len(primals)
    options: Any = {"fused": fused, "mesh": mesh, "axes": axes}
    more: Any = {"extras": count, "has_aux": has_aux, **options}
    make = lambda: Transformed(function, partial(_pushed, count=count), "jvp", **more)  # noqa: E731
    return kept(function, ("jvp", count, has_aux, *_kind(options)), make)(*primals, *tangents)


def _directions(recording: Recording, count: int, what: str) -> tuple[Wanted, list[Variable]]:
    """All arguments, and as many extra ones of the same forms."""
    wanted = Wanted(recording, tuple(range(recording.positional)), what)
    forms = recording.forms[len(recording.forms) - count :]
    order = trees.order_as(("tuple", count, tuple(forms)), wanted.form)
    if order is None:
        given = trees.describe(("tuple", count, tuple(forms)))
        raise InputError(
            f"rc.{what}: the tangents have the form {given}; the arguments have {trees.describe(wanted.form)}."
        )
    places = [place for group in recording.places[len(recording.places) - count :] for place in group]
    return wanted, matched(recording, [places[k] for k in order], wanted.inputs, what, "tangent", wanted.dtypes)


def _pushed(recording: Recording, count: int) -> Recording:
    ys = stable(floats(recording, "jvp"))
    wanted, dots = _directions(recording, count, "jvp")
    value = (recording.out_form, ys, recording.out_dtypes)
    return paired(recording, recording.out_form, along(ys, wanted.inputs, dots), recording.out_dtypes, value)


class Staged(Transformed):
    """A function whose result is a value and a linear function at the arguments."""

    def __init__(
        self,
        function: Callable,
        what: str,
        backwards: bool,
        has_aux: bool = False,
        turned: bool = False,
        **options: Unpack[LinearOptions],
    ):
        super().__init__(function, identity, what, has_aux=has_aux, **options)
        self.backwards, self.turned = backwards, turned

    def _made(self, recording: Recording, arguments: Arguments, guards: Guards) -> Any:
        ys = stable(floats(recording, self.what))
        wanted = Wanted(recording, tuple(range(recording.positional)), self.what)
        seeds = ys if self.backwards else wanted.inputs
        types = recording.out_dtypes if self.backwards else wanted.dtypes
        moving = [variable(f"along{k}", e.shape, complex=types[k].kind == "c") for k, e in enumerate(seeds)]
        stages = Stages(self, recording, wanted, ys, moving, arguments)
        stages.guards = guards
        return stages


class Stages:
    """The two programs of a linear function for arguments of one kind."""

    guards: Guards

    def __init__(
        self,
        owner: Staged,
        recording: Recording,
        wanted: Wanted,
        ys: list[Expr],
        moving: list[Variable],
        arguments: Arguments,
    ):
        linear = (
            pulled(ys, moving, wanted.inputs, owner.turned) if owner.backwards else along(ys, wanted.inputs, moving)
        )
        constant, stand_ins, linear = split(linear, moving)
        self.recording, self.has_aux, self.what = recording, recording.aux is not None, owner.what
        self.backend = owner.backend or target_of([*arguments.traced, *recording.captured.values()]).name
        names = [recording.axes.get(x.name, ()) for x in wanted.inputs]
        form, like = (recording.out_form, ys) if owner.backwards else (wanted.form, wanted.inputs)
        self.takes: tuple[Form, list[Any], list[bool]] = form, [e.shape for e in like], [v.complex for v in moving]
        aux_form, aux, aux_dtypes = recording.aux or (("none", None, ()), [], [])
        forms = (recording.out_form, aux_form, ("list", len(constant), (trees.LEAF,) * len(constant)))
        own = [ANY_TYPE] * len(constant)
        self.derived = recording.with_outputs(
            ("tuple", 3, forms), [*ys, *aux, *constant], [*recording.out_dtypes, *aux_dtypes, *own]
        )
        self.options = {"options": owner.options, "cut": owner.cut}
        self.first = ProgramVersion(self.derived, recording, self.backend, arguments.traced, **self.options)
        second = replace(
            recording,
            inputs=[*stand_ins, *moving],
            dtypes=[*own, *(recording.out_dtypes if owner.backwards else wanted.dtypes)],
            captured={},
            axes={} if owner.backwards else dict(zip([v.name for v in moving], names, strict=True)),
        )
        form, dtypes = (wanted.form, wanted.dtypes) if owner.backwards else (recording.out_form, recording.out_dtypes)
        self.second = second.with_outputs(form, linear, dtypes)
        self.program: ProgramVersion | None = None  # of the linear function, made when that is first called

    def __getstate__(self) -> dict[str, Any]:
        """What a linear function needs elsewhere, where its program is made anew: the second stage."""
        left = ("first", "derived", "guards")
        kept = {name: value for name, value in vars(self).items() if name not in left}
        second = replace(self.second, lines={}, aux=None)
        return {**kept, "recording": second, "second": second, "program": None}

    def run(self, arrays: Sequence[Any]) -> Any:
        """The value, and the linear function at these arguments."""
        value, aux, held = self.first.run(arrays)
        linear = Linear(self, held, arrays)
        return (value, linear, aux) if self.has_aux else (value, linear)


class Linear(Carded):
    """A derivative at a point, as a function of directions: on arrays, on tensors, and inside functions being traced.

    ``held`` is what it needs to know of the point, and its own: arrays that change later change nothing here.
    ``point`` is there to say where something goes wrong.
    """

    def __init__(self, stages: Stages, held: list[Any], point: Sequence[Any]):
        self.stages, self.held, self.point = stages, held, point
        self.__name__ = f"{stages.what}_of_{stages.recording.name}"

    def __repr__(self) -> str:
        return f"<rc.{self.stages.what} of {self.stages.recording.name}, at a point>"

    def told(self) -> Iterable[tuple[str, str]]:
        """The shapes of the directions that it takes, and of what it gives."""
        recording = self.stages.second
        given = [str(tuple(out.shape)) for out in recording.outputs if isinstance(out, Expr)]
        yield "takes", code(", ".join(str(tuple(shape)) for shape in self.stages.takes[1]))
        yield "gives", code(", ".join(given))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "point": ()}

    def __call__(self, /, *direction: Any) -> Any:
        stages = self.stages
        tree = direction[0] if stages.what == "vjp" and len(direction) == 1 else direction
        moving = checked(tree, *stages.takes, stages.recording.name, stages.what)
        if frames.current() is not None:
            values = dict(zip(stages.second.inputs, [*self.held, *moving], strict=True))
            found = placed(stages.second, {v: lift(values[v]) for v in _used(stages.second)})
            return like_tensor(of_torch(moving), found)
        if recorded(moving):
            return on_tensors(self, stages.what, direction, {})
        arrays = [*self.held, *moving]
        if stages.program is None:
            stages.program = ProgramVersion(stages.second, stages.recording, stages.backend, arrays, **stages.options)
        result = stages.program.run(arrays)
        nans.check(stages.program, arrays, result, self.point)
        return result


def _used(recording: Recording) -> list[Variable]:
    return variables(*[out for out in recording.outputs if isinstance(out, Expr)])


def checked(tree: Any, form: Form, shapes: Sequence[Any], complexes: Sequence[bool], name: str, what: str) -> list[Any]:
    """The leaves of a direction, if it has the form and the shapes wanted."""
    leaves, own = trees.flatten(tree)
    order = trees.order_as(own, form)
    if order is None:
        raise InputError(
            f"rc.{what} of {name}: what comes in has the form {trees.describe(own)}, where {trees.describe(form)} is "
            "needed."
        )
    leaves = [leaves[k] for k in order]
    for leaf, shape, may in zip(leaves, shapes, complexes, strict=True):
        if np.shape(leaf) != shape:
            raise ShapeError(f"rc.{what} of {name}: what comes in has the shape {np.shape(leaf)}, not {shape}.")
        found = checked_dtype(leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype)
        if found.kind == "c" and not may:
            raise DTypeError(f"rc.{what} of {name}: what comes in is {found}, where numbers are real; write x.real.")
        if hasattr(leaf, "dtype") and found.kind not in "fc":
            raise DTypeError(f"rc.{what} of {name}: what comes in is {leaf.dtype}; write it as floating numbers.")
    return [leaf if hasattr(leaf, "dtype") else np.asarray(leaf, _type_of(leaf)) for leaf in leaves]


def _type_of(number: Any) -> np.dtype:
    return np.result_type(np.asarray(number).dtype, np.float64)


def _at_once(args: tuple) -> bool:
    """Whether the arguments are arrays, so that programs can be run at once."""
    leaves = trees.flatten(args)[0]
    return not recorded(leaves)


@overload
def vjp(
    function: Callable[..., R],
    *primals: Any,
    has_aux: Literal[False] = False,
    convention: str = "jax",
    **options: Unpack[LinearOptions],
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...
@overload
def vjp(
    function: Callable[..., tuple[R, X]],
    *primals: Any,
    has_aux: Literal[True],
    convention: str = "jax",
    **options: Unpack[LinearOptions],
) -> tuple[R, Callable[[Any], tuple[Any, ...]], X]: ...
@takes("rc.vjp", function="function", has_aux="flag")
def vjp(
    function: Callable, *primals: Any, has_aux: bool = False, convention: str = "jax", **options: Unpack[LinearOptions]
) -> tuple:
    """The value, and a function from gradients by the results to gradients by the arguments.

    ``fused``, ``mesh`` and ``axes`` are as in ``rc.grad``, and ``convention``, which is that of both gradients.

    >>> import numpy as np, ricci as rc
    >>> y, back = rc.vjp(lambda x, w: x * w, np.array([1.0, 2.0]), 3.0)
    >>> back(np.array([1.0, 10.0]))
    (array([ 3., 30.]), np.float64(21.0))
    """
    function = as_function(function, "vjp")
    turned = Meaning.of("vjp", {"convention": convention}).turned
    if _at_once(primals):
        make = lambda: Staged(function, "vjp", True, has_aux, turned, **options)  # noqa: E731
        return kept(function, ("vjp", has_aux, turned, *_kind(options)), make)(*primals)
    value = Transformed(function, identity, "vjp", has_aux=has_aux, **options)(*primals)
    back = Transformed(function, partial(_back, turned=turned), "vjp", extras=1, has_aux=has_aux, **options)
    linear = partial(back, *primals)
    return (value[0], linear, value[1]) if has_aux else (value, linear)


def _back(recording: Recording, turned: bool) -> Recording:
    ys = stable(floats(recording, "vjp"))
    wanted = Wanted(recording, tuple(range(recording.positional)), "vjp")
    order = trees.order_as(recording.forms[-1], recording.out_form)
    if order is None:
        raise InputError(
            f"rc.vjp of {recording.name}: what comes in has the form {trees.describe(recording.forms[-1])}, where "
            f"{trees.describe(recording.out_form)} is needed."
        )
    places = [recording.places[-1][k] for k in order]
    bars = matched(recording, places, ys, "vjp", "gradient", recording.out_dtypes)
    return recording.with_outputs(wanted.form, pulled(ys, bars, wanted.inputs, turned), wanted.dtypes)


@overload
def linearize(
    function: Callable[..., R], *primals: Any, has_aux: Literal[False] = False, **options: Unpack[LinearOptions]
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    function: Callable[..., tuple[R, X]], *primals: Any, has_aux: Literal[True], **options: Unpack[LinearOptions]
) -> tuple[R, Callable[..., R], X]: ...
@takes("rc.linearize", function="function", has_aux="flag")
def linearize(function: Callable, *primals: Any, has_aux: bool = False, **options: Unpack[LinearOptions]) -> tuple:
    """The value, and the derivative as a function of directions, one for each argument.

    ``fused``, ``mesh`` and ``axes`` are as in ``rc.grad``.

    >>> import numpy as np, ricci as rc
    >>> y, along = rc.linearize(lambda x: np.sin(x).sum(), np.zeros(3))
    >>> along(np.array([1.0, 2.0, 3.0]))
    np.float64(6.0)
    """
    function = as_function(function, "linearize")
    if _at_once(primals):
        make = lambda: Staged(function, "linearize", False, has_aux, **options)  # noqa: E731
        return kept(function, ("linearize", has_aux, *_kind(options)), make)(*primals)
    value = Transformed(function, identity, "linearize", has_aux=has_aux, **options)(*primals)
    linear = partial(_tangent, function, primals, has_aux, options)
    return (value[0], linear, value[1]) if has_aux else (value, linear)


def _tangent(function: Callable, primals: tuple, has_aux: bool, options: Any, /, *tangents: Any) -> Any:
    return jvp(function, primals, tangents, has_aux, **options)[1]
