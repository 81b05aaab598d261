"""What may be written after ``ricci``: the commands, their options, and examples, each of which is run by a test."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from ricci import __version__
from ricci.cli.views import VIEWS

MODES = ("auto", "forward", "reverse", "cross-country")
BACKENDS = ("numpy", "torch", "jax")
CODED = (*BACKENDS, "julia", "c", "latex")
LANGUAGES = ("index", "latex", "matrix", "numpy")
WORDS = ("symmetric", "antisymmetric", "positive", "orthogonal", "hermitian", "unitary", "complex")
SHELLS = ("bash", "zsh", "fish")

ABOUT = "Tensor calculus as it is written on paper: equations in, exact derivatives, derivations and values out."
TEXT = "equations, - for those on standard input, or @FILE for those in a file; after -- if a minus comes first"

EXAMPLES: dict[str, list[str]] = {
    "show": [
        'ricci show "y[i,j] = x[i,k] a[k,j] + 1[i] b[j]" --latex',
        "echo 'm[b] = mean[h](x[b,h])' | ricci show - --json",
    ],
    "diff": [
        'ricci diff "f = x[i] A[i,j] x[j]" x --latex',
        'ricci diff "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))" w w --derivation --structure',
        'ricci diff "f = x[i] A[i,j] x[j]" x A --each --matrix',
        'ricci diff "y = x[i] A[i,j] x[j]" --wrt x --order 2 --latex --code torch --steps',
        """ricci diff "x'*A*x" x --matrix""",
        'ricci diff "lambda w, X: np.sum(np.tanh(X @ w))" w',
    ],
    "code": [
        'ricci code "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))" w w --backend torch --name hessian',
        'ricci code "f = x[i] A[i,j] x[j]" x --backend jax',
        'ricci code "y[i] = A[i,j] x[j]" --backend c --size i=3 --size j=2',
    ],
    "run": [
        'ricci run "y[i] = A[i,j] x[j]" --input A="[[1, 2], [3, 4]]" --input x="[5, 6]"',
        'ricci run "f = x[i] x[i]" --by x --input x="[1, 2, 3]" --json',
    ],
    "draw": ['ricci draw "f = x1 x2 + sin(x1)"', 'ricci draw "f = x[i] A[i,j] x[j]" x -o graph.svg'],
    "check": [
        'ricci check "f = x[i] x[i]; D(f, x[k]) = 2 x[k]"',
        "printf 'a (b + c)\\n = a b + a c\\n' | ricci check -",
    ],
    "serve": ["ricci serve", "ricci serve --workers 4 --host 0.0.0.0 --port 8000 --seconds 10"],
    "completion": ["ricci completion bash", "ricci completion zsh", "ricci completion fish"],
}


def parser(commands: dict[str, Callable[[Any], int]]) -> argparse.ArgumentParser:
    """The parser, which leaves in ``run`` the function of the command that was given."""
    whole = argparse.ArgumentParser(
        prog="ricci", description=ABOUT, epilog=_examples("diff", "run"), formatter_class=_Raw
    )
    whole.add_argument("--version", action="version", version=f"ricci {__version__}")
    kinds = whole.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Own)
    for name, (about, add) in KINDS.items():
        own = kinds.add_parser(name, help=about, description=about, epilog=_examples(name), formatter_class=_Raw)
        for part in add:
            part(own)
        places = "".join(f" {a.metavar or a.dest.upper()}" + " ..." * (a.nargs == "*") for a in own.places())
        own.usage = f"ricci {name}{places} [options]"
        own.set_defaults(run=commands[name])
    return whole


class _Own(argparse.ArgumentParser):
    """The parser of one command: options may stand between its arguments, ``ricci diff TEXT --latex X``."""

    _inside = False

    def places(self) -> list[argparse.Action]:
        return [action for action in self._actions if not action.option_strings]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._inside or "--" in args:  # it calls itself; and what is behind -- is no option
            return super().parse_known_args(args, namespace)
        self._inside = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._inside = False


class _Raw(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=30)


def _examples(*names: str) -> str:
    lines = [f"  {line}" for name in names for line in EXAMPLES.get(name, [])]
    return "examples:\n" + "\n".join(lines) if lines else ""


# Groups of options.


def _text(own: argparse.ArgumentParser) -> None:
    reading = _checked(own)
    reading.add_argument("--result", metavar="NAME", help="the statement that counts, if not the last")
    reading.add_argument("--language", choices=LANGUAGES, help="if it is not to be recognised")
    reading.add_argument(
        "--declare", metavar="NAMES", help='of matrices and of NumPy: --declare "A[m,n] lam S: symmetric"'
    )


def _checked(own: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    own.add_argument("text", metavar="TEXT", help=TEXT)
    reading = own.add_argument_group("how the text is read")
    reading.add_argument("--size", action="append", default=[], metavar="i=3", help="the size of an index")
    reading.add_argument("--metric", metavar="g", help="the tensor that raises and lowers indices")
    reading.add_argument("--functions", metavar="NAMES", help="unknown functions")
    for word in WORDS:
        about = "symmetric and positive definite" if word == "positive" else word
        those = "tensors of complex numbers" if word == "complex" else f"matrices that are {about}"
        reading.add_argument(f"--{word}", metavar="NAMES", help=those)
    return reading


def _by(own: argparse.ArgumentParser) -> None:
    own.add_argument("by", nargs="*", metavar="X", help="w, or w[p] with the new index; several: one after the other")
    _deriving(own)
    own.add_argument("--wrt", action="append", default=[], metavar="X", help="the same as X")
    own.add_argument("--order", type=_count, default=1, metavar="N", help="by each so many times")


def _by_option(own: argparse.ArgumentParser) -> None:
    own.add_argument("--by", nargs="+", default=[], metavar="X", help="the value of the derivative by these")
    _deriving(own)
    own.set_defaults(wrt=[], order=1)


def _deriving(own: argparse.ArgumentParser) -> None:
    own.add_argument("--each", action="store_true", help="by each of them, and not by one after the other")
    own.add_argument("--mode", choices=MODES, default="auto", help="the order in which derivatives are multiplied")
    own.add_argument("--effort", type=float, default=0.0, metavar="SECONDS", help="to look for a better such order")


def _views(own: argparse.ArgumentParser) -> None:
    forms = own.add_argument_group("what is shown")
    for name, (_, about) in VIEWS.items():
        names = [f"--{name}", "--steps"] if name == "derivation" else [f"--{name}"]
        forms.add_argument(*names, dest="views", action="append_const", const=name, help=about)
    forms.add_argument("--code", choices=CODED, metavar="BACKEND", help=f"a function to keep, of {', '.join(CODED)}")
    forms.add_argument("--json", action="store_true", help="one object with all forms, or with those that are named")


def _coding(own: argparse.ArgumentParser) -> None:
    own.add_argument("--backend", choices=CODED, default="numpy", help="the library or language")
    own.add_argument("--name", metavar="NAME", help="what the function is called")
    own.add_argument("--types", metavar="float32", help="the type of all arguments, if it is to be fixed")


def _running(own: argparse.ArgumentParser) -> None:
    own.add_argument(
        "--input", action="append", default=[], metavar="NAME=VALUE",
        help="a number, a list, or a file: .npy, .npz, .csv, .json; or a file of several arrays, without NAME=",
    )  # fmt: skip
    shown = own.add_mutually_exclusive_group()
    shown.add_argument("-o", "--out", metavar="FILE", help="where values go: .npy, .npz, .csv or .json")
    own.add_argument("--backend", choices=BACKENDS, default="numpy", help="the library that computes")
    shown.add_argument("--json", action="store_true", help="values as JSON")


def _drawing(own: argparse.ArgumentParser) -> None:
    own.add_argument("-o", "--out", metavar="FILE", help=".svg, .dot, and with Graphviz .png, .pdf; else it is printed")
    own.add_argument("--direction", choices=("LR", "TB", "RL", "BT"), default="LR", help="where lines go")
    own.add_argument("--most", type=_count, default=80, metavar="N", help="boxes; what is more is folded")


def _serving(own: argparse.ArgumentParser) -> None:
    own.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="by default this machine alone may ask")
    own.add_argument("--port", type=_whole, metavar="N", help="0 is any free one, as where the usual 8765 is taken")
    own.add_argument("--no-browser", action="store_true", help="only say the address")
    own.add_argument("--page", metavar="FOLDER", help="a page that was built, in place of the one that ricci has")
    capped = own.add_argument_group("for several people")
    capped.add_argument("--workers", type=_count, metavar="N", help="so many processes; needs Starlette and uvicorn")
    capped.add_argument("--seconds", type=_count, default=20, metavar="N", help="that an answer may take; 20")
    capped.add_argument("--memory", type=_memory, default=1024, metavar="MB", help="that a process may use; 1024")
    capped.add_argument("--waiting", type=_whole, default=16, metavar="N", help="requests that wait, at most; 16")


def _shell(own: argparse.ArgumentParser) -> None:
    own.add_argument("shell", choices=SHELLS, help="whose script is printed")


def _count(text: str) -> int:
    return _whole(text, 1)


def _memory(text: str) -> int:
    return _whole(text, 200)


def _whole(text: str, least: int = 0) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= least):
        wanted = "positive whole number" if least == 1 else f"whole number from {least} on"
        raise argparse.ArgumentTypeError(f"{text!r} is no {wanted}")
    return int(text)


KINDS: dict[str, tuple[str, tuple[Callable[[argparse.ArgumentParser], object], ...]]] = {
    "show": ("read, check and print equations", (_text, _views)),
    "diff": ("differentiate, and show the derivative", (_text, _by, _views)),
    "code": ("write a function to keep, which needs no ricci", (_text, _by, _coding)),
    "run": ("compute values", (_text, _by_option, _running)),
    "draw": ("draw what is computed from what", (_text, _by, _drawing)),
    "check": ("say of each line of a derivation whether it follows", (_checked,)),
    "serve": ("open the page in a browser, served from this machine", (_serving,)),
    "completion": ("print a script that completes commands and options in a shell", (_shell,)),
}
