"""Code in a process of its own, in which ricci cannot be imported: a list of texts, each with its arguments and values.

What it is given, by a pickle, are arrays of NumPy; they are made those of the library. What it prints are the places
of the codes whose values differ, and what is wrong with them.
"""

import pickle
import sys
import traceback
import warnings


class NoRicci:
    """Imports of ricci fail, as where it is not installed."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "ricci":
            raise ImportError("ricci is not there")
        return


def library(backend):
    """What makes arrays of the library."""
    if backend == "torch":
        import torch

        return torch.tensor
    if backend == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        return jax.numpy.asarray
    return lambda array: array


def fault(text, name, calls, make):
    import numpy as np

    names = {}
    exec(compile(text, "<code>", "exec"), names)
    for arguments, wanted in calls:
        given = {key: make(value) if isinstance(value, np.ndarray) else value for key, value in arguments.items()}
        found = names[name](**given)
        several = isinstance(wanted, tuple)
        for one, other in zip(found if several else [found], wanted if several else [wanted]):
            one, other = np.asarray(one), np.asarray(other)
            if one.shape != other.shape:
                return f"the shape is {one.shape}, and should be {other.shape}"
            if not np.allclose(one, other, rtol=1e-7, atol=1e-9, equal_nan=True):
                return f"the values differ by {np.max(np.abs(one - other))}"
    return None


def main():
    sys.meta_path.insert(0, NoRicci())
    warnings.simplefilter("ignore")
    for backend, place, text, name, calls in pickle.load(sys.stdin.buffer):
        try:
            found = fault(text, name, calls, library(backend))
        except Exception:
            found = traceback.format_exc().splitlines()[-1]
        if found:
            print(f"{backend} {place}: {found}")
    try:
        import ricci  # noqa: F401
    except ImportError:
        print("alone")


if __name__ == "__main__":
    main()
