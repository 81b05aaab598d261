"""From programs to source, for each backend."""
