"""The index names of the text for the axes of values, carried from inputs through steps; for einsums, as letters.

Plans are kept by what they compute, whatever its indices are called, so names are found when somebody looks at one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ricci.compiler.plan.program_steps import Form, Step, Value

LETTERS = "ijklmnpqrstuvwxyzabcdefghoABCDEFGHIJKLMNOPQRSTUVWXYZ"
LATIN = dict(zip("αβγδεζηθικλμνξοπρστυφχψω", "abgdezhtiklmnxoprstufxpw", strict=True))
Names = tuple[str, ...]


class NamedAxes:
    """What axes are called: those of inputs by the text, those of results by what was asked for."""

    def __init__(self, inputs: Mapping[Value, Names] | None = None):
        self.known: dict[Value, Names] = dict(inputs or {})

    def of(self, value: Value) -> Names:
        return self.known.get(value, ("",) * len(value.shape))

    def follow(self, steps: Sequence[Step]) -> None:
        """Names for what steps make, from those of their operands."""
        for step in steps:
            own = self.labelled(step)
            self.known[step.out] = tuple([own.get(x, "") for x in step.labels])

    def labelled(self, step: Step) -> dict[int, str]:
        """The labels of a step that have names."""
        own: dict[int, str] = {}
        pairs: list[tuple[int, str]] = []
        if step.op == "read":
            names = self.of(step.args[0][0])  # type: ignore[arg-type]
            pairs = [(form.label, n) for form, n in zip(step.params, names, strict=True) if form.label is not None]
        elif step.op == "place":
            has_base = isinstance(step.params[0], bool)
            if not has_base:
                value, labels = step.args[0]
                named = dict(zip(labels, self.of(value), strict=True))  # type: ignore[arg-type]
                for x, form in zip(step.labels, step.params[0], strict=True):
                    if isinstance(form, Form) and form.label is not None:
                        pairs.append((x, named.get(form.label, "")))
        else:
            for value, labels in step.args:
                if isinstance(value, Value):
                    pairs += zip(labels, self.of(value), strict=False)
        for x, name in pairs:
            if name and not own.get(x):
                own[x] = name
        return own

    def spelled(self, step: Step, kept: Sequence[int] | None = None) -> str:
        """The labels of a step as an einsum string; ``kept`` are those of the result, where it is not the step's."""
        own = self.labelled(step)
        asked = self.known.get(step.out, ())
        own.update({x: name for x, name in zip(step.labels, asked, strict=False) if name})
        if step.op == "read":
            sides = [tuple([form.label for form in step.params])]
        else:
            sides = [labels for _, labels in step.args]
        labels = dict.fromkeys([x for side in sides for x in side])
        letters = letters_for({x: own.get(x, "") for x in labels})
        given = ",".join(["".join([letters[x] for x in side]) for side in sides])
        return f"{given}->{''.join([letters[x] for x in (step.labels if kept is None else kept)])}"


def letters_for(names: Mapping[int, str]) -> dict[int, str]:
    """A letter for each label: that of its name, or one that is free."""
    letters: dict[int, str] = {}
    taken: set[str] = set()
    for exact in (True, False):
        for x, name in names.items():
            if x in letters:
                continue
            plain = name if exact else name[:1]
            letter = LATIN.get(plain, plain)
            if len(letter) == 1 and letter.isascii() and letter.isalpha() and letter not in taken:
                letters[x] = letter
                taken.add(letter)
    for x, name in names.items():
        if x not in letters:
            start = LETTERS.find(name[:1]) + 1 if name else 0
            letters[x] = next(c for c in LETTERS[start:] + LETTERS if c not in taken)
            taken.add(letters[x])
    return letters
