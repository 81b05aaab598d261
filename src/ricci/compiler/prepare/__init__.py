"""Expressions made ready to be computed: values that choices are made of, sums taken term by term, systems solved.

Expressions come in and go out; only the rooms before the compiler are imported.
"""
