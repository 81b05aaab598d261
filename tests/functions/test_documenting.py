"""What ``help`` shows of a function: its arguments, and an example that is true."""

import doctest
import inspect

import numpy as np
import pytest

import ricci as rc
from ricci.functions import FUNCTIONS
from ricci.functions.documenting import documentation


def examples_that_fail(text: str) -> int:
    test = doctest.DocTestParser().get_doctest(text, {"rc": rc, "np": np}, "help", None, 0)
    assert test.examples, text
    runner = doctest.DocTestRunner(verbose=False)
    return runner.run(test, out=lambda _: None).failed


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "trace"])  # rc.trace is of programs
def test_the_example_is_true(name):
    with np.errstate(all="ignore"):
        assert not examples_that_fail(documentation(FUNCTIONS[name])), documentation(FUNCTIONS[name])


def test_an_example_that_is_wrong_is_found():
    assert examples_that_fail(documentation(FUNCTIONS["exp"]).replace("1.284", "1.285"))


@pytest.mark.parametrize(
    "name, shown",
    {
        "exp": "(x, /)",
        "where": "(c, a, b, /)",
        "sum": "(x, /, *axes, axis=None, keepdims=False)",
        "softmax": "(x, /, *axes, axis=None)",
        "solve": "(A, b, /, *axes)",
    }.items(),
)
def test_the_signature_names_the_operands(name, shown):
    assert str(inspect.signature(getattr(rc, name))) == shown


def test_every_function_has_one_name_for_each_operand():
    assert [row.name for row in FUNCTIONS.values() if len(row.operands.split(", ")) != row.arity] == []
