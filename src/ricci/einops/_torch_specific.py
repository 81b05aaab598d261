"""``allow_ops_in_compiled_graph``, which einops asks for before ``torch.compile``; here there is nothing to do."""


def allow_ops_in_compiled_graph() -> None:
    """Does nothing: all functions can be compiled as they are."""
