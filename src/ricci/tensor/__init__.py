"""The eager tensor: NumPy's arrays with ``backward()``, by the rules of the calculus."""

from ricci.tensor import operators, updates  # noqa: F401  (what tensors do when they are called and changed)
from ricci.tensor.recording_mode import enable_grad, no_grad
from ricci.tensor.tensor import Tensor
from ricci.tracing import recording  # noqa: F401  (what calls on traced arrays mean, of which pullbacks are derived)

__all__ = ["Tensor", "enable_grad", "no_grad"]
