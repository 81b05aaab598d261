"""PyTorch's functions with PyTorch's meaning: its tensors traced, and one table of what its operations are.

What comes in are calls of PyTorch's own functions and methods; what goes out are expressions, by NumPy's lowerings. A
traced tensor *is* a tensor for PyTorch, without data. So PyTorch itself reads the arguments of a call, checks them,
and takes the call apart into its basic operations (``aten``), of which there are few hundred for its few thousand
functions; these are the rows of the table. It also says the shape and the type of each result, which every row is held
to. Nothing of this is imported before PyTorch is.
"""
