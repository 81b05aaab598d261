"""Text to expressions: tokens, a Pratt parser, the index rules.

Text comes in; expressions come out, with the names, sizes and definitions of the text as a context. ``expr`` and
``functions`` may be imported: what a text means is told to the rooms after this one, never asked of them.
"""
