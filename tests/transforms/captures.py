"""What a traced function takes from outside, changed between two calls: the second call sees the change.

Each case makes a function and a change of something that it reaches.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import types
from typing import Any

import numpy as np
import outside

import ricci as rc

W = np.array([1.0, 2.0, 3.0])
CASES = {}
RNG = np.random.default_rng(0)


def case(make):
    CASES[make.__name__] = make
    return make


@case
def perm_slice():
    X = RNG.normal(size=(3, 3))
    perm = np.array([0, 1, 2])
    return (lambda x: (X[perm[:1]] * x).sum()), lambda: perm.__setitem__(slice(None), [2, 1, 0])


@case
def scalar_entry():
    s = np.array([2.0, 3.0])
    return (lambda x: (s[0] * x * x).sum()), lambda: s.__setitem__(0, 7.0)


@case
def mean():
    A = RNG.normal(size=4)
    return (lambda x: (A.mean() * x).sum()), lambda: A.__setitem__(0, 70.0)


@case
def npmean():
    A = RNG.normal(size=4)
    return (lambda x: (np.mean(A) * x).sum()), lambda: A.__setitem__(0, 70.0)


@case
def boolindex():
    m = np.array([True, False, True])
    return (lambda x: (x[m] ** 2).sum()), lambda: m.__setitem__(1, True)


@case
def boolindex2():
    A = RNG.normal(size=(5, 3))
    m = np.array([True, False, True, False, False])
    return (lambda x: (A[m] @ x).sum()), lambda: m.__setitem__(1, True)


@case
def matmul():
    A = RNG.normal(size=(3, 3))
    B = RNG.normal(size=(3, 3))
    return (lambda x: ((A @ B) @ x).sum()), lambda: B.__setitem__(0, 7.0)


@case
def listlen():
    L = [1, 2]
    return (lambda x: (x ** len(L)).sum()), lambda: L.append(3)


@case
def cfg_ns():
    cfg = types.SimpleNamespace(lam=2.0)
    return (lambda x: cfg.lam * (x * x).sum()), lambda: setattr(cfg, "lam", 5.0)


@case
def nested_obj():
    class L:
        pass

    class M:
        pass

    m: Any = M()
    m.layer = L()
    m.layer.w = np.ones(3)  # pyright: ignore[reportAttributeAccessIssue]
    m.layer.act = np.sin  # pyright: ignore[reportAttributeAccessIssue]

    def f(x):
        return m.layer.act(m.layer.w * x).sum()

    return f, lambda: setattr(m.layer, "w", np.full(3, 4.0))


@case
def nested_obj_fn():
    class L:
        pass

    m: Any = L()
    m.layer = L()
    m.layer.act = np.sin  # pyright: ignore[reportAttributeAccessIssue]

    def f(x):
        return m.layer.act(x).sum()

    return f, lambda: setattr(m.layer, "act", np.exp)


@case
def method_nested():
    class L:
        def __init__(s):
            s.w = np.ones(3)
            s.k = 2

        def __call__(s, x):
            return (s.w * x) ** s.k

    class M:
        def __init__(s):
            s.layer = L()

        def loss(s, x):
            return s.layer(x).sum()

    m = M()
    return m.loss, lambda: setattr(m.layer, "k", 3)


@case
def prop():
    class C:
        def __init__(s):
            s._l = 2.0

        @property
        def lam(s):
            return s._l * 2

    c = C()
    return (lambda x: c.lam * (x * x).sum()), lambda: setattr(c, "_l", 5.0)


@case
def dict_nested():
    d = {"a": {"b": [1.0, 2.0]}}
    return (lambda x: d["a"]["b"][1] * (x * x).sum()), lambda: d["a"]["b"].__setitem__(1, 9.0)


@case
def namedtup():
    P = collections.namedtuple("P", "a b")
    p = P([1.0], 2.0)
    return (lambda x: p.a[0] * (x * x).sum()), lambda: p.a.__setitem__(0, 4.0)


@case
def module_attr():
    outside.factor = 2.0
    return (lambda x: outside.factor * (x * x).sum()), lambda: setattr(outside, "factor", 11.0)


@case
def module_helper():
    outside.factor = 2.0
    return (lambda x: outside.helper(x) * 1.0), lambda: setattr(outside, "factor", 12.0)


@case
def class_attr():
    class C:
        lam = 2.0

    return (lambda x: C.lam * (x * x).sum()), lambda: setattr(C, "lam", 3.0)


@case
def class_attr_via_inst():
    class C:
        lam = 2.0

    c = C()
    return (lambda x: c.lam * (x * x).sum()), lambda: setattr(C, "lam", 3.0)


@case
def class_attr_shadowed():
    class C:
        lam = 2.0

    c = C()
    return (lambda x: c.lam * (x * x).sum()), lambda: setattr(c, "lam", 3.0)


@case
def dclass():
    @dataclasses.dataclass
    class C:
        lam: float = 2.0

    c = C()
    return (lambda x: c.lam * (x * x).sum()), lambda: setattr(c, "lam", 3.0)


@case
def dclass_slots():
    @dataclasses.dataclass(slots=True)
    class C:
        lam: float = 2.0
        w: object = None

    c = C(2.0, np.ones(3))
    return (lambda x: c.lam * (c.w * x * x).sum()), lambda: setattr(c, "lam", 3.0)


@case
def defaults():
    def f(x, a=2.0):
        return a * (x * x).sum()

    return (lambda x: f(x) * 1.0), lambda: setattr(f, "__defaults__", (5.0,))


@case
def defaults_own():
    def f(x, a=2):
        return a * (x * x).sum()

    return f, lambda: setattr(f, "__defaults__", (5,))


@case
def kwdefaults():
    def f(x, *, a=2):
        return a * (x * x).sum()

    return f, lambda: f.__kwdefaults__.__setitem__("a", 5)  # pyright: ignore[reportOptionalMemberAccess]


@case
def default_array():
    A = np.ones(3)

    def f(x, a=A):
        return (a.mean() * x * x).sum()

    return f, lambda: A.__setitem__(0, 5.0)


@case
def partial_():
    d = {"k": 2.0}

    def f(d, x):
        return d["k"] * (x * x).sum()

    return functools.partial(f, d), lambda: d.__setitem__("k", 3.0)


@case
def lambdas():
    k = [2.0]
    fs = [lambda x: k[0] * x, lambda x: x * x]

    def f(x):
        for g in fs:
            x = g(x)
        return x.sum()

    return f, lambda: fs.__setitem__(1, lambda x: x**3)


@case
def lambdas2():
    k = [2.0]
    fs = [lambda x: k[0] * x, lambda x: x * x]

    def f(x):
        for g in fs:
            x = g(x)
        return x.sum()

    return f, lambda: k.__setitem__(0, 5.0)


@case
def global_scalar():
    def ch():
        outside.scalar = 9.0

    return (lambda x: outside.scalar * (x * x).sum()), ch


@case
def getattr_():
    c = types.SimpleNamespace(w0=2.0, w1=3.0)

    def f(x):
        for i in range(2):
            x = x * getattr(c, f"w{i}")
        return (x * x).sum()

    return f, lambda: setattr(c, "w1", 7.0)


@case
def range_arr():
    n = np.array([2, 3])

    def f(x):
        for _ in range(n[0]):
            x = x * x
        return x.sum()

    return f, lambda: n.__setitem__(0, 1)


@case
def if_arr():
    A = np.array([1.0, 2.0])

    def f(x):
        return (x * x).sum() if A.sum() > 0 else x.sum()

    return f, lambda: A.__setitem__(0, -10)


@case
def asarr():
    A = np.array([1.0, 2.0, 3.0])

    def f(x):
        return (np.asarray(A).max() * x * x).sum()

    return f, lambda: A.__setitem__(0, 10)


@case
def custom_getitem():
    class C:
        def __init__(s):
            s.d = {"a": 1.0}

        def __getitem__(s, k):
            return s.d[k]

    c = C()
    return (lambda x: c["a"] * (x * x).sum()), lambda: c.d.__setitem__("a", 4.0)


@case
def dict_subclass():
    class C(dict):
        __getattr__ = dict.__getitem__

    c = C(a=2.0)
    return (lambda x: c.a * (x * x).sum()), lambda: c.__setitem__("a", 4.0)


@case
def np_prefix():
    A = np.arange(6.0).reshape(2, 3)
    return (lambda x: (np.linalg.norm(A) * x * x).sum()), lambda: A.__setitem__((0, 0), 10)


@case
def tolist():
    A = np.arange(3.0)
    return (lambda x: (x * A.tolist()[1] * x).sum()), lambda: A.__setitem__(1, 10)


@case
def iteration():
    A = np.arange(3.0)

    def f(x):
        for a in A:
            x = x * (1 + a)
        return (x * x).sum()

    return f, lambda: A.__setitem__(1, 10)


@case
def rows():
    A = np.ones((2, 3))

    def f(x):
        for a in A:
            x = x * a
        return (x * x).sum()

    return f, lambda: A.__setitem__(1, 10)


@case
def large():
    A = np.ones((300, 300))
    return (lambda x: (x * A.mean() * x).sum()), lambda: A.__setitem__((5, 5), 1000)


@case
def static_method():
    class C:
        k = 2.0

        @staticmethod
        def f(x):
            return C.k * (x * x).sum()

        @classmethod
        def g(cls, x):
            return cls.k * (x * x).sum()

    return (lambda x: C.f(x) + C().g(x)), lambda: setattr(C, "k", 7.0)


@case
def method_replaced():
    class C:
        def f(s, x):
            return (x * x).sum()

    c = C()
    return (lambda x: c.f(x) * 1.0), lambda: setattr(C, "f", lambda s, x: (x**3).sum())


@case
def inner_transform():
    A = np.ones(3)
    h = rc.grad(lambda x: (A.sum() * x**3).sum())
    return (lambda x: h(x).sum()), lambda: A.__setitem__(0, 4.0)


@case
def superclass():
    class B:
        def __init__(s):
            s.k = 2.0

        def f(s, x):
            return s.k * (x * x).sum()

    class C(B):
        def f(s, x):
            return super().f(x) * 3

    c = C()
    return c.f, lambda: setattr(c, "k", 5.0)


@case
def deque_():
    d = collections.deque([2.0])
    return (lambda x: d[0] * (x * x).sum()), lambda: d.__setitem__(0, 5.0)


@case
def set_():
    d = {2.0}
    return (lambda x: sum(d) * (x * x).sum()), lambda: d.add(5.0)


@case
def func_attr():
    def f(x):
        return f.k * (x * x).sum()

    f.k = 2.0
    return f, lambda: setattr(f, "k", 5.0)
