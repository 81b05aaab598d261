"""Linear algebra on nested lists: textbook methods, independent of NumPy, for small matrices, as a second opinion."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

Matrix = list[list[float]]


def identity(n: int) -> Matrix:
    return [[float(i == j) for j in range(n)] for i in range(n)]


def transposed(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


def matmul(a: Matrix, b: Matrix) -> Matrix:
    columns = transposed(b)
    return [[math.fsum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in a]


def symmetric_part(a: Matrix, triangle: str = "") -> Matrix:
    """The mean of a matrix and its transpose, or the symmetric matrix that has one triangle of it."""
    if triangle:
        pick = max if triangle == "L" else min
        return [[a[pick(i, j)][i + j - pick(i, j)] for j in range(len(a))] for i in range(len(a))]
    return [[(a[i][j] + a[j][i]) / 2 for j in range(len(a))] for i in range(len(a))]


def eliminate(a: Matrix, b: Matrix) -> tuple[float, Matrix]:
    """The determinant of ``a``, and the solution of ``a x = b`` where it is not zero: Gauss-Jordan with pivots."""
    n, rows = len(a), [[*map(float, x), *map(float, y)] for x, y in zip(a, b, strict=True)]
    det = 1.0
    for k in range(n):
        pivot = max(range(k, n), key=lambda r: abs(rows[r][k]))
        if rows[pivot][k] == 0:
            return 0.0, [[math.nan] * (len(row) - n) for row in rows]
        if pivot != k:
            rows[k], rows[pivot] = rows[pivot], rows[k]
            det = -det
        det *= rows[k][k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for r in range(n):
            if r != k and rows[r][k] != 0:
                factor = rows[r][k]
                rows[r] = [v - factor * w for v, w in zip(rows[r], rows[k], strict=True)]
    return det, [row[n:] for row in rows]


def det(a: Matrix) -> float:
    return eliminate(a, [[] for _ in a])[0]


def logdet(a: Matrix) -> float:
    size = abs(det(a))
    return math.log(size) if size else -math.inf


def slogdet_sign(a: Matrix) -> float:
    value = det(a)
    return float((value > 0) - (value < 0))


def inv(a: Matrix) -> Matrix:
    return eliminate(a, identity(len(a)))[1]


def solve(a: Matrix, b: list, columns: int) -> list:
    """``x`` with ``a x = b``, for each of the places along the further axes of ``b``."""
    rows = [flat(entry, columns) for entry in b]
    return [unflat(iter(x), entry, columns) for x, entry in zip(eliminate(a, rows)[1], b, strict=True)]


def flat(entry: Any, depth: int) -> list:
    """The numbers of ``depth`` lists within one another."""
    return [v for part in entry for v in flat(part, depth - 1)] if depth else [entry]


def unflat(values: Iterator, like: Any, depth: int) -> Any:
    """``values`` in lists within one another, as those of ``like`` are."""
    return [unflat(values, part, depth - 1) for part in like] if depth else next(values)


def triangular_solve(a: Matrix, b: list, columns: int, lower: bool, transpose: bool) -> list:
    """As ``solve``, with one triangle of ``a``, or its transpose."""
    n = len(a)
    part = [[a[i][j] if (j <= i if lower else j >= i) else 0.0 for j in range(n)] for i in range(n)]
    return solve(transposed(part) if transpose else part, b, columns)


def cholesky(a: Matrix, triangle: str = "") -> Matrix:
    """The lower ``L`` with ``L L' = a``, row by row; NaN where ``a`` is not positive definite."""
    a, n = symmetric_part(a, triangle), len(a)
    result = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = a[i][j] - math.fsum(result[i][k] * result[j][k] for k in range(j))
            if i == j:
                result[i][i] = math.sqrt(rest) if rest > 0 else math.nan
            else:
                result[i][j] = rest / result[j][j]
    return result


def eigh(a: Matrix, triangle: str = "") -> tuple[list[float], Matrix]:
    """Eigenvalues, ascending, and eigenvectors, in columns, of the symmetric part: Jacobi's rotations."""
    a, n = symmetric_part(a, triangle), len(a)
    vectors = identity(n)
    for _ in range(60):
        off = math.fsum(a[i][j] ** 2 for i in range(n) for j in range(n) if i != j)
        if off <= 1e-34 * math.fsum(a[i][i] ** 2 for i in range(n)):
            break
        for p in range(n):
            for q in range(p + 1, n):
                if a[p][q] != 0:
                    _rotate(a, vectors, p, q)
    order = sorted(range(n), key=lambda k: a[k][k])
    return [a[k][k] for k in order], [[row[k] for k in order] for row in vectors]


def _rotate(a: Matrix, vectors: Matrix, p: int, q: int) -> None:
    """One rotation in the plane of ``p`` and ``q`` that makes ``a[p][q]`` zero."""
    ratio = (a[q][q] - a[p][p]) / (2 * a[p][q])
    tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.hypot(ratio, 1.0))
    cosine = 1 / math.hypot(tangent, 1.0)
    sine = tangent * cosine
    for rows in (a, vectors):
        for row in rows:
            row[p], row[q] = cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]
    a[p], a[q] = (
        [cosine * x - sine * y for x, y in zip(a[p], a[q], strict=True)],
        [sine * x + cosine * y for x, y in zip(a[p], a[q], strict=True)],
    )


def eigvalsh(a: Matrix, triangle: str = "") -> list[float]:
    return eigh(a, triangle)[0]


def eigh_vectors(a: Matrix, triangle: str = "") -> Matrix:
    return eigh(a, triangle)[1]


def eigvals(a: Matrix) -> list[complex]:
    """The zeros of the characteristic polynomial, all at once, each divided by its distances from the others."""
    n, coefs, power = len(a), [1.0], identity(len(a))
    for k in range(1, n + 1):
        power = matmul(a, power)
        coefs.append(-math.fsum(power[i][i] for i in range(n)) / k)
        power = [[v + coefs[-1] * (i == j) for j, v in enumerate(row)] for i, row in enumerate(power)]
    size = 1 + max((sum(map(abs, row)) for row in a), default=0.0)
    found = [size * (0.4 + 0.9j) ** k for k in range(n)]
    for _ in range(500):
        for k, w in enumerate(found):
            value: complex = 0
            for c in coefs:
                value = value * w + c
            for j, other in enumerate(found):
                value /= w - other if j != k else 1
            found[k] = w - value
    return sorted(found, key=lambda w: (round(w.real, 9), w.imag))


def eig_vectors(a: Matrix) -> list[list[complex]]:
    """The columns of the product of all ``a - w``, but for one ``w``: of length one, their largest entry real."""
    values, columns = eigvals(a), []
    for k in range(len(a)):
        column: list[complex] = [complex(i + 1) for i in range(len(a))]
        for w in values[:k] + values[k + 1 :]:
            column = [sum(x * y for x, y in zip(row, column, strict=True)) - w * v for row, v in zip(a, column)]
        size, top = math.hypot(*map(abs, column)), max(column, key=abs)
        columns.append([v * abs(top) / (size * top) for v in column])
    return [list(row) for row in zip(*columns, strict=True)]


def svdvals(a: Matrix) -> list[float]:
    """The singular values, descending: the largest eigenvalues of ``[[0, a], [a', 0]]``."""
    if not a or not a[0]:
        return []
    return [abs(value) for value in eigh(_doubled(a))[0][::-1][: min(len(a), len(a[0]))]]


def _doubled(a: Matrix) -> Matrix:
    """``[[0, a], [a', 0]]``."""
    top = [[0.0] * len(a) + list(row) for row in a]
    return top + [list(column) + [0.0] * len(a[0]) for column in zip(*a, strict=True)]


def svd_vectors(a: Matrix) -> Matrix:
    """The left singular vectors above the right ones: eigenvectors of ``[[0, a], [a', 0]]``, made longer by √2."""
    count = min(len(a), len(a[0])) if a else 0
    return [[math.sqrt(2) * v for v in row[::-1][:count]] for row in eigh_vectors(_doubled(a))] if count else []


def pinv(a: Matrix, rcond: float = 1e-15) -> Matrix:
    """``V diag(1/s) U'``, without the singular values that are zero beside the largest."""
    if not a or not a[0]:
        return [[] for _ in range(len(a[0]) if a else 0)]
    m, n, values, vectors = len(a), len(a[0]), svdvals(a), svd_vectors(a)
    inverse = [1 / s if s > rcond * values[0] else 0.0 for s in values]
    columns = range(len(values))
    return [
        [math.fsum(vectors[m + i][k] * inverse[k] * vectors[j][k] for k in columns) for j in range(m)] for i in range(n)
    ]


def qr_q(a: Matrix) -> Matrix:
    """Orthonormal columns that span those of ``a``: Gram and Schmidt's method, each column done twice over."""
    found: list[list[float]] = []
    for column in transposed(a):
        for other in [*found, *found]:
            overlap = math.fsum(x * y for x, y in zip(column, other, strict=True))
            column = [x - overlap * y for x, y in zip(column, other, strict=True)]
        size = math.hypot(*column)
        found.append([x / size if size else math.nan for x in column])
    return transposed(found) if found else [[] for _ in a]


def expm(a: Matrix) -> Matrix:
    """The Taylor series of ``a / 2**s``, squared ``s`` times."""
    size = max((sum(map(abs, row)) for row in a), default=0.0)
    squarings = max(0, math.ceil(math.log2(size)) + 3) if size > 0 and math.isfinite(size) else 0
    small = [[v / 2.0**squarings for v in row] for row in a]
    total = term = identity(len(a))
    for k in range(1, 24):
        term = [[v / k for v in row] for row in matmul(term, small)] if a else term
        total = [[x + y for x, y in zip(r, s, strict=True)] for r, s in zip(total, term, strict=True)]
    for _ in range(squarings):
        total = matmul(total, total)
    return total


def expm_along(a: Matrix, e: list, columns: int) -> list:
    """The change of ``expm(a)`` where ``a`` changes by ``e``, for each place along its further axes: a corner of
    ``expm([[a, e], [0, a]])``."""
    n = len(a)
    entries = [[flat(entry, columns) for entry in row] for row in e]
    found = []
    for k in range(len(entries[0][0]) if n else 0):
        top = [[*row, *[entry[k] for entry in step]] for row, step in zip(a, entries, strict=True)]
        found.append([row[n:] for row in expm(top + [[0.0] * n + list(row) for row in a])[:n]])
    return [
        [unflat(iter([corner[i][j] for corner in found]), entry, columns) for j, entry in enumerate(row)]
        for i, row in enumerate(e)
    ]


def recurrence(a: list, b: list, columns: int = 0) -> list:
    """``y[0] = 0``, ``y[i+1] = a[i] y[i] + b[i]``, for each place along further axes of ``b``."""
    rows = [flat(entry, columns) for entry in b]
    found = [[0.0] * len(row) for row in rows]
    for i in range(len(rows) - 1):
        found[i + 1] = [a[i] * x + y for x, y in zip(found[i], rows[i], strict=True)]
    return [unflat(iter(row), entry, columns) for row, entry in zip(found, b, strict=True)]


def recurrence_back(a: list, b: list, columns: int = 0) -> list:
    return recurrence(a[::-1], b[::-1], columns)[::-1]
