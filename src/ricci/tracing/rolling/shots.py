"""What there is after a step, as expressions, and whether two steps did the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ricci.expr import Expr, topological
from ricci.loops.bodies import replaced
from ricci.simplify.residues import agree
from ricci.tracing.array import Traced
from ricci.tracing.counters import Counter
from ricci.tracing.frames import Frame
from ricci.tracing.rolling.held import OWNER, Names, NotAlikeError, Path
from ricci.tracing.rolling.placeholders import resolved
from ricci.tracing.rolling.tried import StepTried


@dataclass
class Shot:
    """The state between two steps, as expressions; and how names hold it."""

    exprs: list[Expr]
    pattern: Mapping[Any, Any]
    names: Names
    lists: dict[str, list[Traced]] = field(default_factory=dict)  # what the step has put into them
    outputs: list[Expr] = field(default_factory=list)  # the same, as expressions
    versions: list[int] = field(default_factory=list)
    written: list[tuple[int, int, int]] = field(default_factory=list)  # the number of an array, scale and shift

    def take_writes(self, step: StepTried, frame: Frame) -> None:
        """What is only written to, once in a step, is no state: what is written is an output."""
        for write in step.writes:
            after, new = resolved([write.after, write.new], frame.closed())
            found = [
                n for n, (v, _) in enumerate(step.states) if v is write.before and self.exprs[n : n + 1] == [after]
            ]
            others = [e for n, e in enumerate(self.exprs) if n not in found]
            if len(found) == 1 and write.before not in topological(*others, *self.outputs, new):
                self.exprs[found[0]] = write.before
                self.outputs.append(new)
                self.written.append((found[0], write.scale, write.shift))

    @classmethod
    def of(cls, names: Names, changed: set[Path], frame: Frame, lists: dict[str, list[Traced]] | None = None) -> Shot:
        own, _ = own_boxes(names, changed)
        numbers = {id(box): n for n, box in enumerate(own)}
        pattern: dict[Path, tuple] = {}
        for path, box in names.boxes.items():
            kind = (box.shape, box.dtype, box.weak, box.array)
            pattern[path] = (kind, numbers.get(id(box))) if path in changed else (kind, id(box), box.version)
        new = [box for boxes in (lists or {}).values() for box in boxes]
        exprs = resolved([box.expr for box in (*own, *new)], frame.closed())
        count = len(own)
        return cls(exprs[:count], pattern, names, lists or {}, exprs[count:], [box.version for box in new])


def own_boxes(names: Names, changed: set[Path]) -> tuple[list[Traced], list[Traced]]:
    """The arrays that change, each once; and those that are views of such."""
    found = {id(box): box for path, box in names.boxes.items() if path in changed}
    views = [box for box in found.values() if box.source is not None and id(box.source.owner) in found]
    return [box for box in found.values() if not any(box is view for view in views)], views


def moved(seen: dict[Path, tuple] | None, names: Names) -> set[Path]:
    """Where another array is than was seen before, or one that has been changed."""
    if seen is None:
        return set()
    before = {path: (id(box), version) for path, (box, version) in seen.items()}
    known = set(before.values())
    found = set()
    for path, box in names.boxes.items():
        own = (id(box), box.version)
        if own not in known if path[-1] is OWNER else before.get(path) != own:
            found.add(path)
    return found


def is_same(one: Expr, other: Expr) -> bool:
    """Whether two expressions are the same; their forms may differ by the names that they were made with."""
    return one is other or agree(one, other)


def same_steps(a: StepTried, one: Shot, b: StepTried, two: Shot) -> list[Expr]:
    """The new state after a step, if two did the same."""
    if a.reads.keys() != b.reads.keys() or one.written != two.written:
        raise NotAlikeError("steps read arrays at other places")
    before: Any = a.before
    if not (before.pattern == one.pattern == two.pattern) or len(one.exprs) != len(a.states):
        paths = before.pattern.keys() | one.pattern.keys() | two.pattern.keys()
        found = [p for p in paths if not (before.pattern.get(p) == one.pattern.get(p) == two.pattern.get(p))]
        raise NotAlikeError(f"shapes, types or what is another name of what change with the steps{_told(found)}")
    unlike = {path for path in one.names.unlike(before.names) if type(one.names.others.get(path)) is not Counter}
    unlike |= two.names.unlike(one.names)
    if unlike:
        raise NotAlikeError(f"a step changes what is no traced array{_told(unlike)}")
    own = dict(zip([v for v, _ in b.states], [v for v, _ in a.states], strict=True))
    own |= {read.variable: a.reads[key].variable for key, read in b.reads.items()}
    new = [*two.exprs, *two.outputs]
    if not set(own.values()).isdisjoint(topological(*new)):
        raise NotAlikeError("a step reads what the one before it has made, and not by a name that changes")
    if not all(map(is_same, replaced(new, own), [*one.exprs, *one.outputs])):
        raise NotAlikeError("steps compute different things")
    _check_lists(one, two)
    return one.exprs


def _check_lists(one: Shot, two: Shot) -> None:
    """Whether two steps put arrays of their own into lists, of the same kinds."""
    first, second = ([box for boxes in shot.lists.values() for box in boxes] for shot in (one, two))
    kinds = [[(name, len(boxes)) for name, boxes in shot.lists.items()] for shot in (one, two)]
    kinds = [[*known, *[(box.shape, box.dtype, box.weak) for box in own]] for known, own in zip(kinds, (first, second))]
    if kinds[0] != kinds[1] or len({id(box) for box in (*first, *second)}) < len(first) + len(second):
        raise NotAlikeError("steps put other things into a list, or the same one twice")
    if one.versions != [box.version for box in first] or any(box.source is not None for box in second):
        raise NotAlikeError("what was put into a list is changed in place")


def _told(paths: Iterable[Path]) -> str:
    """The names of a function at which paths begin, for people."""
    names = sorted({path[0] for path in paths if isinstance(path[0], str)})
    return f": {', '.join(names)}" if names else ""
