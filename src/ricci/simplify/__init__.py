"""Simplification: named rules that make an expression more stable, or cheaper; its cost; and its symmetries."""

from ricci.calculus.cost import cost
from ricci.simplify.engine import RULES, simplify, simplify_all
from ricci.simplify.match import Rewrite, Rewriting
from ricci.simplify.symmetry import symmetries, unchanged

__all__ = ["RULES", "Rewrite", "Rewriting", "cost", "simplify", "simplify_all", "symmetries", "unchanged"]
