"""The command ``ricci``: what people do with formulas from a shell.

Words of a command line come in, a status goes out, and text or files on the way. ``starting`` is where it begins,
``options`` says what may be written, ``commands`` does it, ``views`` are the forms in which a formula is shown,
``array_files`` and ``tables`` read and write values, ``whole_files`` writes files whole or not at all, ``terminal``
knows colours, widths and progress, ``server`` starts ``ricci serve``, ``completion`` writes scripts for shells. All of
ricci may be imported through its public names; nobody imports this.
"""
