"""The last stage: the functions of sources, and the calls that lead to them.

A target makes arrays of inputs, and functions of sources; compiled functions find the plan of a call by shapes and
types. All other stages may be imported.
"""
