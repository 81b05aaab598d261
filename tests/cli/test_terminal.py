"""What a terminal adds: colours, lines that fit, progress. A pipe gets plain text."""

from __future__ import annotations

import io
import os
import re
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout

import pytest

import ricci as rc
from ricci.cli import terminal
from ricci.cli.commands import main

TEXT = "y[i] = " + " + ".join(f"alpha{k}[i] beta{k}[i]" for k in range(12))


class Terminal(io.StringIO):
    ran: Callable[..., int]

    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    """Standard output and error as one terminal of 60 columns."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(terminal.shutil, "get_terminal_size", lambda: os.terminal_size((60, 24)))
    made = Terminal()

    def ran(*words):
        """The status of a command whose output goes to the terminal."""
        with redirect_stdout(made), redirect_stderr(made):
            return main(words)

    made.ran = ran
    return made


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text)


def test_formulas_fit_the_terminal_and_read_back(screen):
    assert screen.ran("show", TEXT) == 0
    shown = screen.getvalue()
    assert "\x1b[1my[i]\x1b[0m = " in shown
    assert max(map(len, plain(shown).splitlines())) <= 60
    assert rc.parse(plain(shown)) == rc.parse(TEXT)


def test_a_derivation_has_its_rules_in_another_colour(screen):
    assert screen.ran("diff", "f = x[i] x[i]", "x", "--derivation") == 0
    assert plain(screen.getvalue()).splitlines() == rc.parse("f = x[i] x[i]").diff("x").derivation().lines(60)
    painted = re.findall(r"\x1b\[2m(.*?)\x1b\[0m", screen.getvalue())
    said = "".join(re.sub(r"[\s()]", "", rule) for rule in painted)
    steps = rc.parse("f = x[i] x[i]").diff("x").derivation()
    assert said == "".join(re.sub(r"[\s()]", "", step.rule) for step in steps)  # the rules, and nothing but the rules


def test_derivations_fit_pages_of_any_width():
    long = rc.parse(TEXT).diff("alpha3").derivation()
    for width in (40, 60, 100, 150):
        assert max(map(len, long.lines(width))) <= width
    assert "\n".join(long.lines()) == str(long) and len(long.lines(40)) > len(long.lines(150))


def test_carets_have_a_colour(screen):
    assert screen.ran("show", "y = (x") == 1
    assert "\x1b[1;31mNotationError\x1b[0m" in screen.getvalue() and re.search(r"\x1b\[1;31m +\^", screen.getvalue())


@pytest.mark.parametrize("name, value", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_are_left_out_where_they_are_not_wanted(screen, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert screen.ran("diff", "f = x[i] x[i]", "x", "--derivation") == 0 and screen.ran("show", "y = (x") == 1
    assert "\x1b" not in screen.getvalue()


def test_a_pipe_gets_plain_text():
    pipe = io.StringIO()
    with redirect_stdout(pipe):
        assert main(["show", TEXT]) == 0
    assert pipe.getvalue() == f"{rc.parse(TEXT)}\n"


def test_progress_is_shown_when_work_takes_long(screen, monkeypatch):
    monkeypatch.setattr(terminal, "WAIT", 0.02)
    monkeypatch.setattr(terminal, "STEP", 0.02)
    with redirect_stderr(screen), terminal.progress("computing"):
        time.sleep(0.2)
    assert "\rcomputing: 0 s" in screen.getvalue() and screen.getvalue().endswith("\r\x1b[K")
    screen.truncate(0)
    monkeypatch.setattr(terminal, "WAIT", 60)
    with redirect_stderr(screen), terminal.progress("computing"):
        pass
    assert "computing" not in screen.getvalue()


def test_progress_is_silent_in_a_pipe(monkeypatch):
    pipe = io.StringIO()
    monkeypatch.setattr(terminal, "WAIT", 0.0)
    with redirect_stderr(pipe), terminal.progress("computing"):
        time.sleep(0.05)
    assert not pipe.getvalue()
