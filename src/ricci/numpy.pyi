# Written by tests/annotations/stubs.py from the tables; run it when they change.

from typing import Any, Protocol, overload

import numpy as _numpy
from numpy import *  # pyright: ignore  (some of them have other types below)
from numpy import linalg as linalg

from ricci.tensor import Tensor

special: Any

class _OfOne(Protocol):
    def __getattr__(self, name: str) -> Any: ...
    @overload
    def __call__(self, x: Tensor | list[Tensor] | tuple[Tensor, ...], /, *args: Any, **kwargs: Any) -> Tensor: ...
    @overload
    def __call__(self, x: _numpy.ndarray, /, *args: Any, **kwargs: Any) -> _numpy.ndarray | Any: ...
    @overload
    def __call__(self, x: Any = ..., /, *args: Any, **kwargs: Any) -> Any: ...

class _OfTwo(Protocol):
    def __getattr__(self, name: str) -> Any: ...
    @overload
    def __call__(self, a: Tensor, b: Any, /, *args: Any, **kwargs: Any) -> Tensor: ...
    @overload
    def __call__(self, a: Any, b: Tensor, /, *args: Any, **kwargs: Any) -> Tensor: ...
    @overload
    def __call__(self, a: _numpy.ndarray, b: Any, /, *args: Any, **kwargs: Any) -> _numpy.ndarray | Any: ...
    @overload
    def __call__(self, a: Any = ..., b: Any = ..., /, *args: Any, **kwargs: Any) -> Any: ...

class _OfOthers(Protocol):
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

absolute: _OfOne
add: _OfTwo
amax: _OfOne
amin: _OfOne
angle: _OfOne
append: _OfTwo
arccos: _OfOne
arccosh: _OfOne
arcsin: _OfOne
arcsinh: _OfOne
arctan: _OfOne
arctan2: _OfTwo
arctanh: _OfOne
around: _OfOne
array: _OfOne
asanyarray: _OfOne
asarray: _OfOne
ascontiguousarray: _OfOne
atleast_1d: _OfOne
atleast_2d: _OfOne
atleast_3d: _OfOne
average: _OfOne
block: _OfOne
broadcast_to: _OfOne
cbrt: _OfOne
ceil: _OfOne
clip: _OfOne
column_stack: _OfOne
concatenate: _OfOne
conjugate: _OfOne
copy: _OfOne
copysign: _OfTwo
corrcoef: _OfOne
cos: _OfOne
cosh: _OfOne
cov: _OfOne
cumprod: _OfOne
cumsum: _OfOne
deg2rad: _OfOne
degrees: _OfOne
delete: _OfOne
diag: _OfOne
diagflat: _OfOne
diagonal: _OfOne
diff: _OfOne
divide: _OfTwo
dot: _OfTwo
dstack: _OfOne
ediff1d: _OfOne
einsum: _OfOne
empty_like: _OfOne
exp: _OfOne
exp2: _OfOne
expand_dims: _OfOne
expm1: _OfOne
extract: _OfTwo
fabs: _OfOne
fix: _OfOne
flip: _OfOne
fliplr: _OfOne
flipud: _OfOne
float_power: _OfTwo
floor: _OfOne
floor_divide: _OfTwo
fmax: _OfTwo
fmin: _OfTwo
fmod: _OfTwo
full_like: _OfTwo
geomspace: _OfTwo
heaviside: _OfTwo
hstack: _OfOne
hypot: _OfTwo
imag: _OfOne
inner: _OfTwo
insert: _OfOne
kron: _OfTwo
linspace: _OfTwo
log: _OfOne
log10: _OfOne
log1p: _OfOne
log2: _OfOne
logaddexp: _OfTwo
logaddexp2: _OfTwo
logspace: _OfTwo
matmul: _OfTwo
matrix_transpose: _OfOne
matvec: _OfTwo
max: _OfOne
maximum: _OfTwo
mean: _OfOne
median: _OfOne
min: _OfOne
minimum: _OfTwo
moveaxis: _OfOne
multiply: _OfTwo
nan_to_num: _OfOne
nancumprod: _OfOne
nancumsum: _OfOne
nanmax: _OfOne
nanmean: _OfOne
nanmedian: _OfOne
nanmin: _OfOne
nanpercentile: _OfTwo
nanprod: _OfOne
nanquantile: _OfTwo
nanstd: _OfOne
nansum: _OfOne
nanvar: _OfOne
negative: _OfOne
ones_like: _OfOne
outer: _OfTwo
pad: _OfOne
partition: _OfOne
percentile: _OfTwo
polyval: _OfTwo
positive: _OfOne
power: _OfTwo
prod: _OfOne
ptp: _OfOne
quantile: _OfTwo
rad2deg: _OfOne
radians: _OfOne
ravel: _OfOne
real: _OfOne
real_if_close: _OfOne
reciprocal: _OfOne
remainder: _OfTwo
repeat: _OfOne
reshape: _OfOne
resize: _OfOne
rint: _OfOne
roll: _OfOne
rollaxis: _OfOne
rot90: _OfOne
round: _OfOne
select: _OfOthers
sign: _OfOne
sin: _OfOne
sinc: _OfOne
sinh: _OfOne
sort: _OfOne
sqrt: _OfOne
square: _OfOne
squeeze: _OfOne
stack: _OfOne
std: _OfOne
subtract: _OfTwo
sum: _OfOne
swapaxes: _OfOne
take: _OfOne
tan: _OfOne
tanh: _OfOne
tensordot: _OfTwo
tile: _OfOne
trace: _OfOne
transpose: _OfOne
trapezoid: _OfOne
tril: _OfOne
triu: _OfOne
trunc: _OfOne
unique: _OfOne
unique_values: _OfOne
unwrap: _OfOne
var: _OfOne
vdot: _OfTwo
vecdot: _OfTwo
vecmat: _OfTwo
vstack: _OfOne
where: _OfOthers
zeros_like: _OfOne
