"""Simplification."""


def simplify(root, trace=None):
    return root
