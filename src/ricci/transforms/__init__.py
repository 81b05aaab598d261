"""Functions of arrays → functions of arrays: derivatives under the names that people know from JAX."""
