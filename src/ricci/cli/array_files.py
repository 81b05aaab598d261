"""Values of inputs from a command line, and results to files.

A value is ``NAME=`` followed by a number or a list as JSON has it, or by the name of a file: ``.npy``, ``.csv`` or
``.json``. A file of several arrays, ``.npz`` or a JSON object, stands alone, or after the one name that is wanted.
JSON has no infinities and no NaN; they are the texts "Infinity", "-Infinity" and "NaN", written and read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from ricci.cli.misuse import MisuseError
from ricci.cli.tables import table

READ = WRITTEN = (".npy", ".npz", ".csv", ".json")
NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def inputs(items: Iterable[str], orders: Mapping[str, int], integers: Iterable[str] = ()) -> dict[str, Any]:
    """The arrays that ``--input`` names; ``orders`` are the numbers of axes of those that a formula has.

    Of a file of several arrays those are taken that the formula has.
    """
    found: dict[str, Any] = {}
    for item in items:
        name, equals, rest = item.partition("=")
        values = {name: value_of(rest, name)} if equals else some_of(item, orders)
        twice = next((own for own in values if own in found), None)
        if twice is not None:
            raise MisuseError(f"--input {item}: {twice!r} has a value already.")
        found |= {own: shaped(value, own, orders.get(own), own in set(integers)) for own, value in values.items()}
    return found


def value_of(text: str, name: str) -> Any:
    """A number, a list or what is in a file."""
    if Path(text).suffix.lower() in READ:
        read = all_of(text)
        if name in read:
            return read[name]
        if len(read) == 1:
            return next(iter(read.values()))
        raise MisuseError(f"{text} has no array {name!r}; it has {', '.join(map(repr, read)) or 'none'}.")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        hint = "Write a number, a list such as [1, 2], or a file that ends in .npy, .npz, .csv or .json."
        raise MisuseError(
            f"--input {name}={shortened(text)}: this is neither a value nor the name of such a file. {hint}"
        ) from None


def some_of(file: str, wanted: Iterable[str]) -> dict[str, Any]:
    """Those arrays of a file that are wanted."""
    read = all_of(file)
    found = {name: read[name] for name in wanted if name in read}
    if not found:
        has = f"{file} has {', '.join(map(repr, read)) or 'no arrays'}"
        raise MisuseError(f"{has}, and the formula has {', '.join(map(repr, wanted)) or 'no inputs'}.")
    return found


def all_of(file: str) -> dict[str, Any]:
    """What is in a file, by name; what has no name of its own goes by that of the file."""
    path = Path(file)
    kind = path.suffix.lower()
    if kind not in READ:
        raise MisuseError(f"--input {file}: write NAME=VALUE, NAME=FILE, or a file that ends in .npz or .json.")
    try:
        return READERS[kind](path)
    except MisuseError:
        raise
    except (ValueError, EOFError, BadZipFile, RecursionError) as error:
        raise MisuseError(f"{file} is not read as {kind}: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    text = str(error).partition("\n")[0].rstrip(".")
    if "pickle" in text:  # NumPy's words advise to load it all the same, which runs what is in it
        return "it holds Python objects, and only numbers are read"
    return "it is nested too deep" if isinstance(error, RecursionError) else text


def _read_array(path: Path) -> dict[str, Any]:
    import numpy as np

    with path.open("rb") as file:
        return {path.stem: np.lib.format.read_array(file, allow_pickle=False)}


def _read_archive(path: Path) -> dict[str, Any]:
    import numpy as np

    with path.open("rb") as file, ZipFile(file) as archive:
        found = {}
        for name in archive.namelist():
            with archive.open(name) as entry:
                found[name.removesuffix(".npy")] = np.lib.format.read_array(entry, allow_pickle=False)
        return found


def _read_json(path: Path) -> dict[str, Any]:
    read = json.loads(path.read_text(encoding="utf-8-sig"))
    return read if isinstance(read, dict) else {path.stem: read}


READERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    ".npy": _read_array,
    ".npz": _read_archive,
    ".csv": lambda path: {path.stem: table(path)},
    ".json": _read_json,
}


def shaped(value: Any, name: str, order: int | None, whole: bool) -> Any:
    """A value as floats, or as whole numbers where it is used as an index, without the axis that a table adds."""
    import numpy as np

    value = finite_or_not(value)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise MisuseError(f"The rows of {name} = {shortened(value)} have different lengths.") from error
    if array.dtype == object and _are_numbers(array):  # whole numbers that no machine word holds
        array = array.astype(np.float64)
    if array.dtype == object or array.dtype.kind not in "biufc":
        raise MisuseError(f"{name} = {shortened(value)} is not an array of numbers.")
    if order == 1 and array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if order == 0 and array.size == 1:
        array = array.reshape(())
    if whole and array.dtype.kind == "f" and (array == np.round(array)).all() and np.isfinite(array).all():
        return array.astype(np.int64)
    return array.astype(np.float64) if array.dtype.kind in "iu" and not whole else array


def finite_or_not(value: Any) -> Any:
    """A value of JSON in which the words for infinities and NaN are numbers."""
    if isinstance(value, list):
        return [finite_or_not(part) for part in value]
    return NOT_FINITE.get(value, value) if isinstance(value, str) else value


def _are_numbers(array: Any) -> bool:
    return all(isinstance(x, (int, float)) for x in array.ravel().tolist())


def shortened(value: Any, most: int = 80) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= most else text[: most - 2] + " …"


# Results.


def listed(value: Any) -> Any:
    """An array as JSON has it: lists of numbers, and words for what is no finite number."""
    import numpy as np

    array = np.asarray(value)
    made = array.tolist()
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return made
    return _worded(made)


def _worded(value: Any) -> Any:
    if isinstance(value, list):
        return [_worded(part) for part in value]
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def check_place(file: str, results: int) -> None:
    """Refuses a file that cannot be written, before anything is computed for it."""
    path = Path(file)
    kind = path.suffix.lower()
    if kind not in WRITTEN:
        raise MisuseError(f"--out {file}: the file names no format; let it end in {', '.join(WRITTEN)}.")
    if results > 1 and kind in (".npy", ".csv"):
        raise MisuseError(f"--out {file}: there are {results} results, which a {kind} file cannot hold; use .npz.")
    if path.is_dir():
        raise MisuseError(f"--out {file}: this is a folder.")
    if not path.parent.is_dir():
        raise MisuseError(f"--out {file}: there is no folder {path.parent}.")


def written(file: str, results: Mapping[str, Any]) -> bytes:
    """Results in the format that the suffix of a file names."""
    import numpy as np

    kind = Path(file).suffix.lower()
    arrays = {name: np.asarray(value) for name, value in results.items()}
    (name, first), *_ = arrays.items()
    out = BytesIO()
    if kind == ".npz":
        with ZipFile(out, "w") as archive:  # as NumPy does, where names may be any
            for own, array in arrays.items():
                with archive.open(f"{own}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)
    elif kind == ".npy":
        np.lib.format.write_array(out, first, allow_pickle=False)
    elif kind == ".json":
        made = {own: listed(array) for own, array in arrays.items()}
        out.write((json.dumps(made if len(made) > 1 else made[name], ensure_ascii=False) + "\n").encode())
    elif first.ndim > 2:
        raise MisuseError(f"--out {file}: the result has {first.ndim} axes, and a table has two; use .npy or .json.")
    else:
        np.savetxt(out, np.atleast_1d(first), delimiter=",", fmt="%.17g")
    return out.getvalue()
