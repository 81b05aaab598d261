"""Loops as they run: the program of one step, called again and again, or all steps by what the backend has for that.

A step of a program that is a loop is a call of code that only runs (see ``outside.py``): it is given what is fixed,
what is sliced and the initial state, and gives the states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from ricci.caches import lazy
from ricci.compiler.bind import Setting
from ricci.compiler.plan.program import Program


@dataclass(eq=False)
class Rolled:
    """A loop whose sizes are known. The inputs of the step are the fixed ones, the slices, what is added, the state."""

    program: Program
    setting: Setting  # of one step
    length: int
    fixed: int  # how many operands are
    forced: bool
    last: bool
    name: str
    kind: ClassVar[str] = "f"
    made: ClassVar[Callable[[Program, Setting], Any]]  # the second half of the pipeline, which puts itself here
    runs: ClassVar[Callable[[Rolled], Callable[..., Any]]]  # so does what makes machine code of loops for NumPy

    def __getstate__(self) -> dict[str, Any]:
        """What it is; what was made of it is made anew."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @lazy
    def step(self) -> Callable[..., Any]:
        """One step as a function of its inputs in their order."""
        options = (*[o for o in self.setting.options if o[0] != "fused"], ("bare", True))
        return type(self).made(self.program, replace(self.setting, options=options)).run

    def on(self, backend: str) -> Callable[..., Any]:
        """The loop for arrays of a backend."""
        return {"numpy": self.on_numpy, "torch": self.on_torch, "jax": self.on_jax}[backend]

    def operands(self, given: tuple) -> tuple[tuple, tuple, Any]:
        """What is fixed, what has an entry for each step, and the initial state."""
        fixed, slices, last = given[: self.fixed], given[self.fixed : -1], given[-1]
        return (fixed, (*slices, last[1:]), last[0]) if self.forced else (fixed, slices, last)

    @lazy
    def on_numpy(self) -> Callable[..., Any]:
        return type(self).runs(self)

    def by_steps(self, *given: Any) -> Any:
        """The loop in Python, for arrays of NumPy."""
        fixed, slices, state = self.operands(given)
        run = self.step
        states = np.empty((1 if self.last else self.length + 1, *np.shape(state)), np.dtype(self.setting.dtype))
        states[0] = state
        parts = zip(*slices) if slices else repeat((), self.length)
        with np.errstate(all="ignore"):
            for t, own in enumerate(parts, 1):
                state = run(*fixed, *own, state)
                if not self.last:
                    states[t] = state
        if not self.last:
            return states
        states[0] = state
        return states[0]

    def on_torch(self, *given: Any) -> Any:
        import torch

        fixed, slices, state = self.operands(given)
        states = [state]
        for t in range(self.length):
            states.append(self.step(*fixed, *[x[t] for x in slices], states[-1]))
        return states[-1] if self.last else torch.stack(states)

    def on_jax(self, *given: Any) -> Any:
        import jax
        import jax.numpy as jnp

        fixed, slices, state = self.operands(given)

        def step(state: Any, parts: Any) -> Any:
            new = self.step(*fixed, *parts, state)
            return new, None if self.last else new

        final, states = jax.lax.scan(step, state, slices, length=self.length)
        return final if self.last else jnp.concatenate([state[None], states])


@dataclass(eq=False)
class Branched:
    """Branches, of which a number tells the one that runs; numbers beyond are the first or the last."""

    programs: list[Program]
    setting: Setting
    shape: tuple[int, ...]
    name: str
    kind: ClassVar[str] = "f"

    @lazy
    def steps(self) -> list[Callable[..., Any]]:
        return [Rolled.made(program, self.setting).run for program in self.programs]

    def on(self, backend: str) -> Callable[..., Any]:
        """The choice for arrays of a backend."""
        return {"numpy": self.on_numpy, "torch": self.on_torch, "jax": self.on_jax}[backend]

    def chosen(self, number: Any) -> Callable[..., Any]:
        return self.steps[min(max(int(number), 0), len(self.steps) - 1)]

    def on_numpy(self, number: Any, *operands: Any) -> Any:
        return np.array(np.broadcast_to(self.chosen(number)(*operands), self.shape), self.setting.dtype)[()]

    def on_torch(self, number: Any, *operands: Any) -> Any:
        return self.chosen(number)(*operands).expand(self.shape)

    def on_jax(self, number: Any, *operands: Any) -> Any:
        import jax
        import jax.numpy as jnp

        runs = [lambda *given, run=run: jnp.broadcast_to(run(*given), self.shape) for run in self.steps]
        return jax.lax.switch(number.astype("int32"), runs, *operands)
