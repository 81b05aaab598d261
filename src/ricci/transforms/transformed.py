"""A transformed function: traced, derived and compiled when it is first called with arguments of a kind.

A transform is a function from recordings to recordings (``deriving.py``): it has the arguments of the function and
other results. What happens to a call depends on the arguments alone:

- arrays: the program for arguments of this form, these shapes and types is looked up, or made and kept;
- inside a function that is being traced, the results are expressions: the function is recorded with fresh variables,
  derived, and the arguments put in their place. So transforms nest in any order;
- eager tensors: the same, recorded as one operation of the tensor's graph.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, overload

import numpy as np

from ricci.caches import Cache
from ricci.checked_calls import check, is_whole, shown
from ricci.compiler.blocks.block_inputs import BlockOptions, check_blocks, read_blocks
from ricci.compiler.blocks.chunked import blocked
from ricci.compiler.compressed.result import CompressedFunction, known_format
from ricci.compiler.pipeline import prepare
from ricci.compiler.run.engines import target_named, target_of
from ricci.compiler.run.function import Compiled
from ricci.compiler.run.matrix_faults import explained
from ricci.dispatch import public, recorded
from ricci.errors import DTypeError, InputError, RicciError, nearest
from ricci.expr import Elementwise, Expr, Function, Structure, Variable, rebuild
from ricci.kinds import kind_of
from ricci.markup import code
from ricci.notation.context import Facts
from ricci.standalone.kept_code import KeptCode
from ricci.tracing import frames, trees
from ricci.tracing.array import Traced
from ricci.tracing.basics import complex_type, lift, numpy_dtype, real_type
from ricci.tracing.guards import Guards
from ricci.tracing.impure import unwatched
from ricci.tracing.likeness import like_tensor
from ricci.tracing.meanings import of_torch
from ricci.tracing.reach import Reach
from ricci.tracing.recording import ANY_TYPE, Arguments, Recording, Static, carried, check_apart, names_of, record
from ricci.tracing.watched import observed
from ricci.transforms import nans
from ricci.transforms.axes_named import AxesNamed
from ricci.transforms.formula_functions import as_function
from ricci.transforms.on_tensors import on_tensors
from ricci.transforms.typed import AnyArray, ArrayT, Blocks, P, R_co, ResultT
from ricci.transforms.unfinished import BOUNDS, StepBounds, Unfinished, with_more_room
from ricci.within import within
from ricci.wrapping import MadeOf

if TYPE_CHECKING:
    from ricci.compiler.mesh.mesh_costs import MeshCosts

MOST_PROGRAMS = 256
_OPTIONS = ("argnums", "has_aux", "static_argnums", "static_argnames", "backend", "fused", "roll", "mesh", "axes")
_OPTIONS += ("blocks", "memory", "progress", "threads")
COMPILER_OPTIONS = ("jit",)  # of all transforms: how programs are compiled further
MATRICES = ("jacobian", "jacfwd", "jacrev", "hessian")
Derive = Callable[[Recording], Recording]


class Transformed(MadeOf, Generic[P, R_co]):
    """A function of arrays, made of another one."""

    def __init__(
        self,
        function: Callable,
        derive: Derive,
        what: str,
        *,
        static_argnums: int | Sequence[int] = (),
        static_argnames: str | Sequence[str] = (),
        backend: str | None = None,
        extras: int = 0,
        has_aux: bool = False,
        compressed: bool = False,
        sparse: bool | str = False,
        argnums: Any = None,
        fused: bool | None = None,
        roll: bool = True,
        mesh: Any = None,
        axes: Any = None,
        blocks: Any = None,
        memory: Any = None,
        progress: Any = False,
        threads: int | None = None,
        options: Mapping[str, Any] | None = None,
        **unknown: Any,
    ):
        chosen = {name: unknown.pop(name) for name in COMPILER_OPTIONS if name in unknown}
        if unknown:
            known = ", ".join([*_OPTIONS, *COMPILER_OPTIONS])
            raise InputError(f"rc.{what} has no option {next(iter(unknown))!r}; options of transforms are {known}.")
        check(f"rc.{what}", "function", function, "function")
        for name, value, kind in (
            ("static_argnums", static_argnums, "places"),
            ("static_argnames", static_argnames, "names"),
            ("fused", fused, "flag or None"),
            ("roll", roll, "flag"),
            ("jit", chosen.get("jit"), "flag or None"),
            ("compressed", compressed, "flag"),
            ("sparse", sparse, "text" if isinstance(sparse, str) else "flag"),
        ):
            check(f"rc.{what}", name, value, kind)
        if sparse and what not in MATRICES:
            raise InputError(f"rc.{what} makes no matrices, so its results are not sparse; rc.{MATRICES[0]} does.")
        if isinstance(sparse, str):
            known_format(f"rc.{what}(sparse={sparse!r})", sparse)
        function = as_function(function, what, argnums)
        super().__init__(function)
        self.derive, self.what, self.argnums = derive, what, argnums
        nums: Any = (static_argnums,) if is_whole(static_argnums) else static_argnums
        self.static_argnums = frozenset(map(int, nums))
        names = (static_argnames,) if isinstance(static_argnames, str) else static_argnames
        self.static_argnames = frozenset(names)
        if nums or names:
            check_static(function, what, self.static_argnums, self.static_argnames)
        self.backend = backend if backend in (None, "dask") else target_named(backend).name
        self.extras, self.has_aux, self.compressed, self.roll = extras, has_aux, compressed or bool(sparse), roll
        self.sparse = "csr" if sparse is True else sparse or None
        given = {**(options or {}), **chosen}
        given = {name: value for name, value in given.items() if value is not None}
        self.options = tuple(sorted({"fused": fused, **given}.items()))
        self.blocks = self._blocks(blocks, memory, progress, threads, mesh)
        self.cut = self._cut(mesh, axes, given.get("jit"))
        self.bounds: tuple[int, ...] = ()  # of loops that end by themselves
        self.forget()

    def _cut(self, mesh: Any, axes: Any, jit: bool | None) -> AxesNamed | None:
        """What is said of the axes of arguments, and where they lie."""
        if mesh is None and axes is None:
            return None
        if mesh is not None and self.sparse:
            raise InputError(f"rc.{self.what}: sparse= makes arrays of SciPy, on the host; drop mesh= or sparse=.")
        made = AxesNamed(f"rc.{self.what}", mesh, axes, self.backend, jit)
        self.backend = self.backend if mesh is None else "jax"
        return made

    def _blocks(self, blocks: Any, memory: Any, progress: Any, threads: int | None, mesh: Any) -> BlockOptions | None:
        """How programs are cut into blocks, if they are."""
        if blocks is None and memory is None and not progress and threads is None and self.backend != "dask":
            return None
        check_blocks(self.backend, compressed=self.compressed, mesh=mesh)
        return read_blocks(blocks, memory, progress, threads)

    def forget(self) -> None:
        """Nothing is known of earlier calls."""
        self._programs = Cache("programs of transformed functions", MOST_PROGRAMS)
        self._direct = Cache("calls of transformed functions", MOST_PROGRAMS)  # by types of arrays alone

    def __repr__(self) -> str:
        return f"<rc.{self.what} of {getattr(self.function, '__name__', self.function)}>"

    def told(self) -> Iterable[tuple[str, str]]:
        yield from super().told()
        chosen = [
            f"{name}={value!r}" for name, value in (("backend", self.backend), *self.options) if value is not None
        ]
        yield "by", "" if self.argnums is None else code(f"argnums={self.argnums!r}")
        yield "options", code(", ".join(chosen)) if chosen else ""
        count = len(self._programs.all())
        yield "programs", f"for {count} kind{'s' * (count != 1)} of arguments" if count else ""

    @overload
    def __call__(
        self: Transformed[P, Blocks[np.ndarray, AnyArray | float]], /, *args: P.args, **kwargs: P.kwargs
    ) -> np.ndarray: ...
    @overload
    def __call__(
        self: Transformed[P, Blocks[ArrayT, AnyArray | float]], /, *args: P.args, **kwargs: P.kwargs
    ) -> ArrayT: ...
    @overload
    def __call__(self: Transformed[P, Blocks[float, ResultT]], /, *args: P.args, **kwargs: P.kwargs) -> ResultT: ...
    @overload
    def __call__(self: Transformed[P, Blocks[Any, Any]], /, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    @overload
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if frames.current() is None:
            arrays: list[Any] = []
            try:
                key = _direct_key(args, arrays)
                found = None if kwargs else self._direct.known.get(key) or self._direct[key]
            except (AttributeError, TypeError):
                found = None
            if found is not None and found.guards.hold() and not nans.watching():
                try:
                    return found.run(arrays)
                except Unfinished as fault:
                    self.bounds = with_more_room(self.bounds, fault)
            return self._found(args, kwargs)
        return self._inside(args, kwargs)

    def code(self, backend: str = "numpy", *, name: str | None = None, types: Any = None) -> Callable[P, KeptCode]:
        """What writes a function that needs no ricci, for arguments like those of a call: see ``rc.code``.

        >>> import numpy as np, ricci as rc
        >>> def loss(w, X): return ((X @ w)**2).sum()
        >>> print(rc.grad(loss).code("numpy")(np.ones(2), np.ones((3, 2))))
        import numpy as np
        def loss_grad(w, X):
        ...
        """
        return public("code")(self, backend, name=name, types=types)

    def mesh_costs(self, devices: Any = None, *, axes: Mapping[str, Any] | None = None) -> Callable[P, MeshCosts]:
        """What tells the costs on meshes of so many devices, for arguments like those of a call, which is not made.

        ``axes`` says which index lies along which axis of a mesh that is not there: see ``f.mesh_costs`` of formulas.

        >>> import numpy as np, ricci as rc
        >>> gradient = rc.grad(lambda w, X: ((X @ w)**2).sum(), axes={"X": "m n"})
        >>> gradient.mesh_costs([8, 64], axes={"m": "data"})(np.ones(50), np.ones((4096, 50)))
        devices  mesh     FLOPs a device  memory a device  sent by a device  collectives
              8  data 8          102,450         210.1 kB         700 bytes            1
             64  data 64          12,850          27.3 kB         788 bytes            1
        With 8 devices:
        all-reduce of t1 (50, summed over m) along data: 400 bytes
        """

        def costs(*args: Any, **kwargs: Any) -> MeshCosts:
            program = self.program(self.arguments(args, kwargs))
            return program.compiled.mesh_costs(devices, axes=axes, sizes={}, dtype=program.floating.name)

        return costs

    # A call with arrays

    def arguments(self, args: tuple, kwargs: Mapping[str, Any]) -> Arguments:
        """The arguments, taken apart; extra ones come last."""
        split = len(args) - self.extras
        if split < 0:
            raise InputError(f"{self!r} takes {self.extras} more argument(s) after those of the function.")
        nums = self.static_argnums
        static = {k % split if k < 0 else k for k in nums} if nums and split else nums
        stored = self.blocks is not None
        return Arguments.of(args[:split], kwargs, args[split:], static, self.static_argnames, stored)

    def _found(self, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        arguments = self.arguments(args, kwargs)
        if recorded(arguments.leaves):
            return on_tensors(self, self.what, args, dict(kwargs))
        arrays = arguments.traced
        program, result = self._finished(arguments)
        nans.check(program, arrays, result)
        if not kwargs and not self.static_argnums and not (program.recording.drawn or program.recording.writes):
            self._remember(args, arrays, program)
        return result

    def _finished(self, arguments: Arguments) -> tuple[ProgramVersion, Any]:
        """The program for arguments of this kind, with enough room for all of its loops, and what it gives."""
        arrays = arguments.traced
        while True:
            program = self.program(arguments)
            if program.recording.writes:
                check_apart(arrays, program.recording.name)
            try:
                return program, program.run(arrays)
            except Unfinished as fault:
                self.bounds = with_more_room(self.bounds, fault)

    def _remember(self, args: tuple, arrays: list[Any], program: ProgramVersion) -> None:
        """A shortcut for arguments like these, where it meets the same arrays in the same order."""
        met: list[Any] = []
        try:
            key = _direct_key(args, met)
            hash(key)
        except (AttributeError, TypeError):
            return
        if len(met) != len(arrays) or any(a is not b for a, b in zip(met, arrays, strict=True)):
            return
        self._direct.keep(key, program)

    def program(self, arguments: Arguments) -> ProgramVersion:
        """The program for arguments of this kind; made if there is none, or what it depends on has changed."""
        key = (arguments.form, tuple(map(_kind, arguments.leaves, arguments.arrays)), self.bounds)
        try:
            found = self._programs[key]
        except TypeError:
            raise InputError(_unhashable(arguments)) from None
        if found is None or not found.guards.hold():
            recording, guards = self.observed(arguments)
            if self.cut is not None:
                recording = self.cut.named(recording, names_of(inspect.unwrap(self.function), *arguments.form[:2]))
            found = self._made(recording, arguments, guards)
            if not found.recording.drawn:  # otherwise the next call draws other numbers
                self._programs.keep(key, found)
        return found

    def observed(self, arguments: Arguments) -> tuple[Recording, Guards]:
        """What the function does with arguments of this kind, and what that depends on."""
        static = [leaf for leaf, traced in zip(arguments.leaves, arguments.arrays, strict=True) if not traced]
        with within(BOUNDS, StepBounds(self.bounds)):
            return observed(lambda reach: self.recorded(arguments, reach), [self.function, *static])

    def recorded(self, arguments: Arguments, reached: Reach | None = None) -> Recording:
        """What the function does with arguments of this kind, before it is derived."""
        try:
            return self._record(arguments, reached)
        except (TypeError, AttributeError, ValueError, IndexError, KeyError) as error:
            unfit = None if isinstance(error, RicciError) else self._unfit(arguments)
            if unfit is None:
                raise
            raise unfit from error

    def _record(self, arguments: Arguments, reached: Reach | None = None) -> Recording:
        return record(self.function, arguments, self.has_aux, reached=reached, roll=self.roll)

    def _unfit(self, arguments: Arguments) -> DTypeError | None:
        """The error for an argument that the transform is by and that holds no arrays, whatever the function does."""
        if self.what in ("compile", "trace"):
            return None
        count, _, forms = arguments.form
        argnums = range(count) if self.argnums is None else self.argnums
        chosen = {k % count for k in ([argnums] if isinstance(argnums, int) else argnums) if is_whole(k) and count}
        start, name = 0, getattr(self.function, "__name__", "the function")
        for k, form in enumerate(forms[:count]):
            stop = start + trees.count(form)
            if k in chosen and not any(arguments.arrays[start:stop]):
                given = shown(trees.unflatten(form, arguments.leaves[start:stop]))
                return DTypeError(
                    f"rc.{self.what} takes arrays of floating numbers; argument {k} of {name} holds none: it is "
                    f"{given}. Write 2.0 in place of 2, or np.array(…, float)."
                )
            start = stop
        return None

    def _made(self, recording: Recording, arguments: Arguments, guards: Guards) -> ProgramVersion:
        arrays = arguments.traced
        tensor = of_torch(arrays)  # one of PyTorch's among arrays of NumPy makes the results tensors
        given = [*arrays, *recording.captured.values()] if tensor is None else [tensor]
        lazy = self.backend in (None, "dask") and "dask" in map(kind_of, given)
        backend = "dask" if lazy else self.backend or target_of(given).name
        derived, more = self.derive(recording), (self.options, self.cut, self.blocks)
        program = ProgramVersion(derived, recording, backend, arrays, self.compressed, self.sparse, *more)
        program.guards = guards
        return program

    # A call inside a function that is traced

    def _inside(self, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        if self.compressed:
            kind = "compressed" if self.sparse is None else "sparse"
            raise InputError(f"A {kind} result is not an array, so it cannot be part of a traced function.")
        arguments = self.arguments(args, kwargs)
        outer = [lift(leaf) for leaf in arguments.traced]
        with unwatched():
            derived = self.derive(self.recorded(arguments))
            found = placed(derived, dict(zip(derived.inputs, outer, strict=True)))
            return like_tensor(of_torch(arguments.leaves), found)


def check_static(function: Callable, what: str, numbers: Collection[int], names: Collection[str]) -> None:
    """An error for static arguments that the function does not have, where its parameters can be told."""
    try:
        own = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    kinds = {p.kind for p in own.values()}
    places = [p for p in own.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    listed = f"{getattr(function, '__name__', 'the function')} has {', '.join(own) or 'no parameters'}"
    for number in numbers:
        if inspect.Parameter.VAR_POSITIONAL not in kinds and not -len(places) <= number < len(places):
            raise InputError(f"rc.{what}: static_argnums={shown(number)} is the number of no argument; {listed}.")
    for name in names:
        if inspect.Parameter.VAR_KEYWORD not in kinds and name not in own:
            hint = nearest(name, own)
            raise InputError(f"rc.{what}: static_argnames={name!r} names no argument; {listed}. {hint}".rstrip())


def placed(derived: Recording, values: Mapping[Any, Traced]) -> Any:
    """The results of a recording inside a function that is traced: with these in place of its inputs."""
    here = frames.current()
    assert here is not None
    exprs = [out for out in derived.outputs if isinstance(out, Expr)]
    made = replace_all(exprs, {v: x.expr for v, x in values.items()}, here.root.lines)
    for expr in made:
        here.note(expr)
    replaced, leaves = iter(made), []
    for out, dtype in zip(derived.outputs, derived.out_dtypes, strict=True):
        leaves.append(out.value if isinstance(out, Static) else Traced(next(replaced), dtype, here))
    return trees.unflatten(derived.out_form, leaves)


def replace_all(
    roots: Sequence[Expr], values: Mapping[Expr, Expr], lines: dict[Expr, frames.CodePlace] | None = None
) -> list[Expr]:
    """``roots`` with inputs replaced by expressions of the same shapes; the lines that made them go along."""
    step = lambda node, args: values[node] if node in values else rebuild(node, args)  # noqa: E731
    return carried(roots, step, {} if lines is None else lines)


def _direct_key(args: tuple, arrays: list[Any]) -> tuple:
    """What arguments are told apart by, in one pass that also collects the arrays.

    Lists, tuples and dictionaries are looked into; of what else it does not know, and of none but arrays, it asks the
    shape, so that an ``AttributeError`` sends a call the longer way.
    """
    key: list[Any] = []
    for a in args:
        kind = type(a)
        if kind is float or kind is complex:
            key.append(kind)
            arrays.append(a)
        elif kind is list or kind is tuple:
            key.append((kind, _direct_key(a, arrays)))  # type: ignore[arg-type]
        elif kind is dict:
            key.append((*a, _direct_key(a.values(), arrays)))  # type: ignore[arg-type]
        elif a is None or kind is int or kind is str or kind is bool:
            key.append((kind, a))
        else:
            key.append((kind, a.shape, a.dtype))
            arrays.append(a)
    return tuple(key)


def _kind(leaf: Any, traced: bool) -> Any:
    if not traced:
        return type(leaf), leaf
    if isinstance(leaf, (float, complex)) and not isinstance(leaf, np.generic):
        return type(leaf)
    return type(leaf), tuple(leaf.shape), leaf.dtype


def _unhashable(arguments: Arguments) -> str:
    for leaf, traced in zip(arguments.leaves, arguments.arrays, strict=True):
        if not traced:
            try:
                hash(leaf)
            except TypeError:
                return (
                    f"A static argument is compared with those of earlier calls, so it must be hashable; "
                    f"a {type(leaf).__name__} is not. Pass arrays as traced arguments, and lists as tuples."
                )
    return "The structure of the arguments is not hashable."


class ProgramVersion:
    """What a transformed function does for arguments of one kind, compiled; ``guards`` say for how long."""

    guards: Guards

    def __init__(
        self,
        derived: Recording,
        recording: Recording,
        backend: str,
        arrays: Sequence[Any],
        compressed: bool = False,
        sparse: str | None = None,
        options: tuple = (),
        cut: AxesNamed | None = None,
        blocks: BlockOptions | None = None,
    ):
        self.derived, self.recording, self.backend = derived, recording, backend
        facts = Facts(mentions={}, inputs={}, groups=derived.groups())
        for v in derived.inputs:
            facts.inputs[v.name], facts.mentions[v.name] = v.order, None
        for name, array in derived.captured.items():
            facts.inputs[name], facts.mentions[name] = len(array.shape), None
        stage = prepare([out for out in derived.outputs if isinstance(out, Expr)], facts=facts)
        if blocks is not None or backend == "dask":
            check_blocks(backend, compressed=compressed)
            self.compiled: Any = blocked(stage, backend, blocks or BlockOptions(()), False, options)
        elif compressed:
            indices = [tuple([f"i{k}" for k in range(r.order)]) for r in stage.roots]
            self.compiled = CompressedFunction(stage, indices, backend, False, options, _rows(derived, len(indices)))
        else:
            self.compiled = Compiled(stage, backend, False, options)
        self.compiled.typed = True
        if cut is not None:
            cut.put(self.compiled, derived)
        place = {v.name: k for k, v in enumerate(derived.inputs)}
        self.order = [(name, place.get(name)) for name in self.compiled.inputs]
        self.floating = _floating(derived.dtypes, arrays)
        self.brain = _brain([a for a in (*arrays, *derived.captured.values()) if hasattr(a, "dtype")])
        self.wide: np.dtype | None = None  # the type that the inputs are to be computed in, where it is not their own
        self.casts = None if compressed else self._casts(arrays)
        self.finish = _finisher(derived)
        self.sparse = sparse
        places = [p for _, p in self.order if p is not None and not isinstance(arrays[p], (float, complex, np.generic))]
        self.simple = places if len(places) == len(self.order) and self.wide is None else None
        self.direct: Callable[..., Any] | None = None  # the program itself: arguments of this kind have no other

    def run(self, arrays: Sequence[Any]) -> Any:
        """The results for arrays of this kind."""
        try:
            return self._run(arrays)
        except Exception as error:
            fault = explained(error, self.compiled.stage, self.recording.lines)
            if fault is None:
                raise
            raise fault from error

    def _run(self, arrays: Sequence[Any]) -> Any:
        if self.direct is not None and self.simple is not None:
            results = self.direct(*[arrays[p] for p in self.simple])
        elif self.simple is not None:
            results = self.compiled(*[arrays[p] for p in self.simple])
            self.direct = self.compiled.shortcut() if self.backend == "numpy" else None
        else:
            results = self.compiled(*[self._input(arrays, name, p) for name, p in self.order])
        if self.casts is not None:
            results = [value if cast is None else cast(value) for value, cast in zip(results, self.casts, strict=True)]
        if self.sparse is not None:
            count = len(self.derived.rows or ())  # what comes after those is aux
            results = [c._sparse(self.sparse) if k < count else c.todense() for k, c in enumerate(results)]
        return self.finish(results)

    def _input(self, arrays: Sequence[Any], name: str, place: int | None) -> Any:
        if place is None:
            array = self.derived.captured[name]
            value = getattr(array, "value", array)  # of a tensor
        else:
            value = arrays[place]
        if isinstance(value, (float, np.floating)):
            return float(value) if self.brain else np.asarray(value, self.wide or self.floating)
        if isinstance(value, (complex, np.complexfloating)):
            return np.asarray(value, complex_type(self.wide or self.floating))
        if self.wide is not None and isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            return value.astype(self.wide if value.dtype.kind == "f" else complex_type(self.wide), copy=False)
        return value

    def _casts(self, arrays: Sequence[Any]) -> list[Callable | None] | None:
        """What makes each result one of the type that it should have; none where all have it."""
        given = [arrays[p] for _, p in self.order if p is not None]
        types = [a.dtype if hasattr(a, "dtype") and not isinstance(a, float) else self.floating for a in given]
        types += [self.derived.captured[name].dtype for name, p in self.order if p is None]
        floats = [numpy_dtype(t) for t in types]
        plain = all(t.kind in "fc" for t in floats)  # otherwise results may be whole numbers, whatever they are called
        floats = [real_type(t) for t in floats if t.kind in "fc"]
        computed = np.result_type(*floats) if floats else None
        wanted = [real_type(t) for t in self.recording.out_dtypes if t.kind in "fc"]
        widest = np.result_type(*wanted, *floats) if wanted else computed
        if computed is not None and widest != computed and self.backend == "numpy":
            self.wide = computed = widest  # whole numbers and single floats make double ones
        like = next((a for a in arrays if type(a).__module__.partition(".")[0] in ("torch", "jax", "jaxlib")), None)
        casts: list[Callable | None] = []
        for out, dtype in zip(self.derived.outputs, self.derived.out_dtypes, strict=True):
            if isinstance(out, Expr):
                own = computed if computed is None or not out.complex else complex_type(computed)
                same = computed is not None and dtype == own and plain and bool(self.order) and _is_floating(out)
                same = same or dtype == ANY_TYPE
                name = "bfloat16" if self.brain and dtype == np.float16 else dtype.name
                casts.append(None if same else _cast(self.backend, name, like if not self.order else None))
        return casts if any(cast is not None for cast in casts) else None


def _is_floating(e: Expr) -> bool:
    """Whether an expression of floating inputs has floating values, and not truth values or whole numbers."""
    waiting, seen = [e], set[Expr]()
    while waiting:
        node = waiting.pop()
        if isinstance(node, Variable) or (isinstance(node, (Elementwise, Function)) and node.op.type == "floating"):
            return True
        if node not in seen and not isinstance(node, Structure):
            seen.add(node)
            kind = getattr(getattr(node, "op", None), "type", "same")
            waiting += {"same": node.args, "branches": node.args[1:]}.get(kind, ())
    return False


def _rows(derived: Recording, count: int) -> list[int | None]:
    """How many axes of each result are rows, where it is a matrix."""
    known = derived.rows or []
    return [*known, *[None] * (count - len(known))]


def _floating(dtypes: Sequence[np.dtype], arrays: Sequence[Any]) -> np.dtype:
    """The type that Python's numbers take among these arguments."""
    given = zip(dtypes, arrays, strict=True)
    floats = [real_type(d) for d, a in given if d.kind in "fc" and type(a) not in (float, complex)]
    return np.result_type(*floats) if floats else np.dtype(np.float64)


def _brain(arrays: Sequence[Any]) -> bool:
    """Whether the arrays hold bfloat16, which goes by the name of float16; both at once cannot be told apart."""
    names = {str(a.dtype).rpartition(".")[2] for a in arrays}
    if {"bfloat16", "float16"} <= names:
        raise DTypeError("A function is called with arrays of float16 and of bfloat16; cast these to one type.")
    return "bfloat16" in names


def _cast(backend: str, dtype: str, like: Any) -> Callable:
    if backend == "torch":
        import torch

        from ricci.compiler.mesh.dtensors import mesh_of_tensors, on_mesh_of_tensors

        kind = getattr(torch, dtype)
        device = None if like is None else like.device
        mesh = mesh_of_tensors([like])
        return lambda value: on_mesh_of_tensors(mesh, value.to(dtype=kind, device=device))
    if backend == "jax":
        from jax.dtypes import canonicalize_dtype

        dtype = canonicalize_dtype(dtype).name  # JAX has no numbers of 64 bits unless they are asked for

    def cast(value: Any) -> Any:
        with np.errstate(invalid="ignore"):  # whole numbers of infinities: as NumPy has them, without the warning
            return value.astype(dtype, copy=False)

    return cast


def _finisher(derived: Recording) -> Callable[[Sequence[Any]], Any]:
    """What makes the tree of results from the arrays."""
    form, outputs = derived.out_form, derived.outputs
    if form == trees.LEAF and isinstance(outputs[0], Expr):
        return lambda results: results[0]
    if all(isinstance(out, Expr) for out in outputs):
        if form[0] == "tuple" and all(part == trees.LEAF for part in form[2]):
            return tuple
        build = trees.builder(form)
        return lambda results: build(iter(results))

    def finish(results: Sequence[Any]) -> Any:
        arrays = iter(results)
        return trees.unflatten(form, [out.value if isinstance(out, Static) else next(arrays) for out in outputs])

    return finish
