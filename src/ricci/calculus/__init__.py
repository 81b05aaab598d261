"""Derivatives of expressions: local rules, the linearised graph, the order in which it is eliminated.

Expressions come in; expressions and their costs go out. ``expr`` may be imported;
what is known of a function comes with its row.
"""
