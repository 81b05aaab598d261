"""The operators and methods that arrays have from tables; ``array_methods.pyi`` says so to those who check types."""

from __future__ import annotations


class ArrayMethods:
    """What traced arrays and tensors have from the tables of operators, of NumPy's methods and of functions."""

    __slots__ = ()
