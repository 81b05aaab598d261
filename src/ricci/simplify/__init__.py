"""Simplification: named rules that make an expression more stable, or cheaper; its cost; and its symmetries.

An expression comes in, and one of the same value goes out, with the steps that led to it. ``match`` is what rules are
made of; ``stable``, ``inverses``, ``pairs``, ``powers`` and ``collecting`` are the rules; ``engine`` applies them and
has nodes remember it. ``symmetry`` finds axes that may be exchanged, ``proof`` that two expressions are equal.
``expr``, ``functions`` and ``calculus`` may be imported.
"""

from ricci.calculus.cost import cost
from ricci.simplify.engine import RULES, simplify, simplify_all
from ricci.simplify.match import Rewrite, Rewriting
from ricci.simplify.symmetry import symmetries, unchanged

__all__ = ["RULES", "Rewrite", "Rewriting", "cost", "simplify", "simplify_all", "symmetries", "unchanged"]
