"""The eager tensor: NumPy's arrays with ``backward()``, by the rules of the calculus.

What comes in are arrays and calls on tensors; what goes out are tensors that remember their call. A call comes from
``ricci.dispatch`` to ``updates``, which takes the short way of ``recorder`` where it can; what the call means, and its
pullback, is found by ``meaning`` when a gradient comes back to it in ``backward``. It imports tracing and what comes
before.
"""

from ricci.tensor import operators, updates  # noqa: F401  (what tensors do when they are called and changed)
from ricci.tensor.recording_mode import enable_grad, no_grad
from ricci.tensor.tensor import Tensor
from ricci.tracing import recording  # noqa: F401  (what calls on traced arrays mean, of which pullbacks are derived)

__all__ = ["Tensor", "enable_grad", "no_grad"]
