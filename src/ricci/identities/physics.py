"""Physics: energies, Lagrangians, stresses, metrics."""

from __future__ import annotations

from ricci.identities.row import row

_row = row("physics")
_PENDULUM = "L = 1/2 m l**2 w**2 + m g l cos(a)"
_PENDULUM_IN = {"m": "pos", "l": "pos", "w": "", "g": "pos", "a": ""}
_DOUBLE = "L = 1/2 (m + n) u**2 + 1/2 n v**2 + n u v cos(a - b) + (m + n) g cos(a) + n g cos(b)"
_DOUBLE_IN = {**dict.fromkeys("mng", "pos"), **dict.fromkeys("uvab", "")}
_SOLID = "J = log(det(F)); W = 1/2 m (F[i,j] F[i,j] - |i| - 2 J) + 1/2 l J**2"
_GEODESIC = "g[i,j] = delta[i,j] + x[i] x[j]; L = 1/2 g[i,j] v[i] v[j]"

PHYSICS = (
    _row("harmonic energy", "E = 1/2 k x**2", "x", "k x", {"k": "pos", "x": ""}),
    _row("coupled springs", "E = 1/2 x[i] K[i,j] x[j]", "x[p]", "1/2 (K[p,j] + K[j,p]) x[j]", {"x": "n", "K": "n n"}),
    _row(
        "kinetic energy, mass matrix",
        "T = 1/2 v[i] M[i,j] v[j]",
        ("v[p]", "v[q]"),
        "1/2 (M[p,q] + M[q,p])",
        {"v": "n", "M": "n n"},
    ),
    _row("pendulum, force", _PENDULUM, "a", "-m g l sin(a)", _PENDULUM_IN),
    _row("pendulum, momentum", _PENDULUM, "w", "m l**2 w", _PENDULUM_IN),
    _row("pendulum, stiffness", _PENDULUM, ("a", "a"), "-m g l cos(a)", _PENDULUM_IN),
    _row("double pendulum, momentum", _DOUBLE, "u", "(m + n) u + n v cos(a - b)", _DOUBLE_IN),
    _row("double pendulum, force", _DOUBLE, "a", "-n u v sin(a - b) - (m + n) g sin(a)", _DOUBLE_IN),
    _row(
        "elastic energy, stress",
        "W = 1/2 e[i,j] C[i,j,k,l] e[k,l]",
        "e[p,q]",
        "1/2 (C[p,q,k,l] + C[k,l,p,q]) e[k,l]",
        {"e": "n n", "C": "n n n n"},
    ),
    _row(
        "elastic energy, stiffness",
        "W = 1/2 e[i,j] C[i,j,k,l] e[k,l]",
        ("e[p,q]", "e[r,s]"),
        "1/2 (C[p,q,r,s] + C[r,s,p,q])",
        {"e": "n n", "C": "n n n n"},
    ),
    _row(
        "isotropic elastic energy",
        "W = 1/2 l e[i,i] e[j,j] + m e[i,j] e[i,j]",
        "e[p,q]",
        "l e[i,i] delta[p,q] + 2 m e[p,q]",
        {"l": "pos", "m": "pos", "e": "n n"},
        "Hooke's law",
    ),
    _row(
        "neo-Hookean solid",
        _SOLID,
        "F[p,q]",
        "m (F[p,q] - inv(F)[q,p]) + l J inv(F)[q,p]",
        {"F": "near n n", "m": "pos", "l": "pos"},
        "first Piola–Kirchhoff stress",
        False,
    ),
    _row(
        "length under a metric", "f = sqrt(g[i,j] v[i] v[j])", "g[p,q]", "v[p] v[q]/(2 f)", {"g": "spd n n", "v": "n"}
    ),
    _row("lowering an index", "L = 1/2 g[i,j] v[i] v[j]", "v[p]", "1/2 (g[p,j] + g[j,p]) v[j]", {"g": "n n", "v": "n"}),
    _row("inverse metric, by the metric", "h[i,j] = inv(g)[i,j]", "g[p,q]", "-h[i,p] h[q,j]", {"g": "spd n n"}),
    _row(
        "metric that depends on the place",
        "g[i,j] = delta[i,j] + x[i] x[j]",
        "x[p]",
        "x[i] delta[j,p] + delta[i,p] x[j]",
        {"x": "n"},
        "what Christoffel symbols are made of",
    ),
    _row("geodesic, force", _GEODESIC, "x[p]", "x[i] v[i] v[p]", {"x": "n", "v": "n"}),
    _row("geodesic, momentum", _GEODESIC, "v[p]", "g[p,j] v[j]", {"x": "n", "v": "n"}),
    _row("Maxwell's Lagrangian", "L = -1/4 F[i,j] F[i,j]", "F[p,q]", "-1/2 F[p,q]", {"F": "n n"}),
    _row("convective acceleration", "a[i] = u[j] G[j,i]", "u[p]", "G[p,i]", {"u": "n", "G": "n n"}),
    _row("Coulomb potential", "V = c/norm[i](x[i])", "x[p]", "-c x[p]/norm(x)**3", {"c": "pos", "x": "pos n"}),
    _row(
        "Coulomb potential, Hessian",
        "V = c/norm[i](x[i])",
        ("x[p]", "x[q]"),
        "3 c x[p] x[q]/norm(x)**5 - c delta[p,q]/norm(x)**3",
        {"c": "pos", "x": "pos n"},
    ),
    _row(
        "Lennard-Jones potential",
        "V = 4 e ((s/r)**12 - (s/r)**6)",
        "r",
        "24 e (s**6/r**7 - 2 s**12/r**13)",
        {"e": "pos", "s": "pos", "r": "pos"},
        exact=False,
    ),
    _row("relativistic energy", "E = sqrt(m**2 + q[i] q[i])", "q[p]", "q[p]/E", {"m": "pos", "q": "n"}, "c = 1"),
    _row(
        "free energy of a magnet",
        "f = -1/2 m[i] J[i,j] m[j] - h[i] m[i]",
        "m[p]",
        "-1/2 (J[p,j] + J[j,p]) m[j] - h[p]",
        {"m": "unit n", "J": "n n", "h": "n"},
    ),
    _row("double well", "V = 1[i] (x[i]**2 - a)**2", "x[p]", "4 x[p] (x[p]**2 - a)", {"x": "n", "a": "pos"}),
    _row("law of ideal gases", "f = -n T (log(V/n) + 3/2 log(T) + 1)", "V", "-n T/V", dict.fromkeys("nTV", "pos")),
)
