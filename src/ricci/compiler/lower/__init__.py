"""The third stage: from expressions whose sizes are known to steps on arrays.

A bound stage comes in, a program goes out. Stages before are imported, and from ``plan`` what a program is.
"""
