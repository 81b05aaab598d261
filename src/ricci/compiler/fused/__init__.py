"""Fused loops: every loop over rows as one function that Numba compiles.

A plan comes in, source with kernels goes out. Stages up to ``emit`` are imported, and Numba where kernels are compiled.
"""
