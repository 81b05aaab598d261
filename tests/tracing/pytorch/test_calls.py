"""PyTorch's functions and methods on traced tensors: values, types, forms and gradients as PyTorch's."""

import pytest
import torch
from torch_cases import CASES, GROUPS
from torch_checking import check, same

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's own, of names that it will drop


@pytest.mark.parametrize("group", GROUPS)
def test_some_calls(group):
    for call in [call for own, call in CASES if own == group][::12]:
        check(call)


@pytest.mark.thorough
@pytest.mark.parametrize("call", [call for _, call in CASES])
def test_calls(call):
    check(call)
    check(call, seed=1, dtype=torch.float32, tolerance=2e-4)


def test_the_check_can_fail():
    x = torch.tensor([1.0, 2.0, 4.0])
    same("x.var()", x.var(), x.var(), 1e-9)
    for wrong in (x.var(unbiased=False), x.var().double(), x.var().reshape(1), (x.var(),)):
        with pytest.raises(AssertionError):
            same("x.var()", wrong, x.var(), 1e-9)


def test_gradients_are_compared():
    with pytest.raises(AssertionError, match="by x"):
        check("(x.detach() if type(x) is torch.Tensor else x).sum() + x.sum()")
