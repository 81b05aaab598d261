"""A first result: ``python -m ricci``."""

import ricci as rc

LAYER_NORM = """
m[b]   = 1/|h| 1[h] x[b,h]
v[b]   = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]
"""


def main() -> None:
    y = rc.parse(LAYER_NORM)
    print("Layer norm, as read:\n")
    print(y)
    print("\nIn LaTeX:\n")
    print(y.latex())
    print("\nIts value for x = [[1, 2, 3, 6]], g = 1, beta = 0, eps = 0:\n")
    print(y(x=[[1.0, 2.0, 3.0, 6.0]], g=[1.0] * 4, beta=[0.0] * 4, eps=0.0))


if __name__ == "__main__":
    main()
