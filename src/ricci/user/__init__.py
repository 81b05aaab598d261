"""What people hold: formulas, equations, derivatives, functions by name, rules of their own.

Expressions with names come in and go out. This is the last room: it may import all others, and none imports it.
"""
