"""ricci: tensor calculus as it is written on paper."""
from ricci.formula import Formula, parse, tensors, einsum, variable_ as variable
