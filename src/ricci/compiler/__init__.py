"""From expressions to arrays.

Expressions come in, with what is known of their inputs; functions of arrays go out. ``pipeline.py`` shows the way:
``prepare``, ``bind``, ``lower``, ``plan``, ``emit``, ``run``, each a folder or a file here that imports those before.
``compressed`` are results that stay in parts, ``fused`` loops that Numba compiles, ``backends`` what libraries call the
functions of the table. Rooms up to ``show`` may be imported.
"""
