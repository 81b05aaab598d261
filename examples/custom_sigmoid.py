"""A derivative of one's own, with ``rc.custom``: the sigmoid, three times over.

``s(x) = 1 / (1 + exp(-x))``. The chain rule gives ``s'(x) = exp(-x) / (1 + exp(-x))²``: the exponential once more, and
infinity over infinity where it overflows. The rule ``s' = s (1 - s)`` takes what is there already. One rule serves
forward and reverse mode, all orders, traced functions and eager tensors.
"""

import time

import numpy as np

import ricci as rc


def plain(x):
    return 1 / (1 + np.exp(-x))


@rc.custom
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@sigmoid.derivative
def _(x):
    y = sigmoid(x)
    return y * (1 - y)


def three_times(s):
    return lambda x: s(s(s(x))).sum()


def eager(s, x):
    """The gradient of three sigmoids by an eager tensor, and the number of operations that it recorded."""
    tensor = rc.Tensor(x)
    with np.errstate(over="ignore", invalid="ignore"):
        y = three_times(s)(tensor)
        y.backward()
    return tensor.grad.numpy(), rc.draw(y).dot.count("shape=ellipse")


def seconds(function, x):
    """The best time of some calls."""
    times = []
    for _ in range(30):
        start = time.perf_counter()
        function(x)
        times.append(time.perf_counter() - start)
    return min(times)


# Line by line: the chain rule as it stands overflows at -800. With the rule it does not, and records less.
points = np.array([-800.0, 0.0, 100.0])
(without, many), (with_rule, few) = eager(plain, points), eager(sigmoid, points)
print(f"at x =                    {points}")
print(f"without the rule, eager:  {without}, {many} operations recorded")
print(f"with the rule, eager:     {with_rule}, {few} operations recorded")
assert np.isnan(without[0]) and with_rule[0] == 0
assert np.isclose(with_rule[1], without[1]) and few < many

# Traced: ricci recognises the sigmoid and its derivative, so that nothing overflows, with or without the rule.
gradients = {"without the rule": rc.grad(three_times(plain)), "with the rule": rc.grad(three_times(sigmoid))}
for name, gradient in gradients.items():
    found = gradient(points)
    print(f"{name + ', traced:':<25} {found}")
    assert np.isfinite(found).all() and np.allclose(found, with_rule)

# At 100 the two differ. s(100) is 1 up to 4e-44, and rounded it is 1: s (1 - s) is zero. Without the rule ricci takes
# s(-x) for 1 - s(x), which is right to the last digit. Cheap or exact for large x: a rule says which is wanted.
exact = np.exp(-100.0) * np.prod([plain(y) * plain(-y) for y in (1.0, plain(1.0))])
assert np.isclose(gradients["without the rule"](points)[2], exact, rtol=1e-12, atol=0)
assert gradients["with the rule"](points)[2] == 0

# The measured effect: half of the exponentials.
x = np.linspace(-5, 5, 100_000)
print(f"\nfor {len(x):,} numbers:")
exponentials = {}
for name, gradient in gradients.items():
    explained = rc.explain(gradient)(x)
    exponentials[name] = explained.source.count("exp(")
    steps = len(explained.plan.program.steps)
    print(f"  {name}: {steps} steps, {exponentials[name]} exponentials, {seconds(gradient, x) * 1e3:.2f} ms")
assert exponentials == {"without the rule": 6, "with the rule": 3}

# Second derivatives come from the rule, too.
second = rc.hessian_diagonal(three_times(sigmoid))(np.array([0.5, 1.0]))
assert np.allclose(second, rc.hessian_diagonal(three_times(plain))(np.array([0.5, 1.0])))
