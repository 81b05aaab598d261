"""The fifth stage: from plans to source, for each backend.

A plan comes in, the text of a function goes out, with what its names mean. Plans, and the tables of backends, are
imported; the libraries only by the module of their own.
"""
