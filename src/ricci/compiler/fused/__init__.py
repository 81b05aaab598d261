"""Fused loops: every loop over rows as one function that Numba compiles."""
