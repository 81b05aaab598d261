"""A module whose attributes and functions are used by functions that are traced."""

import numpy as np

factor = scalar = 2.0
table = np.array([1.0, 2.0, 3.0])


def helper(x):
    return (table * x * x).sum() * factor
