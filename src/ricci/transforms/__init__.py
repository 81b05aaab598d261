"""Functions of arrays → functions of arrays: derivatives under the names that people know from JAX.

What comes in is a function; what goes out is one that has its arguments and other results. It is recorded by tracing
when it is called, its recording becomes another one (``deriving``, ``batching``), and the compiler makes a program of
that, kept for arguments of one kind. Tensors take such functions as one operation (``on_tensors``); the functions of
ricci's own table are such functions of plain arrays (``on_arrays``). It imports tensors, tracing and what comes before.
"""
