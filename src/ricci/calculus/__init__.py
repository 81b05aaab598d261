"""Derivatives of expressions: local rules, the linearised graph, the order in which it is eliminated.

Expressions come in; expressions and their costs go out. ``local`` has the derivative of each kind of node, ``graph``
joins them, ``orders`` says in which order, by what ``weights`` tells of their costs, and ``modes`` chooses; ``cost`` is
that of a result. ``expr`` may be imported; what is known of a function comes with its row.
"""
