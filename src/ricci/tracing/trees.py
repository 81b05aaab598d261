"""Nested arguments and results: lists, tuples, named tuples, dictionaries and dataclasses with arrays as leaves.

Classes that are registered with JAX, as Equinox's modules and Flax's dataclasses are, are trees as they are there. What
is static is part of the form: fields of a dataclass with ``metadata={"static": True}``, and what a registered class has
that is neither tree nor array nor float, such as an activation function.

A tree is taken apart into its leaves, in order, and a *form* that puts such leaves together again. Forms can be
compared and hashed, so they are part of what a cached function is found by. The keys of a dictionary keep their order,
which a function that goes through them may depend on; two trees that belong together may differ in it.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from ricci.caches import Cache, cached
from ricci.checked_calls import call_back, takes
from ricci.errors import InputError

LEAF = ("leaf",)
Form = tuple  # (kind, what distinguishes it, the forms of its parts)


def flatten(tree: Any) -> tuple[list[Any], Form]:
    """The leaves and the form.

    >>> flatten([1, (2, 3)])
    ([1, 2, 3], ('list', 2, (('leaf',), ('tuple', 2, (('leaf',), ('leaf',))))))
    """
    leaves: list[Any] = []
    return leaves, _taken_apart(tree, leaves)


def _taken_apart(tree: Any, leaves: list[Any]) -> Form:
    kind = type(tree)
    what = _kinds.get(kind) or _kind_of(kind, tree)
    if what == "leaf":
        leaves.append(tree)
        return LEAF
    mark, parts = _parts(what, kind, tree)
    return what, mark, tuple([_taken_apart(part, leaves) for part in parts])


_PLAIN = {list: "list", tuple: "tuple", dict: "dict", type(None): "none"}
_known = Cache("types of trees", 1000)
_kinds = _known.known


def _kind_of(kind: type, tree: Any) -> str:
    """What a tree of this type is, found once for each type."""
    if kind in _PLAIN:
        what = _PLAIN[kind]
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        what = "namedtuple"
    elif issubclass(kind, Mapping):
        what = "dict"
    elif _is_registered(kind, tree):
        what = "registered"
    elif is_dataclass(kind):
        what = "dataclass"
    else:
        what = "sequence" if issubclass(kind, (list, tuple)) else "leaf"
    _known.keep(kind, what)
    return what


def _parts(what: str, kind: type, tree: Any) -> tuple[Hashable, Sequence[Any]]:
    """What tells a tree from others of its kind, and its branches."""
    if what in ("list", "tuple"):
        return len(tree), tree
    if what == "dict":
        mark = (kind, tuple(tree))
        return (*mark, tree.default_factory) if issubclass(kind, defaultdict) else mark, list(tree.values())
    if what == "none":
        return None, ()
    if what == "namedtuple":
        return kind, tree
    if what == "dataclass":
        names = tuple([field.name for field in fields(tree) if not field.metadata.get("static")])
        static = tuple([(f.name, getattr(tree, f.name)) for f in fields(tree) if f.metadata.get("static")])
        return (kind, names, static), [getattr(tree, name) for name in names]
    if what == "registered":
        return _registered_parts(kind, tree)
    return (kind, len(tree)), tree


def _is_registered(kind: type, tree: Any) -> bool:
    """Whether JAX takes objects of this type apart; arrays of any kind are whole, and so is what is ricci's."""
    if "jax" not in sys.modules or kind.__module__.startswith("ricci.") or hasattr(kind, "dtype"):
        return False
    from jax.tree_util import all_leaves

    return not all_leaves([tree])


def _registered_parts(kind: type, tree: Any) -> tuple[Hashable, Sequence[Any]]:
    """The branches that JAX knows, but for those that are static, which are told by their places."""
    from jax.tree_util import tree_flatten_with_path

    found, structure = tree_flatten_with_path(tree, is_leaf=lambda part: part is not tree)
    static = {place: part for place, (_, part) in enumerate(found) if _is_static(part)}
    kept = [(_key(path[0]), part) for place, (path, part) in enumerate(found) if place not in static]
    return (kind, tuple([key for key, _ in kept]), tuple(static.items()), structure), [part for _, part in kept]


def _is_static(part: Any) -> bool:
    kind = type(part)
    leaf = (_kinds.get(kind) or _kind_of(kind, part)) in ("leaf", "none")  # None stands for it in derivatives
    return leaf and not isinstance(part, float) and not hasattr(part, "dtype")


def _key(step: Any) -> Any:
    """What JAX calls a branch: a name, a key or a number."""
    return next((getattr(step, word) for word in ("name", "key", "idx") if hasattr(step, word)), str(step))


def unflatten(form: Form, leaves: Sequence[Any]) -> Any:
    """The tree of this form with these leaves.

    >>> unflatten(flatten({"b": [1, 2], "a": 3})[1], [30, 10, 20])
    {'b': [30, 10], 'a': 20}
    """
    return builder(form)(iter(leaves))


@cached("makers of trees", 512)
def builder(form: Form) -> Callable[[Iterator[Any]], Any]:
    """A function that makes a tree of this form, taking its leaves from an iterator."""
    if form == LEAF:
        return next
    kind, mark, forms = form
    if kind == "none":
        return lambda leaves: None
    parts = [builder(part) for part in forms]
    if kind == "list":
        return lambda leaves: [part(leaves) for part in parts]
    if kind == "tuple":
        return lambda leaves: tuple([part(leaves) for part in parts])
    if kind == "dict":
        known, keys, *factory = mark
        if known is dict:
            return lambda leaves: {key: part(leaves) for key, part in zip(keys, parts, strict=True)}
        return lambda leaves: known(*factory, [(k, part(leaves)) for k, part in zip(keys, parts, strict=True)])
    if kind == "namedtuple":
        return lambda leaves: mark(*[part(leaves) for part in parts])
    if kind == "dataclass":
        return lambda leaves: _dataclass(*mark, [part(leaves) for part in parts])  # pyright: ignore[reportCallIssue]
    if kind == "registered":
        return lambda leaves: _registered(mark, [part(leaves) for part in parts])
    return lambda leaves: mark[0]([part(leaves) for part in parts])


def _dataclass(kind: type, names: Sequence[str], static: Sequence[tuple[str, Any]], parts: Sequence[Any]) -> Any:
    """An instance with these attributes, made without ``__init__``, which might compute with its arguments."""
    made = object.__new__(kind)
    for name, part in [*zip(names, parts, strict=True), *static]:
        object.__setattr__(made, name, part)
    return made


def _registered(mark: tuple, parts: Sequence[Any]) -> Any:
    _, _, static, structure = mark
    whole = list(parts)
    for place, value in static:  # in their order
        whole.insert(place, value)
    return structure.unflatten(whole)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """``function`` of all that nested lists, tuples, dictionaries and slices hold, in the same nest.

    >>> mapped(abs, [1, (-2, slice(-3, 4, 5))])
    [1, (2, slice(3, 4, 5))]
    """
    if isinstance(value, (list, tuple)):
        parts = [mapped(function, part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: mapped(function, part) for key, part in value.items()}
    if isinstance(value, slice):
        return slice(*[mapped(function, part) for part in (value.start, value.stop, value.step)])
    return function(value)


def count(form: Form) -> int:
    """The number of leaves."""
    return 1 if form == LEAF else sum(count(part) for part in form[2])


def paths(form: Form, start: str) -> list[str]:
    """A name for each leaf, made of the keys that lead to it: ``params_w``, ``layers_0``."""
    if form == LEAF:
        return [start]
    kind, mark, forms = form
    return [
        name
        for key, part in zip(_keys(kind, mark, forms), forms, strict=True)
        for name in paths(part, f"{start}_{key}")
    ]


def spelled(form: Form, start: str = "") -> list[str]:
    """How each leaf is reached, as it is written in Python.

    >>> spelled(flatten({"b": [1, 2], "a": 3})[1], "p")
    ["p['b'][0]", "p['b'][1]", "p['a']"]
    """
    if form == LEAF:
        return [start]
    kind, mark, forms = form
    by_name = kind in ("namedtuple", "dataclass", "registered")
    found: list[str] = []
    for key, part in zip(_keys(kind, mark, forms), forms, strict=True):
        found += spelled(part, f"{start}.{key}" if by_name else f"{start}[{key!r}]")
    return found


def _keys(kind: str, mark: Any, forms: Sequence[Form]) -> Sequence[Any]:
    if kind == "namedtuple":
        return mark._fields
    if kind in ("dict", "dataclass", "registered"):
        return mark[1]
    return range(len(forms))


def without_static(form: Form) -> Form:
    """The form of a derivative: None where a class that is registered with JAX has something static, as in Equinox."""
    if form == LEAF:
        return form
    kind, mark, forms = form
    if kind == "registered":
        mark = (*mark[:2], tuple([(place, None) for place, _ in mark[2]]), mark[3])
    return kind, mark, tuple([without_static(part) for part in forms])


def keys(form: Form) -> Sequence[Any]:
    """What leads to the parts of a form: keys, names of fields, or numbers."""
    kind, mark, forms = form
    return _keys(kind, mark, forms)


def order_as(form: Form, like: Form) -> list[int] | None:
    """Where the leaves of ``like`` stand in ``form``; none if the two differ in more than the order of keys.

    >>> order_as(flatten({"b": [1, 2], "a": 3})[1], flatten({"a": 3, "b": [1, 2]})[1])
    [2, 0, 1]
    """
    if form == like:
        return list(range(count(form)))
    if form == LEAF or like == LEAF or form[0] != "dict" or like[0] != "dict":
        same = form != LEAF and like != LEAF and _alike(form, like) and len(form[2]) == len(like[2])
    else:
        same = form[1][0] == like[1][0] and set(form[1][1]) == set(like[1][1])
    if not same:
        return None
    starts: dict[Any, tuple[int, Form]] = {}
    before = 0
    for key, part in zip(keys(form), form[2], strict=True):
        starts[key] = before, part
        before += count(part)
    found: list[int] = []
    for key, part in zip(keys(like), like[2], strict=True):
        start, own = starts[key]
        inner = order_as(own, part)
        if inner is None:
            return None
        found += [start + k for k in inner]
    return found


def _alike(form: Form, like: Form) -> bool:
    """Whether two forms are the same but for their parts, and for what is static where derivatives have None."""
    if form[0] == like[0] == "registered":
        return form[1][:2] == like[1][:2] and form[1][3] == like[1][3]
    return form[:2] == like[:2]


@takes("rc.tree_map", function="function")
def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """``function`` of the leaves of trees of one form.

    >>> tree_map(lambda p, g: p - 0.5 * g, {"w": 1.0}, {"w": 2.0})
    {'w': 0.0}
    """
    leaves, form = flatten(tree)
    columns = [leaves]
    for other in others:
        more, theirs = flatten(other)
        order = order_as(theirs, form)
        if order is None:
            raise InputError(
                f"tree_map takes trees of one form; these differ: {describe(form)} and {describe(theirs)}."
            )
        columns.append([more[k] for k in order])
    return unflatten(form, [call_back("rc.tree_map", function, *row) for row in zip(*columns, strict=True)])


def describe(form: Form) -> str:
    """A form in few words: ``{'a': ·, 'b': [·, ·]}``."""
    if form == LEAF:
        return "·"
    kind, mark, forms = form
    parts = [describe(part) for part in forms]
    if kind == "none":
        return "None"
    if kind == "dict":
        return "{" + ", ".join([f"{k!r}: {p}" for k, p in zip(_keys(kind, mark, forms), parts, strict=True)]) + "}"
    if kind in ("list", "tuple"):
        left, right = "[]" if kind == "list" else "()"
        return left + ", ".join(parts) + ("," if kind == "tuple" and len(parts) == 1 else "") + right
    name = (mark if kind == "namedtuple" else mark[0]).__name__
    keys = _keys(kind, mark, forms)
    return f"{name}({', '.join([f'{k}={p}' for k, p in zip(keys, parts, strict=True)])})"
