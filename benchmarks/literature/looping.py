"""Programs that are loops: networks, filters, dynamic programming, integrators, iterations, a tree.

Each is written twice. ``plain`` is what a user writes in NumPy, with Python's own loop or recursion, over a module like
NumPy. ``scanned`` has its loop in a function ``scan(step, carry, xs)``, by the names and trees of ``jax.lax.scan``, so
that one text is run by ``jax.lax.scan`` and by ``rc.scan``. Both are differentiated by their first argument, an array
or a tuple of them; the Hessian is that by a few parameters: by the whole array, or by one of the tuple.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, log2
from typing import Any

import numpy

from literature.corpus import Case, Function
from literature.mixtures import logsumexp
from literature.networks import sigmoid

Scan = Callable[..., Any]


@dataclass(frozen=True)
class Loop:
    """A loop in both texts; ``data`` draws the arguments for a number of steps.

    ``few`` is which of the first argument's arrays the Hessian is taken by, None where that is one array; ``counted``
    says that no argument tells how many steps there are.
    """

    name: str
    plain: Function
    scanned: Function
    data: Callable[[Any, int], tuple[Any, ...]]
    few: int | None = None
    counted: bool = False

    def case(self, steps: int, kind: str, scan: Scan | None = None) -> Case:
        """What a library runs: the plain text, or that of ``scan``, and the same arguments whenever it is asked."""
        args = self.data(numpy.random.default_rng([11, steps]), steps)
        function = self.plain if scan is None else scanned_by(self.scanned, scan)
        if self.counted:
            function = partial(function, steps=steps)
        if kind == "hessian" and self.few is not None:
            function, args = by_part(function, self.few), (args[0][self.few], *args)
        return Case(f"{self.name} {steps}", function, args, None)


def scanned_by(function: Function, scan: Scan) -> Function:
    return lambda np, *args, **fixed: function(np, scan, *args, **fixed)


def by_part(function: Function, few: int) -> Function:
    """The same as a function of one array of its parameters, then of all of them and the rest."""

    def of_part(np: Any, part: Any, parameters: Any, *rest: Any) -> Any:
        return function(np, (*parameters[:few], part, *parameters[few + 1 :]), *rest)

    return of_part


# Recurrent networks


def rnn(np: Any, parameters: Any, xs: Any, ys: Any) -> Any:
    """The squared errors of a network with one hidden layer that reads a sequence."""
    W, U, v, b = parameters
    h, total = np.zeros(b.shape[0]), 0.0
    for t in range(len(xs)):
        h = np.tanh(W @ h + U @ xs[t] + b)
        total = total + (v @ h - ys[t]) ** 2
    return total / len(xs)


def rnn_scanned(np: Any, scan: Scan, parameters: Any, xs: Any, ys: Any) -> Any:
    W, U, v, b = parameters

    def step(h: Any, seen: Any) -> tuple[Any, Any]:
        x, y = seen
        h = np.tanh(W @ h + U @ x + b)
        return h, (v @ h - y) ** 2

    _, errors = scan(step, np.zeros(b.shape[0]), (xs, ys))
    return np.sum(errors) / len(xs)


def rnn_data(rng: Any, steps: int) -> tuple:
    n, k = 16, 4
    parameters = (rng.normal(size=(n, n)) / n, rng.normal(size=(n, k)), rng.normal(size=n), 0.1 * rng.normal(size=n))
    return parameters, rng.normal(size=(steps, k)), rng.normal(size=steps)


def lstm_step(np: Any, parameters: Any, h: Any, c: Any, x: Any) -> tuple[Any, Any]:
    W, b = parameters
    n = h.shape[0]
    gates = W @ np.concatenate([h, x]) + b
    take, forget, give = sigmoid(np, gates[:n]), sigmoid(np, gates[n : 2 * n]), sigmoid(np, gates[2 * n : 3 * n])
    c = forget * c + take * np.tanh(gates[3 * n :])
    return give * np.tanh(c), c


def lstm(np: Any, parameters: Any, xs: Any, ys: Any) -> Any:
    """The squared errors of an LSTM's first unit."""
    h = c = np.zeros(parameters[1].shape[0] // 4)
    total = 0.0
    for x, y in zip(xs, ys):
        h, c = lstm_step(np, parameters, h, c, x)
        total = total + (h[0] - y) ** 2
    return total / len(xs)


def lstm_scanned(np: Any, scan: Scan, parameters: Any, xs: Any, ys: Any) -> Any:
    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        h, c = lstm_step(np, parameters, carry[0], carry[1], x)
        return (h, c), h[0]

    zeros = np.zeros(parameters[1].shape[0] // 4)
    _, found = scan(step, (zeros, zeros), xs)
    return np.sum((found - ys) ** 2) / len(xs)


def lstm_data(rng: Any, steps: int) -> tuple:
    n, k = 8, 4
    parameters = (rng.normal(size=(4 * n, n + k)) / n**0.5, 0.1 * rng.normal(size=4 * n))
    return parameters, rng.normal(size=(steps, k)), rng.normal(size=steps)


# Filters


def garch(np: Any, theta: Any, y: Any) -> Any:
    """Twice the negative log-likelihood of a series whose variance follows its squares."""
    h, total = theta[0], 0.0
    for t in range(len(y)):
        total += np.log(h) + y[t] ** 2 / h
        h = theta[1] + theta[2] * y[t] ** 2 + theta[3] * h
    return total


def garch_scanned(np: Any, scan: Scan, theta: Any, y: Any) -> Any:
    def step(carry: Any, y: Any) -> tuple[Any, None]:
        h, total = carry
        total = total + np.log(h) + y**2 / h
        return (theta[1] + theta[2] * y**2 + theta[3] * h, total), None

    (_, total), _ = scan(step, (theta[0], 0.0), y)
    return total


def garch_data(rng: Any, steps: int) -> tuple:
    return numpy.array([1.0, 0.1, 0.1, 0.8]), rng.normal(size=steps)


def kalman_step(np: Any, logs: Any, model: Any, m: Any, P: Any, y: Any) -> tuple[Any, Any, Any]:
    """Predicted, compared with what was measured, corrected; and the negative log-likelihood of that."""
    F, H, Q = model
    m, P = F @ m, F @ P @ F.T + np.exp(logs[0]) * Q
    S = H @ P @ H.T + np.exp(logs[1]) * np.eye(2)
    error = y - H @ m
    gain = np.linalg.solve(S, H @ P).T
    loss = 0.5 * (error @ np.linalg.solve(S, error) + np.linalg.slogdet(S)[1])
    return m + gain @ error, P - gain @ H @ P, loss


def kalman(np: Any, logs: Any, F: Any, H: Any, Q: Any, ys: Any) -> Any:
    """The negative log-likelihood of positions in the plane, by the logs of the three variances."""
    m, P, total = np.zeros(4), np.exp(logs[2]) * np.eye(4), 0.0
    for y in ys:
        m, P, loss = kalman_step(np, logs, (F, H, Q), m, P, y)
        total = total + loss
    return total


def kalman_scanned(np: Any, scan: Scan, logs: Any, F: Any, H: Any, Q: Any, ys: Any) -> Any:
    def step(carry: Any, y: Any) -> tuple[Any, Any]:
        m, P, loss = kalman_step(np, logs, (F, H, Q), carry[0], carry[1], y)
        return (m, P), loss

    _, losses = scan(step, (np.zeros(4), np.exp(logs[2]) * np.eye(4)), ys)
    return np.sum(losses)


def kalman_data(rng: Any, steps: int) -> tuple:
    eye, zero, dt = numpy.eye(2), numpy.zeros((2, 2)), 0.1
    F = numpy.block([[eye, dt * eye], [zero, eye]])
    Q = numpy.block([[dt**3 / 3 * eye, dt**2 / 2 * eye], [dt**2 / 2 * eye, dt * eye]])
    places = numpy.cumsum(0.1 * numpy.cumsum(0.3 * rng.normal(size=(steps, 2)), axis=0), axis=0)
    return numpy.array([-1.0, -2.0, 0.0]), F, numpy.eye(2, 4), Q, places + 0.4 * rng.normal(size=(steps, 2))


# Dynamic programming


def viterbi(np: Any, parameters: Any, scores: Any) -> Any:
    """The best path through states, its maxima made smooth; by scores of transitions and offsets of states."""
    A, b = parameters
    v = scores[0] + b
    for t in range(1, len(scores)):
        v = logsumexp(np, v + A) + scores[t] + b
    return logsumexp(np, v)


def viterbi_scanned(np: Any, scan: Scan, parameters: Any, scores: Any) -> Any:
    A, b = parameters
    v, _ = scan(lambda v, score: (logsumexp(np, v + A) + score + b, None), scores[0] + b, scores[1:])
    return logsumexp(np, v)


def viterbi_data(rng: Any, steps: int) -> tuple:
    return (rng.normal(size=(8, 8)), rng.normal(size=8)), rng.normal(size=(steps, 8))


NEVER = -1e30  # the log of a probability that is none


def ctc_begin(np: Any, parameters: Any, labels: Any) -> tuple[Any, Any]:
    """The logs of the probabilities of all classes at all times, and of the first two labels at the first."""
    logits, offsets = parameters
    logits = logits + offsets
    logs = logits - logsumexp(np, logits)[:, None]
    return logs, np.concatenate([logs[0][labels[:2]], NEVER * np.ones(len(labels) - 2)])


def ctc_step(np: Any, a: Any, logs: Any, labels: Any, skips: Any) -> Any:
    """A label stays, or comes after the one before it, or after the one before that where there is a blank between."""
    never = NEVER * np.ones(2)
    one, two = np.concatenate([never[:1], a[:-1]]), np.concatenate([never, a[:-2]])
    return np.logaddexp(np.logaddexp(a, one), two + skips) + logs[labels]


def ctc(np: Any, parameters: Any, labels: Any, skips: Any) -> Any:
    """The negative log-probability of labels under all alignments; by the logits of all times, and offsets."""
    logs, a = ctc_begin(np, parameters, labels)
    for t in range(1, len(logs)):
        a = ctc_step(np, a, logs[t], labels, skips)
    return -np.logaddexp(a[-1], a[-2])


def ctc_scanned(np: Any, scan: Scan, parameters: Any, labels: Any, skips: Any) -> Any:
    logs, a = ctc_begin(np, parameters, labels)
    a, _ = scan(lambda a, now: (ctc_step(np, a, now, labels, skips), None), a, logs[1:])
    return -np.logaddexp(a[-1], a[-2])


def ctc_data(rng: Any, steps: int) -> tuple:
    classes, word = 6, [1, 3, 3, 2]
    labels = numpy.zeros(2 * len(word) + 1, int)
    labels[1::2] = word
    skips = numpy.full(len(labels), NEVER)
    skips[2:][(labels[2:] != 0) & (labels[2:] != labels[:-2])] = 0.0
    return (rng.normal(size=(steps, classes)), 0.1 * rng.normal(size=classes)), labels, skips


# Integrators


def rk4(slope: Callable[[Any], Any], s: Any, h: float) -> Any:
    a = slope(s)
    b = slope(s + 0.5 * h * a)
    c = slope(s + 0.5 * h * b)
    d = slope(s + h * c)
    return s + h / 6 * (a + 2 * b + 2 * c + d)


def lorenz_slope(np: Any, p: Any) -> Callable[[Any], Any]:
    def slope(s: Any) -> Any:
        x, y, z = s[0], s[1], s[2]
        return np.stack([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])

    return slope


def lorenz(np: Any, p: Any, start: Any, seen: Any) -> Any:
    """How far Lorenz's system, in steps of Runge and Kutta, is from what was seen; by its three parameters."""
    slope, s, total = lorenz_slope(np, p), start, 0.0
    for t in range(len(seen)):
        s = rk4(slope, s, 0.01)
        total = total + np.sum((s - seen[t]) ** 2)
    return total / len(seen)


def lorenz_scanned(np: Any, scan: Scan, p: Any, start: Any, seen: Any) -> Any:
    slope = lorenz_slope(np, p)

    def step(s: Any, now: Any) -> tuple[Any, Any]:
        s = rk4(slope, s, 0.01)
        return s, np.sum((s - now) ** 2)

    _, errors = scan(step, start, seen)
    return np.sum(errors) / len(seen)


def lorenz_data(rng: Any, steps: int) -> tuple:
    """With parameters at which it settles, so that derivatives stay finite however long it runs."""
    return numpy.array([10.0, 14.0, 8 / 3]), numpy.array([1.0, 1.0, 1.0]), 5 + rng.normal(size=(steps, 3))


def pendulum_step(np: Any, p: Any, angle: Any, speed: Any, h: float) -> tuple[Any, Any]:
    """Numbers alone, written out."""

    def pull(angle: Any, speed: Any) -> Any:
        return -p[0] * np.sin(angle) - p[1] * speed

    a1, s1 = speed, pull(angle, speed)
    a2, s2 = speed + 0.5 * h * s1, pull(angle + 0.5 * h * a1, speed + 0.5 * h * s1)
    a3, s3 = speed + 0.5 * h * s2, pull(angle + 0.5 * h * a2, speed + 0.5 * h * s2)
    a4, s4 = speed + h * s3, pull(angle + h * a3, speed + h * s3)
    return angle + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), speed + h / 6 * (s1 + 2 * s2 + 2 * s3 + s4)


def pendulum(np: Any, p: Any, seen: Any) -> Any:
    """How far a damped pendulum is from angles that were seen; by its pull, its damping and its first angle."""
    angle, speed, total = p[2], 0.0, 0.0
    for now in seen:
        angle, speed = pendulum_step(np, p, angle, speed, 0.02)
        total = total + (angle - now) ** 2
    return total


def pendulum_scanned(np: Any, scan: Scan, p: Any, seen: Any) -> Any:
    def step(carry: Any, now: Any) -> tuple[Any, None]:
        angle, speed, total = carry
        angle, speed = pendulum_step(np, p, angle, speed, 0.02)
        return (angle, speed, total + (angle - now) ** 2), None

    (_, _, total), _ = scan(step, (p[2], 0.0, 0.0), seen)
    return total


def pendulum_data(rng: Any, steps: int) -> tuple:
    return numpy.array([9.8, 0.2, 1.0]), 0.3 * rng.normal(size=steps)


def heat_step(np: Any, k: Any, x: Any) -> Any:
    flow = (k[0] + k[1] * x[1:] ** 2) * (x[1:] - x[:-1])
    return np.concatenate([x[:1], x[1:-1] + 0.2 * (flow[1:] - flow[:-1]), x[-1:]])


def heat(np: Any, parameters: Any, wanted: Any, steps: int) -> Any:
    """What is missing on a rod after some time; by the heat at the start, and how it is conducted."""
    x, k = parameters
    for _ in range(steps):
        x = heat_step(np, k, x)
    return np.sum((x - wanted) ** 2)


def heat_scanned(np: Any, scan: Scan, parameters: Any, wanted: Any, steps: int) -> Any:
    x, k = parameters
    x, _ = scan(lambda x, _: (heat_step(np, k, x), None), x, None, length=steps)
    return np.sum((x - wanted) ** 2)


def heat_data(rng: Any, steps: int) -> tuple:
    return (rng.normal(size=50), numpy.array([1.0, 0.1])), rng.normal(size=50)


# Iterations


def transport(np: Any, parameters: Any, y: Any) -> tuple[Any, Any]:
    x, shift = parameters
    cost = np.sum(((x + shift)[:, None, :] - y) ** 2, axis=2)
    return cost, np.exp(-5 * cost)


def sinkhorn(np: Any, parameters: Any, y: Any, steps: int) -> Any:
    """The cost of transport between two clouds of points, by rounds of scaling; by the points, and a shift of all."""
    cost, K = transport(np, parameters, y)
    n, m = cost.shape
    u, v = np.ones(n), np.ones(m)
    for _ in range(steps):
        u = 1 / n / (K @ v)
        v = 1 / m / (K.T @ u)
    return np.sum(u[:, None] * K * v * cost)


def sinkhorn_scanned(np: Any, scan: Scan, parameters: Any, y: Any, steps: int) -> Any:
    cost, K = transport(np, parameters, y)
    n, m = cost.shape

    def step(carry: Any, _: Any) -> tuple[Any, None]:
        u = 1 / n / (K @ carry[1])
        return (u, 1 / m / (K.T @ u)), None

    (u, v), _ = scan(step, (np.ones(n), np.ones(m)), None, length=steps)
    return np.sum(u[:, None] * K * v * cost)


def sinkhorn_data(rng: Any, steps: int) -> tuple:
    return (rng.uniform(size=(20, 2)), numpy.array([0.1, -0.1])), rng.uniform(size=(15, 2))


# A tree: a vector at each leaf, and at each node one of those of its two branches. Its nodes are the steps.


def joined(np: Any, parameters: Any, left: Any, right: Any) -> Any:
    W, b = parameters
    return np.tanh(W @ np.concatenate([left, right]) + b)


def tree(np: Any, parameters: Any, leaves: Any) -> Any:
    """The squares at the root, by recursion."""

    def value(first: int, last: int) -> Any:
        if last - first == 1:
            return leaves[first]
        middle = (first + last) // 2
        return joined(np, parameters, value(first, middle), value(middle, last))

    return np.sum(value(0, len(leaves)) ** 2)


def tree_scanned(np: Any, scan: Scan, parameters: Any, leaves: Any) -> Any:
    """With a stack: a leaf is put on it, a node takes two off and puts one on."""
    count, n = leaves.shape
    depth = ceil(log2(count)) + 2
    order = numpy.array(visits(0, count))

    def step(stack: Any, seen: Any) -> tuple[Any, None]:
        is_leaf, leaf = seen
        put = np.concatenate([leaf[None], stack[:-1]])
        node = joined(np, parameters, stack[1], stack[0])
        taken = np.concatenate([node[None], stack[2:], np.zeros((1, n))])
        return np.where(is_leaf, put, taken), None

    stack, _ = scan(step, np.zeros((depth, n)), (np.asarray(order >= 0), leaves[order]))
    return np.sum(stack[0] ** 2)


def visits(first: int, last: int) -> list[int]:
    """What is visited after its branches: leaves by their numbers, nodes as -1."""
    if last - first == 1:
        return [first]
    middle = (first + last) // 2
    return [*visits(first, middle), *visits(middle, last), -1]


def tree_data(rng: Any, steps: int) -> tuple:
    n = 4
    parameters = (rng.normal(size=(n, 2 * n)) / n**0.5, 0.1 * rng.normal(size=n))
    return parameters, rng.normal(size=((steps + 1) // 2, n))


LOOPS: tuple[Loop, ...] = (
    Loop("rnn", rnn, rnn_scanned, rnn_data, 3),
    Loop("lstm", lstm, lstm_scanned, lstm_data, 1),
    Loop("garch", garch, garch_scanned, garch_data),
    Loop("kalman", kalman, kalman_scanned, kalman_data),
    Loop("viterbi", viterbi, viterbi_scanned, viterbi_data, 1),
    Loop("ctc", ctc, ctc_scanned, ctc_data, 1),
    Loop("lorenz", lorenz, lorenz_scanned, lorenz_data),
    Loop("pendulum", pendulum, pendulum_scanned, pendulum_data),
    Loop("heat", heat, heat_scanned, heat_data, 1, counted=True),
    Loop("sinkhorn", sinkhorn, sinkhorn_scanned, sinkhorn_data, 1, counted=True),
    Loop("tree", tree, tree_scanned, tree_data, 1),
)
LOOP_BY_NAME = {loop.name: loop for loop in LOOPS}
