"""Derivatives compared with numerical ones.

What comes in is a function with its arguments; what goes out is an error that says where a derivative is wrong, or the
numbers. The function alone is run as plain NumPy. The rooms up to transforms may be imported.
"""

from ricci.checks.comparing import check_grads
from ricci.checks.differences import numerical_jacobian

__all__ = ["check_grads", "numerical_jacobian"]
