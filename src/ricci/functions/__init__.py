"""The tables of functions: elementwise, over axes, of matrices. Each row holds all that ricci knows of one function."""

from ricci.functions import factorisations as factorisations  # rows too, though equations have no names for them
from ricci.functions.table import FUNCTIONS, Surface

__all__ = ["FUNCTIONS", "Surface"]
