"""Programs from the literature of automatic differentiation, as users write NumPy: shared by benchmarks and tests.

Each is a function of a module like NumPy and of arrays, written once in the part of the language that NumPy,
``jax.numpy``, ``autograd.numpy`` and a namespace of PyTorch (``spaces.py``) have in common. It is differentiated by its
first argument, which is an array or a tuple of them. Its result is a number.
"""

from __future__ import annotations

from literature.corpus import Case, Program
from literature.factors import FACTORS
from literature.mixtures import MIXTURES
from literature.networks import NETWORKS
from literature.physics import PHYSICS
from literature.vision import VISION

PROGRAMS: tuple[Program, ...] = (*MIXTURES, *VISION, *NETWORKS, *FACTORS, *PHYSICS)
BY_NAME = {program.name: program for program in PROGRAMS}

__all__ = ["BY_NAME", "PROGRAMS", "Case", "Program"]
