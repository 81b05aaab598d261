"""The eager tensor: NumPy's arrays with ``backward()``, by the rules of the calculus."""

from ricci.tensor import formulas, operators  # noqa: F401  (formulas take tensors, and tensors have their operators)
from ricci.tensor.modes import enable_grad, no_grad
from ricci.tensor.tensor import Tensor

__all__ = ["Tensor", "enable_grad", "no_grad"]
