"""Plain loops of Python in traced functions: what they go through, steps that stand for others, the loop itself."""
