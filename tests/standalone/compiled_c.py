"""C codes, compiled together by ``cc`` and called through ctypes."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import numpy as np

CC = shutil.which("cc")
HEAD = re.compile(r"^(void|double|float|long|int) (\w+)\((.*)\) \{$", re.MULTILINE)
TYPES = {"double": np.float64, "float": np.float32, "long": np.int64, "int": np.int32}
SCALARS = {"double": ctypes.c_double, "float": ctypes.c_float, "long": ctypes.c_long, "int": ctypes.c_int}


def joined(codes):
    """One text of several, each helper once."""
    blocks = [block for code in codes for block in re.split(r"\n\n(?=\S)", str(code).strip())]
    return "\n\n".join(dict.fromkeys(blocks)) + "\n"


def library(codes, folder):
    """The functions of codes, compiled."""
    source, made = folder / "codes.c", folder / "codes.so"
    source.write_text(joined(codes), encoding="utf-8")
    command = [CC, "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", made, source, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return ctypes.CDLL(str(made))


def called(loaded, code, values):
    """What a code gives: a number, or the arrays that it fills."""
    kind, _, parameters = next(m.groups() for m in HEAD.finditer(str(code)) if m[2] == code.name)
    function = getattr(loaded, code.name)
    function.restype = None if kind == "void" else SCALARS[kind]
    outputs, kept, given = [], [], []
    for part in [p for p in parameters.split(", ") if p != "void"]:
        words = part.removeprefix("const ").split()
        of_type, name = words[0], words[-1].lstrip("*").partition("[")[0]
        shape = [int(n) for n in re.findall(r"\[(\d+)\]", part)]
        if part.startswith("const "):
            kept.append(np.ascontiguousarray(values[name], TYPES[of_type]))
        elif shape:
            kept.append(np.full(shape, 7, TYPES[of_type]))
            outputs.append(kept[-1])
        else:
            given.append(SCALARS[of_type](np.asarray(values[name]).item()))
            continue
        given.append(kept[-1].ctypes.data_as(ctypes.c_void_p))
    found = function(*given)
    return found if kind != "void" else outputs[0] if len(outputs) == 1 else tuple(outputs)
