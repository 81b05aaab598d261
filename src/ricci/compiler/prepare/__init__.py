"""The first stage: expressions made ready to be computed, before sizes are known.

Expressions come in, and go out simplified: values that choices are made of computed once, sums taken term by term where
that is cheaper, systems solved in place of inverses. Only the rooms before the compiler are imported.
"""
