"""The command ``ricci``: views, files, pipes, and what is wrong; in a process of its own where that matters."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import ricci as rc
from ricci.cli import options
from ricci.cli.commands import main

HERE = {**os.environ, "PYTHONPATH": str(Path(rc.__file__).parent.parent), "COLUMNS": "100"}
COMMAND = [sys.executable, "-m", "ricci"]
LOSS = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"


def ricci(*words, text="", status=0, folder=None):
    """What the command prints; what it complains of, where it should end with another status."""
    return told(*in_this_process(words, text, folder or "."), status)


def ricci_alone(*words, text="", status=0, folder=None):
    """The same of a process that does nothing else."""
    ran = subprocess.run(
        [*COMMAND, *words], input=text, capture_output=True, text=True, env=HERE, cwd=folder, check=False
    )
    assert "Traceback" not in ran.stderr
    return told(ran.returncode, ran.stdout, ran.stderr, status)


def in_this_process(words, text, folder):
    """The status with which the command ends, and what it writes; errors that nobody catches are the test's."""
    written = io.BytesIO(), io.BytesIO()
    out, said = (io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True) for stream in written)
    given = mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    with chdir(folder), given, mock.patch.dict(os.environ, COLUMNS="100"), redirect_stdout(out), redirect_stderr(said):
        try:
            ended = main(words)
        except SystemExit as error:  # from argparse
            ended = error.code or 0
    return ended, written[0].getvalue().decode(), written[1].getvalue().decode()


def told(ended, out, said, status):
    assert ended == status, said
    assert status == 0 or not out
    return said if status else out


def test_views_are_what_python_gives():
    f = rc.parse(LOSS).diff("w", "w")
    words = ["diff", LOSS, "w", "w", "--latex", "--matrix", "--text", "--derivation", "--structure"]
    shown = ricci(*words)
    parts = [f.latex(), f.matrix(), str(f), str(f.derivation()), str(f.structure()).rstrip("\n")]
    assert shown == "\n".join(parts) + "\n" == ricci_alone(*words)
    assert ricci("diff", LOSS, "--wrt", "w", "--order", "2") == f"{f}\n"
    made = json.loads(ricci("diff", LOSS, "w", "w", "--json"))
    assert made["latex"] == f.latex() and made["matrix"] == f.matrix() and made["indices"] == list(f.indices)
    assert made["graph"] == rc.draw(f).dot and "missing" not in made


def test_what_a_formula_has_not_is_missing_with_the_reason():
    made = json.loads(ricci("show", "y[i] = x[i+1] - x[i+0]", "--json"))
    assert made["matrix"] is None and made["missing"]["matrix"] and "derivation" not in made
    made = json.loads(ricci("show", "y[i] = x[i]", "--json", "--latex", "--code", "c"))
    assert made["latex"] == "y_{i} = x_{i}" and made["code"] is None and "size" in made["missing"]["code"]


def test_by_each_and_in_other_modes():
    f = rc.parse("f = x[i] A[i,j] x[j]")
    lines = ricci("diff", "f = x[i] A[i,j] x[j]", "x", "A", "--each", "--mode", "forward").splitlines()
    assert lines == [str(f.diff("x")), str(f.diff("A"))]
    assert len(json.loads(ricci("diff", "f = x[i] A[i,j] x[j]", "x", "A", "--each", "--json"))) == 2


def test_texts_from_a_pipe_and_a_file(tmp_path):
    (tmp_path / "norm.txt").write_text("m[b] = mean[h](x[b,h])  # the mean\ny[b,h] = x[b,h] - 1[h] m[b]\n")
    assert ricci("show", "@norm.txt", "--result", "m", folder=tmp_path) == "m[b] = 1/|h| 1[h] x[b,h]\n"
    assert ricci("show", "-", "--result", "m", text=(tmp_path / "norm.txt").read_text()) == "m[b] = 1/|h| 1[h] x[b,h]\n"
    assert ricci("diff", "s = F_{m n} F^{m n}", "F_{a b}", "--metric", "g").startswith("ds_dF^{a b} = ")


A, X = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5.0, 6.0])


@pytest.mark.parametrize("kind", ["npy", "csv", "json", "npz"])
def test_values_from_files_and_to_files(tmp_path, kind):
    save = {
        "npy": lambda name, value: np.save(tmp_path / f"{name}.npy", value),
        "csv": lambda name, value: np.savetxt(tmp_path / f"{name}.csv", value, delimiter=","),
        "json": lambda name, value: (tmp_path / f"{name}.json").write_text(json.dumps(value.tolist())),
        "npz": lambda name, value: np.savez(tmp_path / f"{name}.npz", A=A, x=X),
    }[kind]
    save("A", A)
    save("x", X)
    given = ["--input", f"A=A.{kind}", "--input", f"x=x.{kind}"] if kind != "npz" else ["--input", "A.npz"]
    assert not ricci("run", "y[i] = A[i,j] x[j]", *given, "--out", f"y.{kind}", folder=tmp_path)
    read = {
        "npy": np.load,
        "csv": lambda path: np.loadtxt(path, delimiter=","),
        "json": lambda path: np.array(json.loads(path.read_text())),
        "npz": lambda path: np.load(path)["y"],
    }[kind]
    np.testing.assert_array_equal(read(tmp_path / f"y.{kind}"), A @ X)


def test_values_from_words(tmp_path):
    assert ricci("run", "y = x**2", "--input", "x=3") == "9.0\n"
    (tmp_path / "t.csv").write_text("token\n1\n0\n1\n")
    table = ["--input", "table=[[1, 2], [3, 4]]"]
    found = ricci("run", "y[b,d] = table[t[b],d]", *table, "--input", "t=t.csv", "--json", folder=tmp_path)
    assert json.loads(found) == [[3, 4], [1, 2], [3, 4]]
    both = ["--by", "x", "A", "--each", "--input", "A=[[1, 2], [3, 4]]", "--input", "x=[5, 6]"]
    made = json.loads(ricci("run", "f = x[i] A[i,j] x[j]", *both, "--json"))
    np.testing.assert_array_equal(made["df_dx"], (A + A.T) @ X)
    np.testing.assert_array_equal(made["df_dA"], np.outer(X, X))
    assert "df_dx =" in ricci("run", "f = x[i] A[i,j] x[j]", *both)
    assert ricci("run", "n = 1[i] 1[i]", "--size", "i=4") == "4.0\n"
    assert not ricci("run", "f = x[i] A[i,j] x[j]", *both, "--out", "both.npz", folder=tmp_path)
    assert set(np.load(tmp_path / "both.npz")) == {"df_dx", "df_dA"}


def test_drawings(tmp_path):
    assert ricci("draw", "f = x1 x2 + sin(x1)") == rc.draw(rc.parse("f = x1 x2 + sin(x1)")).dot
    assert not ricci("draw", "f = x[i] A[i,j] x[j]", "x", "-o", "graph.svg", folder=tmp_path)
    assert "df_dx[i] =" in (tmp_path / "graph.svg").read_text()


def test_every_example_of_the_help_runs(tmp_path):
    helps = [ricci("--help"), *[ricci(name, "--help") for name in options.KINDS]]
    for name, lines in options.EXAMPLES.items():
        for line in lines:
            assert line in helps[1 + list(options.KINDS).index(name)]
            if name == "serve":  # which goes on; tests/web/test_server.py runs these
                continue
            *before, command = line.split(" | ")
            text = (
                subprocess.run(before, shell=True, capture_output=True, text=True, check=True).stdout if before else ""
            )
            first, *words = shlex.split(command)
            ended, out, said = in_this_process(words, text, tmp_path)
            assert (first, ended, said) == ("ricci", 0, ""), line
            assert out or (tmp_path / "graph.svg").exists(), line


def test_a_pipe_into_a_process():
    line = options.EXAMPLES["check"][-1]
    assert " | ricci check -" in line and "✓" in through_a_shell(line)


WRONG = [  # words, status, what is said
    (["diff", "f = x[i", "x"], 1, "NotationError: The bracket '[' is never closed.\n  f = x[i\n       ^"),
    (["diff", "f = x[i] x[i]", "y"], 1, "'y'"),
    (["diff", "f = x[i] x[i]"], 2, "by what"),
    (["diff", "f = x[i] x[i]", "x", "--order", "0"], 2, "positive"),
    (["diff"], 2, "required: TEXT"),
    (["show", "y[i] = x[i+1] - x[i+0]", "--matrix"], 1, "RuleError"),
    (["show", "@nowhere.txt"], 2, "nowhere.txt: No such file"),
    (["show", "y = x", "--size", "i=three"], 2, "--size i=3"),
    (["run", "y = x", "--input", "x=two"], 2, "neither a value nor the name"),
    (["run", "y = x", "--input", "x"], 2, "NAME=VALUE"),
    (["run", "y = x", "--input", "x=[1, [2]]"], 2, "different lengths"),
    (["run", "y = x", "--input", 'x="two"'], 2, "not an array of numbers"),
    (["run", "y = x", "--input", "x=nowhere.npy"], 2, "No such file"),
    (["run", "y = a x", "--input", "a=1"], 2, "no value for x: add --input x=VALUE"),
    (["run", "y = x", "--input", "x=1", "--out", "y.txt"], 2, ".npy"),
    (["run", "y[i] = x[i]", "--input", "x=broken.csv"], 2, "broken.csv, line 2: 'three' is not a number"),
    (["run", "y[i] = x[i]", "--input", "x=ragged.csv"], 2, "line 2: it has 1 numbers, and the lines above have 2"),
    (["run", "y[i] = x[i]", "--input", "x=pickled.npy"], 2, "not read as .npy: it holds Python objects"),
    (["run", "y[i,j,k] = x[i,j,k]", "--input", "x=[[[1]]]", "--out", "y.csv"], 2, "3 axes"),
    (["draw", "y = x", "-o", "y.doc"], 1, ".svg"),
    (["sing"], 2, "invalid choice"),
    (["show", ""], 1, "has no statement"),
    (["show", "y = \udcff"], 2, "not UTF-8"),
    (["show", "@"], 2, "names no file"),
    (["show", "@."], 2, "Is a directory"),
    (["show", "y = (" + "(" * 5000], 1, "nested"),
    (["show", "m = a; y = m", "--result", "q"], 1, "defines no 'q'"),
    (["show", "y[i] = x[i]", "--size", "i=²"], 2, "--size i=3"),
    (["show", "y[i] = x[i]", "--size", "=3"], 2, "--size i=3"),
    (["show", "y[i] = x[i]", "--size", "i=3", "--size", "i=4"], 2, "has the size 3 already"),
    (["diff", "f = x[i] x[i]", "x", "--order", "many"], 2, "'many' is no positive whole number"),
    (["diff", "f = x[i", "x", "--json"], 1, "never closed"),
    (["code", "f = x[i] y[i]", "x", "y", "--each", "--name", "g"], 2, "cannot have one name"),
    (["code", "y[i] = x[i]", "--backend", "c"], 1, "size"),
    (["run", "y[i] = x[i]", "--input", "x=gap.csv"], 2, "gap.csv, line 3: '' is not a number; a value is missing"),
    (["run", "y[i] = x[i]", "--input", "x=half.csv"], 2, "line 1: 'NA' is not a number; a value is missing"),
    (["run", "y[i] = x[i]", "--input", "x=comma.csv"], 2, "may stand between numbers or inside them"),
    (["run", "y[i] = x[i]", "--input", "x=empty.csv"], 2, "no numbers"),
    (["run", "y[i] = x[i]", "--input", "x=folder.csv"], 2, "Is a directory"),
    (["run", "y[i] = x[i]", "--input", "x=words.npz"], 2, "has no array 'x'; it has 'B', 'C'"),
    (["run", "y[i] = x[i]", "--input", "words.npz"], 2, "has 'B', 'C', and the formula has 'x'"),
    (["run", "y[i] = x[i]", "--input", "pickled.npz"], 2, "it holds Python objects"),
    (["run", "y[i] = x[i]", "--input", "x=text.npy"], 2, "text.npy is not read as .npy: "),
    (["run", "y[i] = x[i]", "--input", "x=complex.npy"], 1, "is complex"),
    (["run", "y[i] = x[i]", "--input", "x=deep.json"], 2, "nested too deep"),
    (["run", "y[i] = x[i]", "--input", "x=" + "[" * 20000], 2, "neither a value"),
    (["run", "y[i] = x[i]", "--input", "x=[1, null]"], 2, "not an array of numbers"),
    (["run", "y[i] = x[i]", "--input", 'x={"a": 1}'], 2, "not an array of numbers"),
    (["run", "y[i] = x[i]", "--input", "x=[1]", "--input", "x=[2]"], 2, "has a value already"),
    (["run", "y[i] = A[i,j] x[j]", "--input", "A=[[1, 2]]", "--input", "x=[1]"], 1, "two sizes"),
    (["run", "y[b,d] = t[k[b],d]", "--input", "t=[[1]]", "--input", "k=[0.5]"], 1, "integers"),
    (["run", "y = x", "--input", "x=1", "--out", "nowhere/y.npy"], 2, "there is no folder nowhere"),
    (["run", "y = x", "--input", "x=1", "--out", "folder.csv"], 2, "this is a folder"),
    (["run", "y = x", "--input", "x=1", "--out", "y.npy", "--json"], 2, "not allowed with"),
    (["draw", "y = x", "-o", "nowhere/y.svg"], 2, "nowhere/y.svg: No such file"),
    (["code", "y[i] = A[i,j] x[j]", "--backend", "c"], 1, "must be given; add --size i=3"),
    (["show", "y[b,i] = W[i,j,k] u[b,j] v[b,k]", "--latex", "--matrix"], 1, "matrix"),
]


@pytest.mark.parametrize(
    ("words", "status", "said"), WRONG, ids=lambda part: part[0] if isinstance(part, list) else None
)
def test_what_is_wrong_is_said(words, status, said, tmp_path):
    """In this process; the first of each status in one of its own, too."""
    make_files(tmp_path)
    before = set(tmp_path.iterdir())
    assert said in ricci(*words, status=status, folder=tmp_path) and set(tmp_path.iterdir()) == before
    if words is next(others for others, other, _ in WRONG if other == status):
        assert said in ricci_alone(*words, status=status, folder=tmp_path)


def make_files(tmp_path):
    """Files with which something is wrong."""
    (tmp_path / "broken.csv").write_text("1,2\n2,three\n")
    (tmp_path / "ragged.csv").write_text("1,2\n3\n")
    np.save(tmp_path / "pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "gap.csv").write_text("a,b\n1,2\n3,\n")
    (tmp_path / "half.csv").write_text("NA,NA\n1,2\n")
    (tmp_path / "comma.csv").write_text("1,5;2,5\n")
    (tmp_path / "empty.csv").write_text("# nothing\n")
    (tmp_path / "folder.csv").mkdir()
    np.savez(tmp_path / "words.npz", B=1.0, C=2.0)
    np.savez(tmp_path / "pickled.npz", x=np.array([{}], dtype=object))
    (tmp_path / "text.npy").write_text("hello")
    np.save(tmp_path / "complex.npy", np.array([1 + 2j]))
    (tmp_path / "deep.json").write_text("[" * 100_000)


def test_a_text_that_is_no_text(tmp_path):
    (tmp_path / "bytes").write_bytes(b"y = \xff\xfe")
    assert "not UTF-8" in ricci("show", "@bytes", status=2, folder=tmp_path)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('"1","2"\n"3","4"\n', A),
        ("1;2\n3;4\n", A),
        ("1\t2\n3\t4\n", A),
        ("  1  2\n  3  4\n", A),
        ("\ufeffa,b\r\n1,2\r\n3,4\r\n", A),
        ("# made today\nheight,weight\n1.0,2e0\n\n3., 4\n", A),
        ("nan,-inf\n", np.array([[np.nan, -np.inf]])),
    ],
)
def test_tables_as_programs_write_them(tmp_path, content, expected):
    (tmp_path / "A.csv").write_bytes(content.encode())
    assert not ricci("run", "y[i,j] = A[i,j]", "--input", "A=A.csv", "-o", "y.npy", folder=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected)


def test_numbers_that_json_has_not(tmp_path):
    words = ["run", "y[i] = x[i]", "--input", 'x=[1, NaN, 1e999, "-Infinity", 123456789012345678901234567890]']
    printed = ricci(*words, "--json")

    def refused(word):
        raise AssertionError(f"{word} is no JSON")

    assert json.loads(printed, parse_constant=refused) == [
        1,
        "NaN",
        "Infinity",
        "-Infinity",
        123456789012345678901234567890.0,
    ]
    assert not ricci(*words, "-o", "y.json", folder=tmp_path)
    assert (
        (tmp_path / "y.json").read_text()
        == printed
        == ricci("run", "y[i] = x[i]", "--input", "x=y.json", "--json", folder=tmp_path)
    )


def test_files_are_written_whole_or_not_at_all(tmp_path):
    x = ["--input", "x=[1, 2]"]
    assert not ricci("run", "y[i] = x[i]", *x, "-o", "Y.NPY", folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["Y.NPY"] and np.load(tmp_path / "Y.NPY").tolist() == [1, 2]
    (tmp_path / "y.csv").write_text("an earlier one\n")
    ricci("run", "y[i,j,k] = x[i] x[j] x[k]", *x, "-o", "y.csv", folder=tmp_path, status=2)
    assert (tmp_path / "y.csv").read_text() == "an earlier one\n"
    (tmp_path / "link.csv").symlink_to("y.csv")
    assert not ricci("run", "y[i] = x[i]", *x, "-o", "link.csv", folder=tmp_path)
    assert (tmp_path / "y.csv").read_text() == "1\n2\n" and (tmp_path / "link.csv").is_symlink()
    assert len(list(tmp_path.iterdir())) == 3
    if Path("/dev/full").exists():
        (tmp_path / "full.npz").symlink_to("/dev/full")
        assert "full.npz: No space left" in ricci("run", "y[i] = x[i]", *x, "-o", "full.npz", folder=tmp_path, status=2)


def test_languages_are_recognised(tmp_path):
    assert ricci("diff", "x'*A*x", "x", "--matrix") == "(A + Aᵀ) x\n"
    assert ricci("diff", r"f = \frac{1}{2} x_i x_i", "x") == "df_dx[i] = x[i]\n"
    (tmp_path / "loss.py").write_text(
        "def loss(w, X, y):\n    z = y * (X @ w)\n    return np.log1p(np.exp(-z)).sum()\n"
    )
    expected = str(rc.parse("loss = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))").diff("w"))
    found = ricci("diff", "@loss.py", "w", "--declare", "X[m,n] y[m] w[n]", folder=tmp_path).strip()
    assert rc.parse(found).equivalent(rc.parse(expected))
    assert "never closed" in ricci("show", "y = (x", status=1)  # where none fits, the error is that of index notation
    assert "NotationError" in ricci(
        "show", "def f(x):\n    while x: pass", status=1
    )  # what is NumPy's is read as that alone


def test_archives_may_hold_more_than_is_asked_for(tmp_path):
    np.savez(tmp_path / "all.npz", x=X, A=A, other=np.array(["words"]))
    assert ricci("run", "y[i] = x[i]", "--input", "all.npz", folder=tmp_path) == "[5. 6.]\n"
    assert (
        ricci("run", "y[i] = A[i,j] x[j]", "--input", "A=all.npz", "--input", "x=all.npz", folder=tmp_path)
        == "[17. 39.]\n"
    )


def test_options_stand_anywhere():
    expected = ricci("diff", "f = x[i] A[i,j] x[j]", "x", "A", "--latex")
    assert ricci("diff", "--latex", "f = x[i] A[i,j] x[j]", "x", "A") == expected
    assert ricci("diff", "f = x[i] A[i,j] x[j]", "--latex", "x", "--mode", "forward", "A") == expected
    assert ricci("diff", "f = x[i] A[i,j] x[j]", "--wrt", "x", "--latex", "--wrt", "A") == expected
    assert ricci("show", "--", "-x") == "-x\n" and ricci("show", "-x[i] y[i]") == "-x[i] y[i]\n"


@pytest.mark.parametrize("language", options.CODED)
def test_code_of_each_language(language):
    f = rc.parse("y[i] = A[i,j] x[j]", sizes={"i": 2, "j": 3})
    sizes = ["--size", "i=2", "--size", "j=3"]
    assert ricci("code", "y[i] = A[i,j] x[j]", "--backend", language, *sizes) == f.code(
        language, sizes={"i": 2, "j": 3}
    )
    assert ricci("show", "y[i] = A[i,j] x[j]", "--code", language, *sizes) == f.code(language, sizes={"i": 2, "j": 3})


def test_texts_of_other_systems(tmp_path):
    (tmp_path / "windows.txt").write_bytes(b"\xef\xbb\xbfm = a b\r\ny = 2 m\r\n")
    assert ricci("show", "@windows.txt", folder=tmp_path) == "y = 2 a b\n" == ricci("show", "-", text="\ufeffy = 2 a b")
    assert ricci_alone("run", "y[α] = 2 β[α]", "--input", "β=[1, 2]", "--json") == "[2.0, 4.0]\n"


def through_a_shell(line, status=0, **more):
    ran = subprocess.run(
        ["sh", "-c", line.replace("ricci", shlex.join(COMMAND))],
        capture_output=True,
        text=True,
        env={**HERE, **more},
        check=False,
    )
    assert (ran.returncode, "Traceback" in ran.stderr) == (status, False), ran.stderr
    return ran.stdout + ran.stderr


def test_closed_and_full_streams_and_other_encodings():
    assert "output is closed" in through_a_shell("ricci show 'y = x' >&-", 2)
    assert "input is closed" in through_a_shell("ricci show - <&-", 2)
    assert through_a_shell("ricci show 'y = (x' 2>&-", 1) == ""
    if Path("/dev/full").exists():
        assert (
            through_a_shell("ricci show 'y = x' > /dev/full", 2) == "ricci: standard output: No space left on device\n"
        )
    assert through_a_shell("ricci show 'y = α'", PYTHONIOENCODING="ascii") == "y = \\u03b1\n"
    assert "not UTF-8" in through_a_shell(r"printf 'y = \377' | ricci show -", 2)


@pytest.mark.parametrize("words", [["--help"], ["diff", "--help"], ["--version"], ["completion", "bash"]])
def test_whatever_is_printed_may_be_cut_off(words):
    with subprocess.Popen([*COMMAND, *words], stdout=-1, stderr=-1, env=HERE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait(30) in (0, 141)  # argparse itself passes over it


def test_a_closed_pipe_is_quiet():
    """As of ``ricci … | head -1``: the reader is gone before anything is written."""
    with subprocess.Popen([*COMMAND, "show", "-"], stdin=-1, stdout=-1, stderr=-1, env=HERE) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        process.stdin.write(b"y = x")
        process.stdin.close()
        assert (process.stderr.read(), process.wait(30)) == (b"", 141)


def test_an_interrupt_is_quiet():
    with subprocess.Popen([*COMMAND, "show", "-"], stdin=-1, stdout=-1, stderr=-1, env=HERE) as process:
        assert process.stdin and process.stderr
        process.stdin.write(b"y = x")
        process.stdin.flush()
        waiting(process)
        process.send_signal(signal.SIGINT)
        assert (process.stderr.read(), process.wait(30)) == (b"", -signal.SIGINT)  # which shells call 130


def test_an_interrupt_is_quiet_from_the_start():
    code = "import sys; sys.argv[1:] = ['diff', 'f = x[i] x[i]', 'x']; from ricci.cli import starting; "
    code += "import os, signal; "
    with subprocess.Popen([sys.executable, "-c", code + IMPORTING], stdout=-1, stderr=-1, env=HERE) as process:
        assert process.stderr
        assert (process.stderr.read(), process.wait(30)) == (b"", -signal.SIGINT)


IMPORTING = """
class Interrupting:  # while the first module of the command is looked for
    def find_spec(self, name, *_):
        if name == "ricci.cli.commands":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.exit(starting.main())
"""


def test_an_interrupt_that_is_ignored_stays_ignored():
    """As in the background of a script, which Ctrl-C is not for."""
    with subprocess.Popen(
        ["sh", "-c", f"trap '' INT; exec {shlex.join(COMMAND)} show -"], stdin=-1, stdout=-1, stderr=-1, env=HERE
    ) as process:
        assert process.stdin and process.stdout
        waiting(process)
        process.send_signal(signal.SIGINT)
        process.stdin.write(b"y = x")
        process.stdin.close()
        assert (process.stdout.read(), process.wait(30)) == (b"y = x\n", 0)


def waiting(process):
    """Until it waits for its text: a process that has not got that far is interrupted inside Python's own start."""
    state = Path(f"/proc/{process.pid}/wchan")
    status = Path(f"/proc/{process.pid}/syscall")
    if not state.exists() or not os.access(status, os.R_OK):
        pytest.skip("there is no way to see what a process waits for")
    for _ in range(3000):
        try:
            if status.read_text().startswith("0 0x0 "):  # it reads its standard input
                return
        except OSError:
            pytest.skip("the system does not say what a process waits for")
        time.sleep(0.01)
    raise AssertionError("it never reads")


@pytest.mark.parametrize("shell", options.SHELLS)
def test_completions_name_all_that_there_is(shell):
    script = ricci("completion", shell)
    for name in options.KINDS:
        assert name in script
    assert "derivation" in script and "cross-country" in script
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed, so its script is read and not run")
    assert subprocess.run([program, "-n"], input=script, capture_output=True, text=True, check=True).stderr == ""


def test_bash_completes():
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    asked = [("ricci di", "diff"), ("ricci diff x --lat", "--latex"), ("ricci diff x --mode cr", "cross-country")]
    for line, expected in asked:
        words = line.split()
        run = f'COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1}; _ricci; echo "${{COMPREPLY[@]}}"'
        script = ricci("completion", "bash").replace("complete -o", "true -o") + run
        assert (
            subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == expected
        )


@pytest.mark.parametrize(
    ("line", "expected"),
    [("ricci di", "diff"), ("ricci diff x --lat", "--latex"), ("ricci diff x --mode cr", "cross-country")],
)
def test_fish_completes(line, expected):
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("fish is not installed")
    script = ricci("completion", "fish") + f"\ncomplete -C {shlex.quote(line)}\n"
    ran = subprocess.run([fish, "--no-config"], input=script, capture_output=True, text=True, check=True)
    assert [row.split("\t")[0] for row in ran.stdout.splitlines()] == [expected] and not ran.stderr


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, whose threads zsh does not have
def test_zsh_completes():
    """In a real terminal, since zsh completes nowhere else: a key, and what then stands on the line."""
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("zsh is not installed")
    asked = [("ricci di", "diff"), ("ricci diff x --lat", "--latex"), ("ricci diff x --mode cr", "cross-country")]
    with completing(zsh, ricci("completion", "zsh")) as terminal:
        for line, expected in asked:
            os.write(terminal, line.encode() + b"\t")
            assert expected.encode() in until(terminal, expected.encode())
            os.write(terminal, b"\x15")


@contextmanager
def completing(zsh, script):
    """A terminal in which zsh runs, with a script for completions."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(zsh, [zsh, "-f", "-i"], {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": "/nonexistent"})
    with tempfile.NamedTemporaryFile("w", suffix=".zsh") as file:
        file.write(f"autoload -U compinit; compinit -D\n{script}")
        file.flush()
        os.write(terminal, f"PS1='> '; source {file.name}; echo rea''dy\n".encode())
        until(terminal, b"ready")
        yield terminal
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(terminal)


def until(terminal, word, seconds=30.0):
    """What a terminal shows until a word is there, or for so long."""
    found, end = b"", time.monotonic() + seconds
    while word not in found and (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            try:
                found += os.read(terminal, 65536)
            except OSError:
                break
    return found


def test_symbolic_commands_start_without_numpy():
    code = "import sys; from ricci.cli.commands import main; main(['diff', 'f = x[i] x[i]', 'x', '--json']); "
    ran = subprocess.run(
        [sys.executable, "-c", code + "print('numpy' in sys.modules)"],
        capture_output=True,
        text=True,
        env=HERE,
        check=True,
    )
    assert ran.stdout.splitlines()[-1] == "False"


def test_the_version():
    assert ricci("--version") == f"ricci {rc.__version__}\n"


def test_the_page_shows_what_is_printed():
    page = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
    block = page.partition("```console\n")[2].partition("```")[0]
    commands = [part.partition("\n") for part in block.split("$ ")[1:]]
    assert len(commands) == 3
    for line, _, printed in commands:
        _, *words = shlex.split(line)
        assert ricci_alone(*words) == printed
