"""A library of derivatives that people look up, in index notation; one table, every row of it tested.

>>> from ricci.identities import IDENTITIES
>>> row = next(row for row in IDENTITIES if row.name == "determinant")
>>> row.text, row.wrt, row.expected
('f = det(X)', 'X[p,q]', 'det(X) inv(X)[q,p]')
"""

from ricci.identities.matrices import MATRICES
from ricci.identities.networks import NETWORKS
from ricci.identities.optimisation import OPTIMISATION
from ricci.identities.page import markdown
from ricci.identities.physics import PHYSICS
from ricci.identities.probability import PROBABILITY
from ricci.identities.regression import REGRESSION
from ricci.identities.row import Identity
from ricci.identities.spectra import SPECTRA
from ricci.identities.vectors import VECTORS

IDENTITIES: tuple[Identity, ...] = (
    *VECTORS,
    *MATRICES,
    *SPECTRA,
    *REGRESSION,
    *PROBABILITY,
    *NETWORKS,
    *OPTIMISATION,
    *PHYSICS,
)

__all__ = ["IDENTITIES", "Identity", "markdown"]
