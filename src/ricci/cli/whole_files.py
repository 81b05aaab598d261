"""Files that a command writes: whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(file: str) -> Iterator[Path]:
    """The name of a file to write, which becomes ``file`` at the end: nobody ever finds a part of it, and an earlier
    one stays where writing fails. What is there and is no plain file, such as a pipe, is written to as it is.
    """
    try:
        path = Path(os.path.realpath(file))
        if path.exists() and not path.is_file():
            yield Path(file)
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".ricci-", suffix=path.suffix)
        os.close(handle)
        try:
            yield Path(name)
            os.chmod(name, path.stat().st_mode if path.exists() else 0o666 & ~_mask())
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, file) from error


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
