"""The functions under the name that many programs import them by: ``from einops.einops import rearrange``."""

from ricci.einops import EinopsError, asnumpy, einsum, parse_shape, rearrange, reduce, repeat

__all__ = ["EinopsError", "asnumpy", "einsum", "parse_shape", "rearrange", "reduce", "repeat"]
