"""NumPy functions → expressions: arrays that record what is done to them, and one table of what functions mean."""
