"""Meshes of devices: which axis of which array lies along which axis of a mesh, and what that sends.

Indices have names, so ``axes={"m": "data"}`` is all that has to be said. ``placement.py`` makes of it where inputs and
results lie, ``same_axes.py`` finds the axes that it does not name through the steps of a program, ``mesh_target.py``
and ``mesh_run.py`` run programs of JAX there, ``layouts.py`` and ``mesh_costs.py`` say what is sent between devices
without having any. Stages up to ``run`` are imported.
"""
