"""The tables of functions: elementwise, over axes, of matrices. Each row holds all that ricci knows of one function.

What comes in is the core's expressions, what goes out are rows, which build them. No library of arrays is imported
here: rows name the functions of libraries by text, and the tables of the compiler's backends look them up.
"""

from ricci.functions.table import FUNCTIONS

__all__ = ["FUNCTIONS"]
