"""The way of results that stay apart: a result is taken apart once sizes are known, and its cores are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ricci.caches import once
from ricci.compiler.bind import Setting
from ricci.compiler.compressed.circulant import CirculantParts, CirculantShell, circulant
from ricci.compiler.compressed.parts import Parts, take_apart
from ricci.compiler.compressed.shell import Shell
from ricci.compiler.pipeline import bind, lower, made
from ricci.compiler.prepare.prepared import Prepared
from ricci.compiler.run.runner import Runner
from ricci.expr import Expr
from ricci.show.index_names import Namer


@dataclass(frozen=True)
class Apart:
    """The way of results that stay apart, between binding and lowering: the cores are computed, and put into shells."""

    indices: tuple[tuple[str, ...], ...]  # of each result
    rows: tuple[int | None, ...]  # how many of them are those of rows: half, unless it is said
    kind: Callable[[Shell, tuple], Any]  # what a shell and its cores become

    def __call__(self, stage: Prepared, setting: Setting) -> Runner:
        bound = bind(stage, setting)
        parts = [circulant(root, bound.sizes) or take_apart(root, bound.sizes) for root in bound.roots]
        cores = distinct_cores(parts)
        program = lower(bound.of(cores))
        held = {e: result.kind for e, result in zip(cores, program.results, strict=True)}
        if not all(p.holds_numbers(held) for p in parts):
            parts = [p if p.holds_numbers(held) else p.with_a_number() for p in parts]
            cores = distinct_cores(parts)
            program = lower(bound.of(cores))
        if setting.target == "jax":
            known_to_jax(self.kind)
        place = {e: k for k, e in enumerate(cores)}
        shells = [
            (CirculantShell if isinstance(p, CirculantParts) else Shell).of(
                p, bound.sizes, label_names(stage, p, own), setting.target, rows
            )
            for p, own, rows in zip(parts, self.indices, self.rows, strict=True)
        ]
        runner = made(program, replace(setting, single=False))
        places = [[place[e] for e in p.cores] for p in parts]
        runner.around = partial(_wrapped, kind=self.kind, shells=shells, places=places, single=setting.single)
        runner.run = runner.around(runner.run)
        return runner


@once
def known_to_jax(kind: Any) -> None:
    """Results in parts pass through JAX's transformations."""
    from jax.tree_util import register_pytree_node

    register_pytree_node(kind, lambda c: (c.cores, c._shell), lambda shell, cores: kind(shell, tuple(cores)))


def label_names(stage: Prepared, parts: Parts, indices: tuple[str, ...]) -> dict[int, str]:
    """The user's names of the axes, and others for the labels that are summed; each term has names of its own."""
    names = dict(enumerate(indices))
    namer = Namer(stage.facts, stage.roots)
    for axis, name in names.items():
        namer.claim(name, parts.written[axis])
    for term in parts.terms:
        used = {x for _, labels in term.factors for x in labels}
        taken = {*indices, *[names[x] for x in used & names.keys()]}
        for label in sorted(used - names.keys()):
            names[label] = namer.fresh(parts.written[label], (), taken)
            taken.add(names[label])
    return names


def distinct_cores(parts: Sequence[Parts]) -> list[Expr]:
    return list(dict.fromkeys(e for p in parts for e in p.cores))


def _wrapped(
    program: Callable, kind: Callable, shells: Sequence[Shell], places: Sequence[list[int]], single: bool
) -> Callable:
    """The program of the cores, its results put into shells. All is settled here, so that a call does little more."""
    if single and not shells[0].scalars:
        (shell,) = shells
        return lambda *arrays: kind(shell, program(*arrays))

    def run(*arrays: Any) -> Any:
        cores = program(*arrays)
        made = []
        for shell, own in zip(shells, places, strict=True):
            held = [cores[k] for k in own]
            for k in shell.scalars:  # NumPy's scalars would have to be made arrays again for every use
                held[k] = np.asarray(held[k]) if isinstance(held[k], np.generic) else held[k]
            made.append(kind(shell, tuple(held)))
        return made[0] if single else tuple(made)

    return run
