"""Instructions for fused kernels that Python has no word for: bits of floats, LLVM's own functions, memory.

``load`` and ``store`` are plain accesses to flat memory, without bounds, with a number that says which memory it is:
accesses with different numbers never overlap, which is what lets LLVM vectorise loops over many arrays. This module
imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

instruction = cast("Callable[..., Any]", intrinsic)  # so that type checkers need no Numba to know what it gives
FRACTION = {"float64": 52, "float32": 23}  # bits
MOST_SCOPES = 64  # memories that are told apart; what is beyond is one


def _native(name: str, operands: int) -> Callable[..., Any]:
    """An instruction of LLVM on floats."""

    def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = args[0].type
        function = builder.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind] * operands))
        return builder.call(function, args)

    if operands == 1:
        return instruction(lambda _context, x: (x(x), code))
    return instruction(lambda _context, x, y: (x(x, y), code))


NATIVE = {
    **{name: _native(name, 1) for name in ("fabs", "floor", "ceil", "rint", "sqrt")},
    **{name: _native(name, 2) for name in ("maximum", "minimum", "copysign")},
}
fabs, copysign, maximum = NATIVE["fabs"], NATIVE["copysign"], NATIVE["maximum"]


class _Float:
    """The parts of a float in LLVM: how many bits are its fraction, and integers of its width."""

    def __init__(self, builder: Any, kind: Any):
        self.builder, self.kind = builder, kind
        self.name = "float64" if isinstance(kind, ir.DoubleType) else "float32"
        self.fraction = FRACTION[self.name]
        self.int = ir.IntType(64 if self.name == "float64" else 32)

    def whole(self, value: int) -> Any:
        return ir.Constant(self.int, value)

    def bits(self, x: Any) -> Any:
        return self.builder.bitcast(x, self.int)

    def floating(self, n: Any) -> Any:
        return self.builder.bitcast(n, self.kind)

    def bits_of(self, value: float) -> Any:
        real = np.dtype(self.name).type(value)
        return self.whole(int(real.view(f"i{real.itemsize}")))

    @property
    def magic(self) -> float:
        return 1.5 * 2.0**self.fraction


@instruction
def scaled(_context, p, shifted):
    """``p`` times 2 to the whole number to which ``shifted`` was rounded."""

    def code(_context, builder, _signature, args):
        form = _Float(builder, args[0].type)
        n = builder.sub(form.bits(args[1]), form.bits_of(form.magic))
        half = builder.ashr(n, form.whole(1))
        result = args[0]
        for part in (half, builder.sub(n, half)):
            power = builder.add(builder.shl(part, form.whole(form.fraction)), form.bits_of(1.0))
            result = builder.fmul(result, form.floating(power))
        return result

    return p(p, shifted), code


def _above(form: _Float, x: Any) -> Any:
    """How far the bits of x are above those of sqrt(1/2); the exponent is its upper part."""
    return form.builder.sub(form.bits(x), form.bits_of(0.5**0.5))


@instruction
def exponent(_context, x):
    """``e`` of ``x = 2^e m`` with m between sqrt(1/2) and sqrt(2), as a float."""

    def code(_context, builder, _signature, args):
        form = _Float(builder, args[0].type)
        e = builder.ashr(_above(form, args[0]), form.whole(form.fraction))
        shifted = form.floating(builder.add(e, form.bits_of(form.magic)))
        return builder.fsub(shifted, ir.Constant(form.kind, form.magic))

    return x(x), code


@instruction
def mantissa(_context, x):
    """``m`` of ``x = 2^e m``."""

    def code(_context, builder, _signature, args):
        form = _Float(builder, args[0].type)
        upper = builder.and_(_above(form, args[0]), form.whole(-(2**form.fraction)))
        return form.floating(builder.sub(form.bits(args[0]), upper))

    return x(x), code


@instruction
def leading(_context, x):
    """A float of which only the upper half of the bits is left, so that its square is exact."""

    def code(_context, builder, _signature, args):
        form = _Float(builder, args[0].type)
        return form.floating(builder.and_(form.bits(args[0]), form.whole(-(2 ** ((form.fraction + 2) // 2)))))

    return x(x), code


@instruction
def bits(_context, x):
    return types.int64(x), lambda _context, builder, _signature, args: builder.bitcast(args[0], ir.IntType(64))


@instruction
def floating(_context, n):
    return types.float64(n), lambda _context, builder, _signature, args: builder.bitcast(args[0], ir.DoubleType())


# Memory


def _marked(builder: Any, access: Any, scope: int) -> None:
    """Says of an access which memory it is in, and that it is in no other."""
    module = builder.module
    domain = module.add_metadata(["ricci"])

    def scopes(numbers: Any) -> Any:
        return module.add_metadata([module.add_metadata([f"memory {number}", domain]) for number in numbers])

    scope = min(scope, MOST_SCOPES - 1)
    access.set_metadata("alias.scope", scopes([scope]))
    access.set_metadata("noalias", scopes([n for n in range(MOST_SCOPES) if n != scope]))


def _place(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [place])


@instruction(prefer_literal=True)
def load(_context, array, place, scope):
    """The entry at a place of an array seen as flat."""

    def code(context, builder, signature, args):
        entry = builder.load(_place(context, builder, signature.args[0], args[0], args[1]))
        _marked(builder, entry, scope.literal_value)
        return context.data_model_manager[signature.return_type].from_data(builder, entry)

    return array.dtype(array, types.intp, scope), code


@instruction(prefer_literal=True)
def store(_context, array, place, value, scope):
    """The entry at a place of an array seen as flat becomes the value."""

    def code(context, builder, signature, args):
        data = context.data_model_manager[signature.args[2]].as_data(builder, args[2])
        access = builder.store(data, _place(context, builder, signature.args[0], args[0], args[1]))
        _marked(builder, access, scope.literal_value)
        return context.get_dummy_value()

    return types.none(array, types.intp, array.dtype, scope), code


@instruction
def hidden(_context, size):
    """A whole number that LLVM does not know, so that it does not unroll a loop of that size but vectorises it."""

    def code(_context, builder, _signature, args):
        kind = args[0].type
        return builder.asm(ir.FunctionType(kind, [kind]), "", "=r,0", args, False)

    return types.intp(types.intp), code
