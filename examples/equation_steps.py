"""Algebra with equations: each step does the same to both sides, and a step that the rules do not allow is refused."""

from collections.abc import Callable

import numpy as np

import ricci as rc


def refused(step: Callable[[], object]) -> str:
    """The message of the rule that a step breaks."""
    try:
        step()
    except rc.RuleError as error:
        return str(error)
    raise AssertionError("the step was accepted")


start = rc.parse("a[i] = b[i,k] c[k]").equation
print(f"start                 {start}")

g, d, h = rc.tensors("g[j] d[k] h[i]")

steps = {
    "rename i to p": start.rename(i="p"),
    "apply tanh": start.apply(rc.tanh),
    "add h[i]": start.add(h),
    "multiply by 2": start.multiply(2),
    "multiply by g[j]": start.multiply(g),
    "multiply by h[i]": start.multiply(h),
    "contract i": start.contract("i"),
}
for name, equation in steps.items():
    print(f"{name:<21} {equation}")

# A definition goes in; its dummy index i is renamed, since i is free here.
inner = rc.parse("c[k] = e[k,i] f[i]")
print(f"substitute c[k]       {start.substitute(inner)}")

# And out again: where the right side of an equation occurs, its name takes its place.
long = rc.parse("s = g[i] b[i,k] c[k]").equation
print(f"name b[i,k] c[k]      {long.substitute(start)}")

print("\nrefused:")
print("  multiply by d[k]:   ", refused(lambda: start.multiply(d)))
print("  contract k:         ", refused(lambda: start.contract("k")))
print("  add g[j]:           ", refused(lambda: start.add(g)))
print("  rename i to k:      ", refused(lambda: start.rename(i="k")))
part = rc.parse("y[i] = b[i,k] c[k] d[k]").equation
print("  put a into y:       ", refused(lambda: part.substitute(start)))

# Each accepted step holds in numbers: the left side, with a computed by the start, equals the right side.
rng = np.random.default_rng(0)
sizes = {"b": (3, 4), "c": (4,), "g": (5,), "h": (3,)}
values = {name: rng.normal(size=shape) for name, shape in sizes.items()}
values["a"] = values["b"] @ values["c"]
for name, equation in steps.items():
    left, right = (side(**{v: values[v] for v in side.variables}) for side in (equation.left, equation.right))
    assert np.allclose(left, right), name
assert refused(lambda: start.contract("k")).startswith("Index 'k' is already a dummy index")

# The rulebook's identities are equalities of objects, not of numbers.
assert rc.parse("y[k,j] = delta[k,i] a[i,j]").expr is rc.parse("a[k,j]").expr
assert rc.parse("(A[i,j] B[j,k]) C[k,l]").expr is rc.parse("A[i,j] (B[j,k] C[k,l])").expr
assert rc.parse("z[p,q] = a[r,q] x[p,r]").expr is rc.parse("y[i,j] = x[i,k] a[k,j]").expr
assert str(rc.parse("1[n] 1[n]")) == "|n|"
print("\nall accepted steps hold in numbers; commuted, re-associated and renamed products are one object")
