"""The eager tensor: operations run line by line, are remembered, and gradients flow back through them.

It is the way to see what happens, and for code whose course depends on the values. The rules are those of ``rc.grad``.
"""

import numpy as np

import ricci as rc

# The example of the textbooks: f = x1 x2 + sin x1 at (2, 7); df/dx1 = x2 + cos x1, df/dx2 = x1.
x1, x2 = rc.Tensor(2.0, name="x1"), rc.Tensor(7.0, name="x2")
f = x1 * x2 + rc.sin(x1)
f.backward()
print(f"f = {f:.4f}, df/dx1 = {x1.grad:.4f}, df/dx2 = {x2.grad:.4f}")
assert np.isclose(f.item(), 14 + np.sin(2))
assert np.isclose(x1.grad.item(), 7 + np.cos(2)) and x2.grad.item() == 2

# What was recorded: as a formula, as a table of values and derivatives, and as a graph in the language of Graphviz.
formula = f.expression()
print(f"\nrecorded: {formula}\n")
print(rc.trace_table(f))
dot = rc.draw(f).dot
print(f"\nas a graph, the first lines of {len(dot.splitlines())}:")
print("\n".join(dot.splitlines()[:6]))
assert np.isclose(formula(x1=2.0, x2=7.0), f.item())
assert dot.startswith("digraph") and "sin" in dot

# Python decides, and the gradient is that of what was done: Newton's method for a root, with as many steps as it takes.
number = rc.Tensor(2.0)
root, steps = rc.Tensor(1.0, requires_grad=False), 0
while abs(root * root - number) > 1e-12:
    root = (root + number / root) / 2
    steps += 1
root.backward()
print(f"\nthe root of 2 in {steps} steps: {root:.6f}, and its derivative {number.grad:.6f}")
assert np.isclose(number.grad.item(), 0.5 / np.sqrt(2))

# A training loop: a line of three features through noisy points, by gradient descent.
rng = np.random.default_rng(0)
truth = np.array([2.0, -1.0, 0.5])
X = rng.normal(size=(200, 3))
y = X @ truth + 1.5 + 0.05 * rng.normal(size=200)

w, b = rc.Tensor(np.zeros(3)), rc.Tensor(0.0)
print()
for step in range(101):
    loss = ((X @ w + b - y) ** 2).mean()
    loss.backward()
    with rc.no_grad():  # updates are not recorded, and may be in place
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
    w.zero_grad()
    b.zero_grad()
    if step % 25 == 0:
        print(f"step {step}: loss {loss:.5f}")
print(f"weights {np.round(w.numpy(), 3)}, bias {b:.3f}")
assert np.allclose(w, truth, atol=0.02) and np.isclose(b.item(), 1.5, atol=0.02)
assert loss.item() < 0.004

# Second derivatives: the gradient is recorded, too, and flows back once more.
x = rc.Tensor(1.0)
(x**4).backward(create_graph=True)
slope = x.grad
x.zero_grad()
slope.backward()
print(f"\nthe slope of x^4 at 1 is {slope:g}, its curvature {x.grad:g}")
assert (slope.item(), x.grad.item()) == (4.0, 12.0)
