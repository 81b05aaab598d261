"""The commands. A status of 1 says that the mathematics was at fault, 2 that the command line or a file was."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ricci as rc
from ricci.cli import terminal, views
from ricci.cli.misuse import MisuseError
from ricci.cli.options import WORDS, parser

WRONG, MISUSED, INTERRUPTED, CLOSED = 1, 2, 130, 141  # the last two are what shells say of signals


def main(argv: Sequence[str] | None = None) -> int:
    """What ``ricci`` does; the status with which it ends."""
    try:
        return _done(argv)
    except (MisuseError, rc.MissingPackageError) as error:
        return _complain("ricci", str(error), MISUSED)
    except rc.RicciError as error:
        return _complain(type(error).__name__, _as_options(str(error)), WRONG)
    except BrokenPipeError:
        _abandon()
        return CLOSED
    except OSError as error:
        _abandon()
        place = "standard output" if error.filename is None else error.filename
        return _complain("ricci", f"{place}: {error.strerror or error}", MISUSED)
    except UnicodeDecodeError as error:
        return _complain("ricci", f"The text is not UTF-8: {error}.", MISUSED)
    except MemoryError as error:
        return _complain("ricci", f"There is not enough memory for this. {error}".strip(), WRONG)
    except KeyboardInterrupt:
        return INTERRUPTED


def _done(argv: Sequence[str] | None) -> int:
    if sys.stdout is None:
        raise MisuseError("Standard output is closed.")
    if hasattr(sys.stdout, "reconfigure"):  # what the encoding of a stream lacks is escaped
        sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]
    try:
        asked = parser(COMMANDS).parse_args(argv)
        return asked.run(asked)
    finally:
        sys.stdout.flush()


def _abandon() -> None:
    """What is left to flush goes nowhere."""
    with contextlib.suppress(OSError, ValueError):  # a stream that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(title: str, message: str, status: int) -> int:
    if sys.stderr is not None:
        print(terminal.complaint(title, message, sys.stderr), file=sys.stderr)
    return status


def _as_options(message: str) -> str:
    """A message that says ``sizes={"i": 3}``, as one writes it here."""

    def options(found: re.Match) -> str:
        return " ".join([f"--size {name}={size}" for name, size in re.findall(r"(\w+)['\"]: (\w+|…)", found[1])])

    return re.sub(r"sizes=\{([^{}]+)\}", options, message)


def _say(text: str, view: str = "") -> None:
    print(terminal.dressed(text, view, sys.stdout))


# Formulas.


def _text_of(asked: Namespace) -> str:
    if asked.text == "-":
        if sys.stdin is None:
            raise MisuseError("Standard input is closed, and the text was to come from there.")
        return sys.stdin.buffer.read().decode("utf-8-sig")
    if asked.text.startswith("@"):
        if not asked.text[1:]:
            raise MisuseError("'@' names no file: write @FILE.")
        return Path(asked.text[1:]).read_bytes().decode("utf-8-sig")
    return os.fsencode(asked.text).decode("utf-8")


def _sizes(items: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in items:
        name, number = (part.strip() for part in f"{item}=".split("=")[:2])
        if not (name and number.isascii() and number.isdecimal() and item.count("=") == 1):
            raise MisuseError(f"--size {item}: write the name of an index and its size: --size i=3.")
        if found.setdefault(name, int(number)) != int(number):
            raise MisuseError(f"--size {item}: {name!r} has the size {found[name]} already.")
    return found


def _formula(asked: Namespace) -> rc.Formula:
    """What a text says, in the language that is named, or in one in which it can be read."""
    text = _text_of(asked)
    if asked.language is not None:
        return _read(asked.language, text, asked)
    try:
        return _read("matrix" if asked.declare is not None else "", text, asked)
    except rc.LimitError:
        raise
    except rc.RicciError:
        from ricci.web.recognising import languages

        others = languages(text, asked.declare or "")
        if others == ("numpy",):
            return _read("numpy", text, asked)
        with contextlib.suppress(rc.RicciError):
            if "matrix" in others and asked.declare is None:
                return _read("matrix", text, asked)
        raise


def _read(language: str, text: str, asked: Namespace) -> rc.Formula:
    sizes, declare = _sizes(asked.size), asked.declare or ""
    if language == "matrix":
        options = {"result": asked.result, "functions": asked.functions, "complex": asked.complex}
        return rc.matrix(text, declare, sizes=sizes, **options)
    if language == "numpy":
        from ricci.user.function_texts import formula_of_function

        return formula_of_function(text, declare, asked.result, sizes)
    latex = {"latex": True, "index": False}.get(language)
    return rc.parse(text, asked.result, sizes=sizes, latex=latex, **_declared(asked))


def _declared(asked: Namespace) -> dict[str, Any]:
    return {word: getattr(asked, word) for word in ("metric", "functions", *WORDS)}


def _formulas(asked: Namespace) -> list[rc.Formula]:
    """What is asked for: the formula, its derivative, or those by each."""
    with terminal.progress("reading"):
        f = _formula(asked)
    by = [x for x in (*asked.by, *asked.wrt) for _ in range(asked.order)]
    if not by:
        return [f]
    with terminal.progress("differentiating"):
        if asked.each:
            return [f.diff(*[x] * asked.order, mode=asked.mode, effort=asked.effort) for x in (*asked.by, *asked.wrt)]
        return [f.diff(*by, mode=asked.mode, effort=asked.effort)]


def show(asked: Namespace) -> int:
    asked.by, asked.wrt, asked.order = [], [], 1
    return _show(_formulas(asked), asked)


def diff(asked: Namespace) -> int:
    if not asked.by and not asked.wrt:
        raise MisuseError('ricci diff needs to know by what: ricci diff "f = x[i] x[i]" x.')
    return _show(_formulas(asked), asked)


def _show(formulas: Sequence[rc.Formula], asked: Namespace) -> int:
    names = asked.views or []
    if asked.json:
        with terminal.progress("writing"):
            more = {"code": lambda f: _code(f, asked, asked.code)} if asked.code else {}
            made = [views.whole(f, names, more) for f in formulas]
        print(json.dumps(made[0] if len(made) == 1 else made, ensure_ascii=False))
        return 0
    forms = [[*_forms(f, names or ([] if asked.code else ["text"]))] for f in formulas]
    codes = [_code(f, asked, asked.code) if asked.code else "" for f in formulas]
    for number, (shown, text) in enumerate(zip(forms, codes, strict=True)):  # all of it, or the error alone
        for name, form in shown:
            _say(form, name)
        if text:
            print("\n\n" * bool(number) + text, end="")
    return 0


def _forms(f: rc.Formula, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        with terminal.progress("writing"):
            text = views.shown(f, name, terminal.columns(sys.stdout))
        yield name, text


def _code(f: rc.Formula, asked: Namespace, language: str, **how: Any) -> str:
    return str(f.code(language, sizes=_sizes(asked.size) or None, **how))


def code(asked: Namespace) -> int:
    formulas = _formulas(asked)
    if asked.name is not None and len(formulas) > 1:
        raise MisuseError(f"--name {asked.name}: there are {len(formulas)} functions, which cannot have one name.")
    with terminal.progress("writing code"):
        written = [_code(f, asked, asked.backend, name=asked.name, types=asked.types) for f in formulas]
    print("\n\n".join(written), end="")
    return 0


def run(asked: Namespace) -> int:
    from ricci.cli import array_files  # archives, tables and NumPy, which symbolic commands start without

    formulas = _formulas(asked)
    if asked.out is not None:
        array_files.check_place(asked.out, len(formulas))
    facts = formulas[0].context.facts
    with terminal.progress("reading"):
        given = array_files.inputs(asked.input, facts.inputs, facts.integers)
    lacking = [name for name in formulas[0].variables if name not in given]
    if lacking:
        raise MisuseError(f"There is no value for {', '.join(lacking)}: add --input {lacking[0]}=VALUE.")
    sizes = _sizes(asked.size) or None
    results: dict[str, Any] = {}
    for f in formulas:
        known = {
            name: value for name, value in given.items() if name in f.context.facts.inputs or name not in facts.inputs
        }
        with terminal.progress("computing"):
            results[f.name or "result"] = f.compile(asked.backend)(**known, **({"sizes": sizes} if sizes else {}))
    if asked.out is not None:
        _write(asked.out, array_files.written(asked.out, results))
        return 0
    import numpy as np

    arrays = {name: np.asarray(value) for name, value in results.items()}
    if asked.json:
        listed = {name: array_files.listed(array) for name, array in arrays.items()}
        print(json.dumps(listed if len(listed) > 1 else next(iter(listed.values()))))
        return 0
    for name, array in arrays.items():
        _say(f"{name} =\n{array}" if len(arrays) > 1 else str(array))
    return 0


def draw(asked: Namespace) -> int:
    formulas = _formulas(asked)
    drawing = rc.draw(formulas, direction=asked.direction, most=asked.most)
    if asked.out is None:
        print(drawing.dot, end="")
        return 0
    _write(asked.out, drawing.bytes_for(asked.out))
    return 0


def _write(file: str, content: bytes) -> None:
    from ricci.cli.whole_files import whole_file  # with what temporary files need

    with whole_file(file) as place:
        place.write_bytes(content)


def check(asked: Namespace) -> int:
    with terminal.progress("checking"):
        report = rc.check(_text_of(asked), sizes=_sizes(asked.size), **_declared(asked))
    _say(str(report), "check")
    return 0 if report.ok and report.verdicts else WRONG


def serve(asked: Namespace) -> int:
    from ricci.cli import server  # sockets and processes, which no other command needs

    return server.serve(asked)


def completion(asked: Namespace) -> int:
    from ricci.cli.completion import script

    print(script(asked.shell, parser(COMMANDS)), end="")
    return 0


COMMANDS = {
    "show": show,
    "diff": diff,
    "code": code,
    "run": run,
    "draw": draw,
    "check": check,
    "serve": serve,
    "completion": completion,
}
