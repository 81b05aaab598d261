"""Layers: rearrange, reduce and repeat as parts of a network, and EinMix, a linear layer that is written as a pattern.

Each framework has its module, which is imported by itself so that no framework is needed for another: ``torch``,
``flax`` and ``keras``. What a pattern does is found when the layer is made, so that a mistake in it is told there.
"""
