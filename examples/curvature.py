"""Curvature from a metric that is written as text: the sphere, and the field of a star (Schwarzschild).

With ``metric="g"`` a name may stand at any heights: ``g^{kl}`` is the inverse of ``g_{kl}``, and ``Ric^j_j`` is traced
with it. All derivatives are exact.
"""

from __future__ import annotations

import numpy as np

import ricci as rc

CURVATURE = """
C^k_{ij} = 1/2 g^{kl} (D(g_{lj}, x^i) + D(g_{il}, x^j) - D(g_{ij}, x^l))
R^l_{kij} = D(C^l_{jk}, x^i) - D(C^l_{ik}, x^j) + C^l_{im} C^m_{jk} - C^l_{jm} C^m_{ik}
Ric_{kj} = R^i_{kij}
S = Ric^j_j
"""
SPHERE = "g_{ij} = r**2 (delta_{i 0} delta_{j 0} + delta_{i 1} delta_{j 1} sin(x^{0,})**2)"
STAR = """
f = 1 - rs/x^{1,}
g_{ij} = -delta_{i 0} delta_{j 0} f + delta_{i 1} delta_{j 1}/f + (x^{1,})**2 (delta_{i 2} delta_{j 2}
    + delta_{i 3} delta_{j 3} sin(x^{2,})**2)
"""

sphere = rc.parse(SPHERE + "\n" + CURVATURE, metric="g")
place = {"x": np.array([0.7, 0.3]), "r": 1.5}
print("Christoffel symbols of the sphere:", sphere["C"](**place), sep="\n")
print("Its scalar curvature, and 2/r²:", sphere(**place), 2 / 1.5**2)
assert np.isclose(sphere(**place), 2 / 1.5**2)

star = rc.parse(STAR + CURVATURE, metric="g")
event = {"x": np.array([0.0, 3.0, 1.1, 0.4]), "rs": 1.2}
tidal = np.abs(star["R"](**event)).max()
ricci_tensor = star["Ric"](**event)
print("Around a star space is curved,", tidal, "but its Ricci tensor is zero:", np.abs(ricci_tensor).max())
assert tidal > 0.1 and np.abs(ricci_tensor).max() < 1e-10
