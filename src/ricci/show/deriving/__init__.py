"""How a derivation is found: on the author's own tree, rule by rule, as on a board.

``typed_trees`` have sums written down, ``making`` puts products and sums together, ``differentiation`` has the rules,
``slopes`` what the table says of each function, ``better_forms`` what is put in before. A ``section`` derives one
name, on the ``board`` of a program; ``finishing`` substitutes deltas and collects terms; ``writing`` gives the text
back. ``course`` is the whole way, and checks its end against the engine. What has no text that could be worked on is
derived ``by_engine``.
"""
