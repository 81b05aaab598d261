"""``python -m ricci`` is the command ``ricci``; without arguments, a first result."""

import sys

import ricci as rc

LOGISTIC = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"


def main() -> None:
    loss = rc.parse(LOGISTIC)
    gradient, hessian = loss.diff("w[p]"), loss.diff("w[p]", "w[q]")
    print("The loss of logistic regression, as read:\n")
    print(f"  {loss}")
    print("\nIts gradient, its Hessian, and both in matrix notation:\n")
    print(f"  {gradient}\n  {hessian}\n\n  {gradient.matrix()}\n  {hessian.matrix()}")
    print("\nHow the gradient comes about:\n")
    print(gradient.derivation())
    print("\nThe Hessian in LaTeX:\n")
    print(f"  {hessian.latex()}")
    print("\nIts value for X = [[1, 2], [3, -1]], y = [1, -1], w = [1000, -500]; nothing overflows:\n")
    print(hessian(X=[[1.0, 2.0], [3.0, -1.0]], y=[1.0, -1.0], w=[1000.0, -500.0]))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        from ricci.cli.starting import main as command

        sys.exit(command())
    main()
