"""Derivatives compared with numerical ones."""

from ricci.checks.comparing import check_grads
from ricci.checks.differences import numerical_jacobian

__all__ = ["check_grads", "numerical_jacobian"]
