"""From expressions to steps, once all sizes are known.

Expressions and sizes come in, a program goes out.
"""
