# Written by tests/annotations/stubs.py from the tables; run it when they change.

from ricci.user.formula import Formula

class FormulaMethods:
    __slots__ = ()
    def power(self, b: Formula | float, /) -> Formula:
        """a ** b; entry by entry."""
    def conj(self) -> Formula:
        """the complex conjugate; entry by entry."""
    def angle(self) -> Formula:
        """the angle of z in the complex plane, from -pi to pi; entry by entry."""
    def abs(self) -> Formula:
        """the size of x; its derivative at 0 is 0; entry by entry."""
    def sign(self) -> Formula:
        """-1, 0 or 1; entry by entry."""
    def floor(self) -> Formula:
        """the largest whole number not above x; entry by entry."""
    def ceil(self) -> Formula:
        """the smallest whole number not below x; entry by entry."""
    def round(self) -> Formula:
        """the nearest whole number; halves go to the even one; entry by entry."""
    def mod(self, b: Formula | float, /) -> Formula:
        """the remainder of a divided by b, with the sign of b; entry by entry."""
    def stop_gradient(self) -> Formula:
        """x, taken as a constant by derivatives; entry by entry."""
    def cbrt(self) -> Formula:
        """the cube root, also of negative numbers; entry by entry."""
    def exp(self) -> Formula:
        """the exponential function; entry by entry."""
    def exp2(self) -> Formula:
        """2**x; entry by entry."""
    def expm1(self) -> Formula:
        """exp(x) - 1, exact for small x; entry by entry."""
    def log(self) -> Formula:
        """the natural logarithm; entry by entry."""
    def log2(self) -> Formula:
        """the logarithm to base 2; entry by entry."""
    def log10(self) -> Formula:
        """the logarithm to base 10; entry by entry."""
    def log1p(self) -> Formula:
        """log(1 + x), exact for small x; entry by entry."""
    def sin(self) -> Formula:
        """the sine; entry by entry."""
    def cos(self) -> Formula:
        """the cosine; entry by entry."""
    def tan(self) -> Formula:
        """the tangent; entry by entry."""
    def asin(self) -> Formula:
        """the inverse of the sine; entry by entry."""
    def acos(self) -> Formula:
        """the inverse of the cosine; entry by entry."""
    def atan(self) -> Formula:
        """the inverse of the tangent; entry by entry."""
    def atan2(self, b: Formula | float, /) -> Formula:
        """the angle of the point (b, a); entry by entry."""
    def sinh(self) -> Formula:
        """the hyperbolic sine; entry by entry."""
    def cosh(self) -> Formula:
        """the hyperbolic cosine; entry by entry."""
    def tanh(self) -> Formula:
        """the hyperbolic tangent; entry by entry."""
    def asinh(self) -> Formula:
        """the inverse of the hyperbolic sine; entry by entry."""
    def acosh(self) -> Formula:
        """the inverse of the hyperbolic cosine; entry by entry."""
    def atanh(self) -> Formula:
        """the inverse of the hyperbolic tangent; entry by entry."""
    def hypot(self, b: Formula | float, /) -> Formula:
        """sqrt(a**2 + b**2) without overflow; entry by entry."""
    def maximum(self, b: Formula | float, /) -> Formula:
        """the larger of a and b; entry by entry."""
    def minimum(self, b: Formula | float, /) -> Formula:
        """the smaller of a and b; entry by entry."""
    def less(self, b: Formula | float, /) -> Formula:
        """1 where a < b, otherwise 0; entry by entry."""
    def less_equal(self, b: Formula | float, /) -> Formula:
        """1 where a <= b, otherwise 0; entry by entry."""
    def equal(self, b: Formula | float, /) -> Formula:
        """1 where a == b, otherwise 0; entry by entry."""
    def not_equal(self, b: Formula | float, /) -> Formula:
        """1 where a != b, otherwise 0; entry by entry."""
    def greater(self, b: Formula | float, /) -> Formula:
        """1 where a > b, otherwise 0; entry by entry."""
    def greater_equal(self, b: Formula | float, /) -> Formula:
        """1 where a >= b, otherwise 0; entry by entry."""
    def clip(self, low: Formula | float, high: Formula | float, /) -> Formula:
        """x moved into the interval; entry by entry."""
    def add(self, b: Formula | float, /) -> Formula:
        """a + b; entry by entry."""
    def subtract(self, b: Formula | float, /) -> Formula:
        """a - b; entry by entry."""
    def multiply(self, b: Formula | float, /) -> Formula:
        """a * b, entry by entry; entry by entry."""
    def divide(self, b: Formula | float, /) -> Formula:
        """a / b; entry by entry."""
    def square(self) -> Formula:
        """x**2; entry by entry."""
    def sqrt(self) -> Formula:
        """x**(1/2); entry by entry."""
    def reciprocal(self) -> Formula:
        """1/x; entry by entry."""
    def sigmoid(self) -> Formula:
        """1/(1 + exp(-x)); entry by entry."""
    def softplus(self) -> Formula:
        """log(1 + exp(x)); entry by entry."""
    def relu(self) -> Formula:
        """maximum(x, 0); its derivative at 0 is 0; entry by entry."""
    def leaky_relu(self) -> Formula:
        """x where x > 0, otherwise 0.01 x; entry by entry."""
    def elu(self) -> Formula:
        """x where x > 0, otherwise exp(x) - 1; entry by entry."""
    def gelu(self) -> Formula:
        """x times the normal distribution function at x; entry by entry."""
    def silu(self) -> Formula:
        """x sigmoid(x); entry by entry."""
    def logaddexp(self, b: Formula | float, /) -> Formula:
        """log(exp(a) + exp(b)) without overflow; entry by entry."""
    def erf(self) -> Formula:
        """the error function; entry by entry."""
    def erfc(self) -> Formula:
        """1 - erf(x), exact for large x; entry by entry."""
    def erfinv(self) -> Formula:
        """the inverse of the error function; entry by entry."""
    def ndtri(self) -> Formula:
        """the inverse of the normal distribution function; entry by entry."""
    def log_ndtr(self) -> Formula:
        """the logarithm of the normal distribution function, exact for large -x; entry by entry."""
    def lgamma(self) -> Formula:
        """the logarithm of the size of the gamma function; entry by entry."""
    def digamma(self) -> Formula:
        """the derivative of lgamma; entry by entry."""
    def polygamma(self, x: Formula | float, /) -> Formula:
        """the derivative of order n of digamma; entry by entry."""
    def ifft(self, *axes: str) -> Formula:
        """the inverse of the discrete Fourier transform; over the named axes, or all."""
    def prod(self, *axes: str) -> Formula:
        """the product; over the named axes, or all."""
    def max(self, *axes: str) -> Formula:
        """the largest entry; entries that tie share the derivative; over the named axes, or all."""
    def min(self, *axes: str) -> Formula:
        """the smallest entry; entries that tie share the derivative; over the named axes, or all."""
    def argmax(self, *axes: str) -> Formula:
        """the place of the largest entry; over the named axes, or all."""
    def argmin(self, *axes: str) -> Formula:
        """the place of the smallest entry; over the named axes, or all."""
    def any(self, *axes: str) -> Formula:
        """1 where some entry is not zero, otherwise 0; over the named axes, or all."""
    def all(self, *axes: str) -> Formula:
        """1 where no entry is zero, otherwise 0; over the named axes, or all."""
    def logsumexp(self, *axes: str) -> Formula:
        """log(sum(exp(x))) without overflow; over the named axes, or all."""
    def softmax(self, *axes: str) -> Formula:
        """exp(x) / sum(exp(x)) without overflow; over the named axes, or all."""
    def log_softmax(self, *axes: str) -> Formula:
        """x - logsumexp(x); over the named axes, or all."""
    def hardmax(self, *axes: str) -> Formula:
        """1/n at the n largest entries, otherwise 0; over the named axes, or all."""
    def hardmin(self, *axes: str) -> Formula:
        """1/n at the n smallest entries, otherwise 0; over the named axes, or all."""
    def cumprod(self, *axes: str) -> Formula:
        """the products of the entries so far; over the named axes, or all."""
    def sort(self, *axes: str) -> Formula:
        """the entries in ascending order; over the named axes, or all."""
    def argsort(self, *axes: str) -> Formula:
        """the places of the entries in ascending order; over the named axes, or all."""
    def sum(self, *axes: str) -> Formula:
        """the sum; over the named axes, or all."""
    def mean(self, *axes: str) -> Formula:
        """the mean; over the named axes, or all."""
    def var(self, *axes: str) -> Formula:
        """the mean squared distance from the mean; over the named axes, or all."""
    def std(self, *axes: str) -> Formula:
        """the square root of var; over the named axes, or all."""
    def norm(self, *axes: str) -> Formula:
        """the square root of the sum of squares; over the named axes, or all."""
    def cumsum(self, *axes: str) -> Formula:
        """the sums of the entries so far; over the named axes, or all."""
