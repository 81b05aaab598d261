"""Work that is cut along an index: blocks of rows that are read, used and forgotten, one after another.

Prepared results and the axes that an index ranges over come in. ``cutting`` finds what is computed block by block, what
is added up, and how often the data has to be read; ``joining`` has the rules by which what two blocks gave becomes what
both give. ``schedule`` makes programs of these, which go the way of all programs, and ``running`` runs them: on arrays,
or files that look like arrays, and ``chunked`` on Dask. All stages of the compiler are imported.
"""
