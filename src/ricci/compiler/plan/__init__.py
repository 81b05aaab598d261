"""The fourth stage: what is computed, step by step, and which steps run together.

A program comes in, a plan goes out: loops over blocks, and a table to look at. Programs themselves are defined here,
and everything after them imports these definitions.
"""
