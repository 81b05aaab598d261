"""The constructors: operands in, the one canonical node out.

From the bottom up: ``scale`` (numbers before and in powers), ``canonical`` (the order of equal operands), ``merging``
(labels that are one), ``product_nodes`` (the nodes of products), ``product``, ``natural`` (axes of what acts entry by
entry), ``add`` (sums and what their terms share), ``apply`` (functions and gather), ``algebra`` (operators, powers,
constants), ``conjugates`` (of complex numbers). Each imports those before it. What they need of those after them, since
a product of equal factors is a power and a power of a product is a product, they call by ``nodes.constructors``, which
all of them fill; importing this package does that. Nothing here imports anything outside ``expr``, but errors.
"""

from ricci.expr.build import algebra as algebra
from ricci.expr.build import conjugates as conjugates
