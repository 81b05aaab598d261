"""Results that stay apart: cores with the numbers, and a shell that says how the result is made of them.

They go the way of all results, with one turn between binding and lowering, where they are taken apart. All stages are
imported.
"""
