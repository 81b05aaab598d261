"""NumPy functions → expressions: arrays that record what is done to them, and one table of what functions mean.

What comes in are functions of users, for NumPy, PyTorch or JAX, and arrays like those they are called with. What goes
out are recordings: results as expressions of the arguments. A call on a traced array comes from ``ricci.dispatch`` to
``in_place``, finds its row by ``lowered``, and the row builds the expression. Later rooms import this one; it imports
the compiler and what comes before, and patterns.
"""
