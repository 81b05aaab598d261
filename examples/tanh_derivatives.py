"""The derivatives of tanh up to the sixth, drawn: as text here, and as a picture in SVG.

``rc.taylor`` gives a function and its derivatives along a direction, all at once and what they share once; nesting
``rc.elementwise_grad`` gives the same one after the other.
"""

import tempfile
from pathlib import Path

import numpy as np

import ricci as rc

ORDER = 6
x = np.linspace(-4, 4, 161)
derivatives = rc.taylor(np.tanh, ORDER)(x, np.ones_like(x))

# Nested gradients agree.
f = np.tanh
for order, expected in enumerate(derivatives):
    assert np.allclose(f(x), expected, atol=1e-10), order
    f = rc.elementwise_grad(f)

# So do the formulas: with t = tanh x, each derivative is a polynomial in t, and t' = 1 - t².
t, polynomial = np.tanh(x), np.polynomial.Polynomial([0, 1])
for order, found in enumerate(derivatives):
    assert np.allclose(polynomial(t), found, atol=1e-10)
    terms = [f"{c:+.0f} t^{k}" if k else f"{c:+.0f}" for k, c in enumerate(polynomial.coef) if c]
    largest = np.abs(found).max()
    print(f"derivative {order}: largest size {largest:8.3f};  {' '.join(terms).lstrip('+')}")
    polynomial = polynomial.deriv() * np.polynomial.Polynomial([1, 0, -1])


def as_text(curves, rows=17):
    """Curves, each scaled to a largest value of one, as lines of characters; digits are their numbers."""
    columns = len(curves[0])
    page = [[" "] * columns for _ in range(rows)]
    page[rows // 2] = ["·"] * columns
    for number, curve in enumerate(curves):
        for column, value in enumerate(curve / np.abs(curve).max()):
            page[round((1 - value) / 2 * (rows - 1))][column] = str(number)
    return "\n".join("".join(line) for line in page)


def as_svg(x, curves, width=720, height=360):
    """The same as a picture: a path for each curve."""
    paths = []
    for number, curve in enumerate(curves):
        across = (x - x[0]) / (x[-1] - x[0]) * width
        down = (1 - 0.95 * curve / np.abs(curve).max()) * height / 2
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
        colour = f"hsl({number * 50}, 70%, 45%)"
        paths.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>')
        paths.append(f'<text x="{10 + 40 * number}" y="20" fill="{colour}">{number}</text>')
    size = f'viewBox="0 0 {width} {height}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', *paths, "</svg>"])


print(f"\ntanh and its derivatives 1 to 3, each scaled, for x from {x[0]:g} to {x[-1]:g}:\n")
print(as_text([d[::2] for d in derivatives[:4]]))
file = Path(tempfile.gettempdir()) / "tanh_derivatives.svg"
file.write_text(as_svg(x, derivatives), encoding="utf-8")
print(f"\nall of them: {file}, {file.stat().st_size:,} bytes")

# tanh is odd, so that its even derivatives are, too, and vanish at zero; the odd ones are the tangent numbers.
middle = len(x) // 2
at_zero = [float(d[middle]) for d in derivatives]
print(f"at zero: {', '.join(f'{value:g}' for value in at_zero)}")
assert np.allclose(at_zero, [0, 1, 0, -2, 0, 16, 0], atol=1e-9)
