"""Random functions with loops, as text: what is carried in all ways, and what keeps the steps of a loop apart."""

from __future__ import annotations

import random

import numpy as np

HEADS = {  # how a loop goes, and what it calls the number, the row and the entry of a step
    "for t in range(len(ys)):": ("t", "xs[t]", "ys[t]"),
    "for t in range(1, len(ys)):": ("t", "xs[t - 1]", "ys[t]"),
    "for t in range(len(ys) - 1, -1, -1):": ("t", "xs[t]", "ys[len(ys) - 1 - t]"),
    "for t in reversed(range(len(ys))):": ("t", "xs[t]", "ys[t]"),
    "for x, y in zip(xs, ys):": ("1", "x", "y"),
    "for t, x in enumerate(xs):": ("t", "x", "ys[t]"),
    "for t, (x, y) in enumerate(zip(xs, ys)):": ("t", "x", "y"),
    "for x in xs:": ("2", "x", "x[0]"),
    "for x in reversed(xs):": ("2", "x", "x[1]"),
    "for _ in range(len(ys)):": ("3", "xs[0]", "ys[-1]"),
}
BEGIN = """\
def f(w, xs, ys):
    a, b, c, n = w[0, 0], 0.0, 1.0, 0
    u, v, z = np.zeros(3), w[1] * 1.0, w[2]
    pair, table, both, hs, gs = (w[0, 1], 0.5), {"h": w[1, 1]}, [w[0], z], [], [a]
    def mixed(p, q):
        return np.sin(p) + 0.5 * q * w[2, 2]
"""
END = """\
    total = a + b + c + n + pair[0] - pair[1] + table["h"] + np.sum(both[0] * both[1])
    total = total + np.sum(u * v) + np.sum(z) + gs[-1] + len(hs)
    for h in hs[:4]:
        total = total + np.sum(h)
    return np.sum(total)
"""
SCALARS = ("a", "b", "c", "pair[0]", "pair[1]", 'table["h"]', "gs[-1]")
VECTORS = ("u", "v", "z", "both[0]", "both[1]")


class LoopText:
    """The text of a function, drawn by a seed; ``wild`` has more of what keeps steps apart."""

    def __init__(self, seed: int, wild: bool):
        self.draw = random.Random(seed)
        self.head = self.draw.choice(list(HEADS))
        self.number, self.row, self.item = HEADS[self.head]
        self.wild = wild
        lines = [f"    {self.head}"]
        for _ in range(self.draw.randint(1, 6)):
            lines += [f"        {line}" for line in self.statement(0)]
        self.after = self.draw.choice(
            ["", f"    a = a + np.sum({self.row}) * {self.number}\n", "    z = np.stack([v, u])\n"]
        )
        if self.draw.random() < 0.3:
            lines.append("    b = b + np.sum(np.stack(gs)) if len(gs) > 3 else b")
        self.text = BEGIN + "\n".join(lines) + "\n" + self.after + END

    def scalar(self) -> str:
        a, b = self.draw.choice(SCALARS), self.draw.choice(SCALARS)
        return self.draw.choice(
            [
                *(f"0.5 * np.sin({a})", f"0.3 * {a} + 0.4 * np.cos({b})", f"mixed({a}, {b}) * 0.5", a),
                *(f"np.tanh({a} * {self.item})", f"0.5 * {self.item} + w[1, 2]", f"0.1 * {self.number} + 0.5 * {a}"),
                *(f"np.sum({self.vector_name()} * {self.row}) * 0.1", f"{self.vector_name()}[1] * 0.5"),
                *(f"0.5 * {a} / (1 + {self.number} ** 2)", f"np.log(1 + {a} ** 2)", f"OUTSIDE[1] * 0.5 * {a}"),
            ]
        )

    def vector_name(self) -> str:
        return self.draw.choice(VECTORS)

    def vector(self) -> str:
        p, q = self.vector_name(), self.vector_name()
        return self.draw.choice(
            [
                *(f"np.tanh(w @ {p} + {self.row})", f"0.5 * {p} + 0.2 * np.sin({q})", f"np.sin({p} * {self.row})"),
                *(f"0.5 * {p} * {self.draw.choice(SCALARS)}", f"np.ones(3) * 0.1 + 0.5 * {p}", f"{p}[::-1] * 0.5"),
                *(f"np.concatenate([{p}[1:], {q}[:1]]) * 0.7", p, f"np.stack([{self.scalar()}, a, b]) * 0.5"),
                *(f"mixed({p}, {q})", f"OUTSIDE * {p} * 0.5", f"np.where({p} > 0, {p}, 0.1) * 0.5"),
            ]
        )

    def statement(self, depth: int) -> list[str]:
        kind = self.draw.random()
        if depth < 2 and kind < 0.08:
            count = self.draw.choice([2, 9])
            return [f"for _j in range({count}):", *[f"    {line}" for line in self.statement(depth + 1)]]
        if self.wild and depth < 2 and kind < 0.2:
            asked = self.draw.choice([f"{self.number} == 6", "n < 7", f"{self.number} % 3 == 0", "len(hs) < 5", "True"])
            return [f"if {asked}:", *[f"    {line}" for line in self.statement(depth + 1)]]
        if self.wild and kind < 0.25:
            return [
                self.draw.choice(["n += 1", f"hs.append({self.number})", f"if {self.number} == 8: break", "c = 0.5"])
            ]
        s, p = self.scalar(), self.vector()
        one, other = self.draw.choice(SCALARS[:3]), self.draw.choice(VECTORS[:3])
        return [
            self.draw.choice(
                [
                    *(f"{one} = {s}", f"{one} += 0.1 * {s}", f"{other} = {p}", f"pair = ({s}, {self.scalar()})"),
                    *(
                        f'table["h"] = {s}',
                        f'table = {{"h": {s}}}',
                        f"both[0], both[1] = both[1], {p}",
                        f"gs.append({s})",
                    ),
                    *("a, b = b, a", "u, v = v, u", f"v = {p}", f"b = b + 0.1 * {s}", f"hs.append({p})", "z = v"),
                    *(["v = v * w[0]; v *= 0.9", "v = v * w[0]; v[0] = 0.3 * b"] if self.wild else [f"u = {p}"]),
                ]
            )
        ]

    def function(self):
        space = {"np": np, "OUTSIDE": np.array([0.5, -0.3, 0.8])}
        exec(compile(self.text, "<a random loop>", "exec"), space)
        return space["f"]


def arrays(seed: int, steps: int):
    draw = np.random.default_rng(seed)
    return 0.5 * draw.normal(size=(3, 3)), draw.normal(size=(steps, 3)), draw.normal(size=steps)
