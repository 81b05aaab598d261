"""Testing ricci, and testing with it: random expressions, an evaluator by loops, and the check that compares.

The library of derivatives in ``docs/identities.txt`` is read and checked here, too (:mod:`ricci.testing.identities`).
Nothing else of ricci imports this room.
"""

from ricci.testing.brute import brute_force
from ricci.testing.checking import check_expression, expressions
from ricci.testing.generate import Sample, random_expression
from ricci.testing.raw import Raw

__all__ = ["Raw", "Sample", "brute_force", "check_expression", "expressions", "random_expression"]
