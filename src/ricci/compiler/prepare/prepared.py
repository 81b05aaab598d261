"""Expressions as they are to be computed, before any size is known: simplified, in terms of what backends have.

What does not depend on sizes is found out here once: which inputs are needed, which sizes are mentioned, and which of
them must agree. So a call with new sizes plans anew, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ricci.caches import Cache, lazy
from ricci.compiler.prepare.choices import with_choices
from ricci.compiler.prepare.distribute import distributed
from ricci.compiler.prepare.halves import in_halves
from ricci.compiler.prepare.mirrored import with_mirrored
from ricci.compiler.prepare.solves import solved
from ricci.compiler.prepare.spectra import by_halves
from ricci.compiler.prepare.triangles import FACTORISED, by_triangles
from ricci.expr import Constant, Expr, Function, Size, Structure, Variable, dims, topological
from ricci.expr.settle import SizeClasses, links, own_sizes
from ricci.expr.walk import sized, with_bodies
from ricci.functions.unknown import unknown_in
from ricci.notation.context import Facts
from ricci.simplify import simplify_all


@dataclass(frozen=True, eq=False)
class Prepared:
    """Results that are ready to be compiled for any sizes."""

    roots: tuple[Expr, ...]  # functions that are made of other nodes opened
    written: tuple[Expr, ...]  # and before that
    names: Mapping[str, Size]  # the indices of the results, and their sizes
    facts: Facts
    preferred: Sequence[str] = ()  # inputs that tell a size where several could

    @lazy
    def nodes(self) -> list[Expr]:
        return topological(*self.roots)

    @lazy
    def needed(self) -> list[Variable]:
        """The inputs that results depend on, sorted by name."""
        return sorted([node for node in self.nodes if isinstance(node, Variable)], key=lambda v: (v.name, v.key))

    @lazy
    def inputs(self) -> tuple[str, ...]:
        """The inputs of a call: those that results depend on, and those that tell a size; in the order of the text."""
        found = self._with_tellers()
        return tuple(dict.fromkeys([*[name for name in self.facts.mentions if name in found], *sorted(found)]))

    def _with_tellers(self) -> set[str]:
        """The inputs that are needed, also for a size that is known from nothing else."""
        needed = {v.name for v in self.needed}
        if needed.issuperset(self.facts.inputs):
            return needed
        classes = SizeClasses(*self.roots, linked=self.facts.linked_sizes())
        tellers: dict[Size, list[str]] = {}
        for name in dict.fromkeys([*self.preferred, *self.facts.inputs]):
            for axis in range(self.facts.inputs.get(name, 0)):
                tellers.setdefault(classes.find(dims.axis_size(name, axis)), []).append(name)
        known = {classes.find(size) for v in self.needed for size in v.shape}
        for node in self.nodes:
            for size in (*own_sizes(node), *node.shape):
                for atom in sorted(dims.atoms(size), key=repr):
                    group = classes.find(dims.symbol(*atom))
                    if group not in known and group in tellers:
                        needed.add(tellers[group][0])
                        known.add(group)
        return needed

    @lazy
    def atoms(self) -> set[dims.Atom]:
        """What the sizes in the expressions are made of."""
        shapes = {node.shape for node in self.nodes}
        shapes |= {own_sizes(node) for node in self.nodes if isinstance(node, (Constant, Structure))}
        sizes = {size for shape in shapes for size in shape if not isinstance(size, int)}
        return {atom for size in sizes for atom in dims.atoms(size)}

    @lazy
    def links(self) -> list[tuple[Size, Size]]:
        """Sizes that must agree, since axes with them meet in some node; numbers are compared when a node is made, but
        for those of functions."""
        nodes = self.nodes if self.atoms else [node for node in self.nodes if isinstance(node, Function)]
        return list(dict.fromkeys([pair for node in nodes for pair in links(node) if pair[0] is not pair[1]]))

    @lazy
    def conditions(self) -> tuple:
        """What is asked of sizes beside what the expressions ask."""
        return (
            frozenset([axes for _, axes in self.facts.groups]),
            frozenset([check.size for check in self.facts.checks]),
            frozenset(self.facts.ranges.values()),
        )

    @lazy
    def waits(self) -> bool:
        """Whether there are functions of which nothing is known before sizes are."""
        return any(node.op.later for node in self.nodes if isinstance(node, Function))

    @lazy
    def unknown(self) -> list[str]:
        """The functions of which nothing is known: they can be differentiated, and not computed."""
        return list(dict.fromkeys([what.name for what in unknown_in(*self.roots)]))

    @lazy
    def plans(self) -> Cache | None:
        """Where the plans are kept, if functions of the user's are among the nodes: with these results alone, since
        such a function holds what it has captured."""
        functions = [node.op for node in self.nodes if isinstance(node, Function)]
        ours = all(op.outside is None and not op.later for op in functions)
        return None if ours else Cache("plans with functions of one's own", 64)

    def sized(self, env: Mapping[dims.Atom, int]) -> tuple[Expr, ...]:
        """The results for these sizes: where functions have waited for them, with what they turn out to be."""
        if not self.waits:
            return self.roots
        found = sized(self.roots, lambda size: dims.evaluate(size, env))
        return tuple(with_mirrored(with_choices(with_bodies(simplified(found)))))

    def __str__(self) -> str:
        from ricci.show import to_text

        lines = []
        for root in self.written:
            by_size = {size: name for name, size in self.names.items()}
            indices = [by_size.get(size, "") for size in root.shape]
            fresh = iter(f"i{k}" for k in range(len(indices)))
            unique = [x if x and x not in indices[:k] else next(fresh) for k, x in enumerate(indices)]
            lines.append(to_text(root, tuple(unique), self.facts, None))
        return "\n".join([*lines, f"inputs: {', '.join(self.inputs) or 'none'}"])


def prepared(
    roots: Sequence[Expr],
    names: Mapping[str, Size] | None = None,
    facts: Facts | None = None,
    preferred: Sequence[str] = (),
    simplify: bool = True,
) -> Prepared:
    """``roots``, simplified unless they are to be computed as they are."""
    written = simplified(roots) if simplify else list(roots)
    opened = by_halves(with_bodies(in_halves(written)))
    if facts is None:
        facts = Facts()
        for v in sorted({v for v in topological(*opened) if isinstance(v, Variable)}, key=lambda v: v.name):
            facts.inputs[v.name], facts.mentions[v.name] = len(v.shape), None
    made = Prepared(tuple(opened), tuple(written), names or {}, facts, preferred)
    if made.waits:  # what it is made of then is looked at once it is known
        return made
    chosen = tuple(with_choices(opened, made.nodes))
    if any(node.complex for node in made.nodes):
        chosen = tuple(with_mirrored(chosen))
    return made if chosen == made.roots else Prepared(chosen, made.written, made.names, facts, preferred)


def simplified(roots: Sequence[Expr]) -> list[Expr]:
    """Stable, factored where that is cheaper, without inverses where a system can be solved; triangles told."""
    found = distributed(simplify_all(list(roots)))
    return found if FACTORISED.isdisjoint([node.head for node in topological(*found)]) else by_triangles(solved(found))
