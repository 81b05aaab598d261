"""Loops as they run: the program of one step, called again and again, or all steps by what the backend has for that.

A step of a program that is a loop is a call of code that only runs (see ``outside.py``): it is given what is fixed,
what is sliced and the initial state, and gives the states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from ricci.caches import lazy
from ricci.compiler.bind import Setting
from ricci.compiler.plan.axis_names import Names
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import Step, Value, shape_text


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
    runs: ClassVar[Callable[[Rolled, str], Callable[..., Any]]]  # so does what makes machine code of loops

    def __getstate__(self) -> dict[str, Any]:
        """What it is; what was made of it is made anew."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @lazy
    def step(self) -> Callable[..., Any]:
        """One step as a function of its inputs in their order."""
        return type(self).made(self.program, self.stepwise).run

    @property
    def stepwise(self) -> Setting:
        """The setting of a program that is run in a loop in Python."""
        options = (*[o for o in self.setting.options if o[0] != "fused"], ("bare", True))
        return replace(self.setting, options=options)

    def on(self, backend: str) -> Callable[..., Any]:
        """The loop for arrays of a backend."""
        return getattr(self, f"on_{backend}")

    # To look at

    def names(self) -> dict[Value, str]:
        """What the inputs of a step are called: ``p0``, … are the same in all steps, ``x0``, … one for each of them.

        What is added is ``f``, the state ``s``.
        """
        *inputs, state = self.program.inputs.values()
        added = [inputs.pop()] if self.forced else []
        named = {v: f"p{k}" if k < self.fixed else f"x{k - self.fixed}" for k, v in enumerate(inputs)}
        return {**named, **dict.fromkeys(added, "f"), state: "s"}

    def listed(
        self, operands: Sequence[str], name: str, before: str, axes: Sequence[Names]
    ) -> list[tuple[Step | None, tuple[str, str, str]]]:
        """The rows of a table of steps: the head of the loop, its body, and the next state; the loop is ``name``.

        ``axes`` are what those of the operands are called.
        """
        inner, (result,) = before + "  ", self.program.results
        own = {**self.names(), **{s.out: f"{name}.{k}" for k, s in enumerate(self.program.steps)}}
        told = []
        for short, operand in zip(self.names().values(), operands, strict=False):
            moving = {"p": "", "x": "[t]", "f": "[t + 1]"}.get(short[0])
            told += [] if moving is None else [f"{short} = {operand}{moving}"]
        start = f"s = {operands[-1]}{'[0]' if self.forced else ''}"
        new = own.get(result.value, "constant") if isinstance(result.value, Value) else str(result.value)
        head = f"{inner}{start}; for t in range({self.length}):{'  ' if told else ''}{', '.join(told)}"
        body = self.program.with_axes(self.axes(axes)).listed(own, inner + "  ")
        return [(None, ("", head, "")), *body, (None, ("", f"{inner}  s = {new}", shape_text(result.shape)))]

    def axes(self, given: Sequence[Names]) -> dict[Value, Names]:
        """What the axes of the inputs of a step are called, from those of the operands."""
        fixed, slices, (last,) = given[: self.fixed], given[self.fixed : -1], given[-1:]
        added = [last[1:]] if self.forced else []
        state = last[1:] if self.forced else last
        own = [*fixed, *[names[1:] for names in slices], *added, state]
        return dict(zip(self.program.inputs.values(), own, strict=True))

    def listing(self) -> str:
        """The text of the loop, as NumPy would run it step by step."""
        names = list(self.names().values())
        lines = type(self).made(self.program, self.stepwise).source.text.splitlines()[1:]
        body = [re.sub(r"\bin(\d+)\b", lambda m: names[int(m[1])], line.removeprefix("    ")) for line in lines]
        slices = [n for n in names if n.startswith("x") or n == "f"]
        parts = [f"{n} = all_{n}[t{' + 1' if n == 'f' else ''}]" for n in slices]
        given = [n if n.startswith("p") or n == "s" else f"all_{n}" for n in names if n != "s" or not self.forced]
        start = ["s = all_f[0]"] if self.forced else []
        body = [line.replace("return ", "s = ", 1) if line.lstrip().startswith("return ") else line for line in body]
        kept = "the last state" if self.last else "all states"
        text = [f"def {self.name}({', '.join(given)}):  # {kept} of s"]
        text += [f"    {line}" for line in start]
        text += [f"    for t in range({self.length}):", *[f"        {line}" for line in [*parts, *body]]]
        inner = [step.loop.listing() for step in self.program.steps if step.loop is not None]
        return "\n".join([*inner, *[f"# {line}" for line in text]])

    def operands(self, given: tuple) -> tuple[tuple, tuple, Any]:
        """What is fixed, what has an entry for each step, and the initial state."""
        fixed, slices, last = given[: self.fixed], given[self.fixed : -1], given[-1]
        return (fixed, (*slices, last[1:]), last[0]) if self.forced else (fixed, slices, last)

    @lazy
    def on_numpy(self) -> Callable[..., Any]:
        return type(self).runs(self, "numpy")

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

    @lazy
    def on_torch(self) -> Callable[..., Any]:
        return type(self).runs(self, "torch")

    def by_tensors(self, *given: Any) -> Any:
        """The loop in Python, for tensors of PyTorch."""
        import torch

        fixed, slices, state = self.operands(given)
        run, states = self.step, [state]
        parts = zip(*[x.unbind() for x in slices], strict=True) if slices else repeat((), self.length)
        for own in parts:
            state = run(*fixed, *own, state)
            if not self.last:
                states.append(state)
        return state if self.last else torch.stack(states)

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
        return getattr(self, f"on_{backend}")

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
