"""The page in a real browser: Chromium on the built folder, with every other host out of reach.

It takes long: with ``--thorough`` alone. Screenshots are kept in the folder that
``RICCI_SCREENSHOTS`` names, or in one of pytest's.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import browser as browsers
import pytest

import ricci as rc
from ricci.errors import MissingPackageError

LOSS = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"
SLOW = "f = tanh(tanh(tanh(tanh(tanh(x)))))"
TABS = ("formula", "derivation", "structure", "matrix", "graph", "code", "values")


@pytest.fixture(scope="module")
def address(folder):
    lacking = browsers.lacking()
    if lacking:
        pytest.skip(f"the page is not tested in a browser: {lacking}")
    try:
        browsers.unpacked(browsers.PLAYWRIGHT), browsers.unpacked(browsers.AXE)
    except MissingPackageError as error:
        pytest.skip(f"the page is not tested in a browser: {error}")
    server, found = browsers.served(folder)
    yield f"{found}/index.html"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def driven(address):
    made = browsers.Browser()
    yield made
    made.close()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    chosen = os.environ.get("RICCI_SCREENSHOTS")
    place = Path(chosen) if chosen else tmp_path_factory.mktemp("screenshots")
    place.mkdir(parents=True, exist_ok=True)
    return place


class OpenPage:
    """The page, open in the browser."""

    def __init__(self, driven, address, pictures):
        self.driven, self.address, self.pictures = driven, address, pictures

    def open(self, scheme="light", width=1240, height=800, **state):
        self.driven("open", address=f"{self.address}#{urlencode(state)}" if state else self.address,
                    scheme=scheme, width=width, height=height)  # fmt: skip
        self.driven("wait", code="Number(document.documentElement.dataset.answer ?? 0) >= 1", seconds=90)
        self.at_rest()
        return self

    def at_rest(self):
        """Nothing runs, and what is shown is what is asked for, or a fault of it."""
        shown = "!document.querySelector('.panel:not([hidden]).stale') || !document.getElementById('problem').hidden"
        self.driven("wait", code=f"document.getElementById('stop').disabled && ({shown})")

    def follow(self, **state):
        """Another fragment in the address of the open page."""
        self.answered(lambda: self.driven("run", code=f"void (location.hash = {urlencode(state)!r})"))
        self.at_rest()

    def answered(self, act):
        """What is done, and the answer to it."""
        before = self.count
        act()
        self.driven("wait", code=f"Number(document.documentElement.dataset.answer) > {before}")

    @property
    def count(self):
        return self.driven("run", code="Number(document.documentElement.dataset.answer ?? 0)")

    def choose(self, tab):
        self.driven("click", at=f"#tab-{tab}")
        self.driven("wait", code=f"document.querySelector('#panel-{tab}').children.length > 0")
        self.at_rest()
        return self.driven("text", at=f"#panel-{tab}")

    def shown(self, selector="#panel-formula pre"):
        return self.driven("run", code=f"document.querySelector({selector!r})?.textContent ?? ''")

    def keep(self, name, whole=False):
        self.driven("screenshot", file=str(self.pictures / f"{name}.png"), whole=whole)

    def is_sound(self):
        """Nothing was asked of another host, and nothing was complained of."""
        assert self.driven("foreign") == []
        assert self.driven("said") == []


@pytest.fixture(scope="module")
def page(driven, address, pictures):
    """One page for all tests that leave it as they find it: with a text that they write themselves."""
    return OpenPage(driven, address, pictures).open()


def write(page, text, by=""):
    page.driven("click", at="#tab-formula")
    page.driven("fill", at="#by", text=by)
    page.answered(lambda: page.driven("fill", at="#text", text=text))
    page.at_rest()


@pytest.mark.thorough
def test_it_begins_with_a_derivation(page):
    lines = page.driven(
        "run", code="[...document.querySelectorAll('.steps li')].map((one) => one.querySelector('.rule').textContent)"
    )
    f = rc.parse(LOSS).diff("w", "w")
    assert lines == [step.rule for step in f.derivation()]
    assert page.driven("value", at="#text") == LOSS and page.driven("text", at="#read-as") == "read as index notation"
    assert page.driven("run", code="document.querySelectorAll('.katex').length") > 10
    page.keep("derivation")
    page.is_sound()


@pytest.mark.thorough
def test_type_wait_and_read_the_derivative(page):
    write(page, "")
    page.driven("fill", at="#by", text="x")
    page.driven("type", at="#text", text="f = x[i] A[i,j] x[j]")
    page.driven("wait", code="document.querySelector('#panel-formula pre')?.textContent.startsWith('df_dx')")
    assert page.shown() == str(rc.parse("f = x[i] A[i,j] x[j]").diff("x"))
    assert re.fullmatch(r"Answered in \d+ ms", page.driven("text", at="#status"))
    page.is_sound()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text, by, said, derivative",
    [
        (
            r"\ell = \frac{1}{2} \sum_i \left(y_i - X_{ij} w_j\right)^2",
            "w",
            "LaTeX",
            "dell_dw[j] = (X[i,j'] w[j'] - y[i]) X[i,j]",
        ),
        ("f = x'*A*x", "x", "matrices", "df_dx[i] = x[j] (A[j,i] + A[i,j])"),
        ("def f(w, X, y):\n    return np.log1p(np.exp(-y * (X @ w))).sum()", "w", "NumPy", ""),
    ],
)
def test_languages(page, text, by, said, derivative):
    write(page, text, by)
    assert page.driven("text", at="#read-as") == f"read as {said}"
    found = page.shown()
    assert found == derivative if derivative else found.startswith("df_dw[")


@pytest.mark.thorough
def test_every_tab(page):
    f = rc.parse(LOSS).diff("w", "w")
    write(page, LOSS, "w, w")
    for tab in TABS:
        text = page.choose(tab)
        page.keep(f"tab_{tab}")
        assert page.driven("axe") == [], tab
        if tab == "formula":
            assert str(f) in text
        elif tab == "structure":
            assert str(f.structure()) in text and page.driven("run", code="!!document.querySelector('.picture svg')")
        elif tab == "matrix":
            assert str(f.matrix()) in text
        elif tab == "graph":
            assert page.driven("run", code="document.querySelectorAll('.drawing svg path').length") > 5
        elif tab == "code":
            assert page.shown("#panel-code pre") == str(f.code())
        elif tab == "values":
            assert "agrees with central differences" in text and "✓" in text
    page.is_sound()


@pytest.mark.thorough
def test_code_in_each_language_and_copying(page):
    write(page, LOSS, "w")
    page.choose("code")
    f = rc.parse(LOSS).diff("w")
    for language in ("torch", "jax", "julia", "latex", "c"):
        page.answered(lambda language=language: page.driven("choose", at="#code", value=language))
        page.at_rest()
        sizes = {"m": 3, "n": 3} if language == "c" else None
        assert page.shown("#panel-code pre") == str(f.code(language, sizes=sizes))
    page.driven("click", at="#panel-code .end button")
    page.driven("wait", code="document.querySelector('#panel-code .end button').textContent === 'Copied'")
    assert page.driven("run", code="navigator.clipboard.readText()") == str(f.code("c", sizes={"m": 3, "n": 3}))
    page.driven("choose", at="#code", value="numpy")


@pytest.mark.thorough
def test_derivations_in_detail_and_with_sums(page):
    write(page, LOSS, "w")
    page.choose("derivation")
    f = rc.parse(LOSS).diff("w")
    page.answered(lambda: page.driven("choose", at="#detail", value="brief"))
    page.answered(lambda: page.driven("click", at="#sums"))
    page.at_rest()
    count = page.driven("run", code="document.querySelectorAll('.steps li').length")
    assert count == len(f.derivation("brief", True)) != len(f.derivation())
    page.answered(lambda: page.driven("choose", at="#detail", value="normal"))
    page.answered(lambda: page.driven("click", at="#sums"))


@pytest.mark.thorough
def test_errors_have_carets_and_hints(page):
    write(page, "a = x\ny = 2 sn(x)", "x")
    assert page.driven("text", at="#problem p") == "There is no function 'sn'."
    line, carets = page.shown("#problem pre").split("\n")
    assert line == "y = 2 sn(x)" and carets == "      ^^"
    assert "Did you mean 'sin'?" in page.driven("text", at="#problem .hint")
    assert page.driven("run", code="document.getElementById('text').getAttribute('aria-invalid')") == "true"
    assert page.shown(".panel:not([hidden]) .past") == "The formula has a fault. Below is what was there before."
    assert not page.driven("run", code="document.querySelector('.panel:not([hidden])').matches('.stale')")
    assert page.driven("axe") == []
    page.keep("error")
    write(page, "y = 2 sin(x)", "x")
    assert not page.driven("visible", at="#problem") and page.shown(".past") == ""
    page.answered(lambda: page.driven("fill", at="#by", text="q"))
    assert "q" in page.driven("text", at="#problem")


@pytest.mark.thorough
def test_variables_can_be_clicked(page):
    write(page, "f = x[i] A[i,j] y[j]")
    assert page.driven("run", code="document.querySelectorAll('#variables button').length") == 3
    page.answered(lambda: page.driven("click", at="#variables button:nth-child(2)"))
    assert page.driven("value", at="#by") == "A"
    page.answered(lambda: page.driven("click", at="#variables button:nth-child(1)"))
    assert page.driven("value", at="#by") == "A, x"
    page.answered(lambda: page.driven("click", at="#each"))
    page.at_rest()
    shown = page.driven(
        "run", code="[...document.querySelectorAll('#panel-formula .block pre')].map((one) => one.textContent)"
    )
    assert [one for one in shown if one.startswith("df_")] == ["df_dA[i,j] = x[i] y[j]", "df_dx[i] = A[i,j] y[j]"]
    for tab in TABS:
        page.choose(tab)
        assert page.driven("axe") == [], tab
        titles = page.driven("run", code=f"document.querySelectorAll('#panel-{tab} .block h2 .katex').length")
        assert titles == 2
    page.choose("formula")
    page.answered(lambda: page.driven("click", at="#each"))
    page.answered(lambda: page.driven("click", at="#clear"))
    assert page.driven("value", at="#by") == ""


@pytest.mark.thorough
def test_every_example_has_an_answer(page):
    count = page.driven("run", code="document.querySelectorAll('#examples button').length")
    assert count >= 12
    for k in range(count):
        page.driven("click", at=f"#examples button:nth-child({k + 1})")
        time.sleep(0.05)
        page.at_rest()
        assert not page.driven("visible", at="#problem"), page.driven("text", at="#problem")
        assert page.driven("run", code="!document.querySelector('.panel:not([hidden]) .reason')"), k


@pytest.mark.thorough
def test_a_link_has_the_whole_state(page):
    state = {
        "text": "f = 1/2*norm2(A*x - b)^2 + lam*x'*x", "language": "matrix", "by": "x, b", "each": "true", "order": "2",
        "mode": "reverse", "declare": "A[m,n] x[n] b[m] lam", "sizes": "m=2, n=3", "tab": "derivation",
        "detail": "full",
        "sums": "true", "code": "julia",
    }  # fmt: skip
    page.open(**state)
    assert parse_qs(urlsplit(page.driven("address")).fragment) == {name: [value] for name, value in state.items()}
    for name in ("text", "language", "by", "order", "mode", "declare", "sizes", "detail"):
        assert page.driven("value", at=f"#{name}") == state[name], name
    assert page.driven("run", code="['each', 'sums'].every((one) => document.getElementById(one).checked)")
    assert page.driven("run", code="document.querySelector('[aria-selected=true]').id") == "tab-derivation"
    page.driven("click", at="#link")
    page.driven("wait", code="document.getElementById('link').textContent === 'Copied'")
    link = page.driven("run", code="navigator.clipboard.readText()")
    assert link == page.driven("address")
    before = page.driven("text", at="#panel-derivation")
    assert before.count("definition") == 2  # by each of both
    page.follow(text="f = ü & ∂[i] # %", by="&")
    assert page.driven("value", at="#text") == "f = ü & ∂[i] # %" and page.driven("value", at="#by") == "&"
    page.answered(lambda: page.driven("run", code=f"void (location.href = {link!r})"))
    page.at_rest()
    assert page.driven("text", at="#panel-derivation") == before


@pytest.mark.thorough
def test_a_link_of_nonsense_still_opens(page):
    page.follow(
        text="f = x", tab="soul", order="many", mode="sideways", language="klingon", each="perhaps", other="3", code="z"
    )
    assert page.driven("value", at="#mode") == "auto" and page.driven("value", at="#order") == "1"
    assert page.driven("value", at="#language") == "auto"
    assert page.shown() == "f = x"
    page.driven("run", code="document.querySelector('.skip').click()")
    page.driven("run", code="void (location.hash = 'results')")  # a place on the page, and nothing that is asked
    page.at_rest()
    assert page.shown() == "f = x" and page.driven("value", at="#text") == "f = x"


@pytest.mark.thorough
def test_the_stop_button(page):
    write(page, "f = x", "x")
    page.choose("derivation")
    page.driven("fill", at="#by", text="x, x, x, x, x, x")
    page.driven("fill", at="#text", text=SLOW)
    page.driven("wait", code="document.getElementById('status').textContent === 'Computing …'")
    page.driven("wait", code="!document.getElementById('stop').disabled")
    start = page.driven("run", code="new Promise((go) => requestAnimationFrame(() => go(performance.now())))")
    assert start > 0  # the page itself does not wait
    page.driven("click", at="#stop")
    page.driven("wait", code="document.getElementById('stop').disabled", seconds=5)
    assert page.driven("text", at="#status") in ("Stopped", "Python starts …", "Ready")
    page.driven("wait", code="document.querySelector('#panel-derivation .past')?.textContent.startsWith('Stopped')")
    assert page.driven("value", at="#text") == SLOW and page.driven("value", at="#by") == "x, x, x, x, x, x"
    write(page, "f = x[i] x[i]", "x")
    assert page.shown() == "df_dx[i] = 2 x[i]"


@pytest.mark.thorough
def test_python_that_has_ended_begins_anew(page):
    """Thousands of signs one in the other are more than Python's own parser has the stack for in a browser."""
    write(page, "def f(x):\n    return " + "-" * 5000 + "x")
    assert "too large" in page.driven("text", at="#problem")
    assert any("fatal error" in one for one in page.driven("said"))  # Python's last words
    write(page, "f = x[i] x[i]", "x")
    assert page.shown() == "df_dx[i] = 2 x[i]" and not page.driven("visible", at="#problem")


@pytest.mark.thorough
def test_what_is_outdated_is_not_shown(page):
    write(page, "f = x", "x")
    for k in range(6):
        page.driven("fill", at="#text", text=f"f = {k + 2} x")
        time.sleep(0.27)
    page.driven("wait", code="document.querySelector('#panel-formula pre')?.textContent === 'df_dx = 7'")


@pytest.mark.thorough
def test_tabs_by_keyboard(page):
    write(page, LOSS, "w")
    page.driven("click", at="#tab-formula")
    own = ("document.activeElement", "document.querySelector('[role=tab][aria-selected=true]')")
    chosen = f"[{own[0]}.id, {own[1]}.id, document.querySelectorAll('[role=tab][tabindex=\"0\"]').length]"
    for keys, tab in (
        ("ArrowRight", "derivation"),
        ("End", "values"),
        ("ArrowRight", "formula"),
        ("ArrowLeft", "values"),
        ("Home", "formula"),
    ):
        page.driven("press", keys=keys)
        assert page.driven("run", code=chosen) == [f"tab-{tab}", f"tab-{tab}", 1]
    page.at_rest()
    page.driven("press", keys="Tab")
    assert page.driven("run", code="document.activeElement.id") == "panel-formula"


@pytest.mark.thorough
def test_the_graph_is_moved_and_made_larger(page):
    write(page, LOSS, "w")
    page.choose("graph")
    look = "document.querySelector('.drawing svg').getAttribute('viewBox').split(' ').map(Number)"
    whole = page.driven("run", code=look)
    page.driven("click", at="#panel-graph button[title=Larger]")
    larger = page.driven("run", code=look)
    assert larger[2] < whole[2]
    page.driven("run", code="document.querySelector('.drawing').focus()")
    page.driven("press", keys="ArrowRight")
    assert page.driven("run", code=look)[0] > larger[0]
    page.driven("press", keys="0")
    assert page.driven("run", code=look) == pytest.approx(whole, abs=0.02)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name, scheme, width",
    [("light", "light", 1240), ("dark", "dark", 1240), ("narrow", "light", 360), ("narrow_dark", "dark", 390)],
)
def test_anyone_can_use_it(page, name, scheme, width):
    write(page, LOSS, "w, w")
    page.choose("derivation")
    page.driven("media", scheme=scheme)
    page.driven("resize", width=width, height=800)
    assert page.driven("axe") == []
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.driven("run", code=wide) == 0  # nothing sticks out
    page.keep(f"whole_{name}", whole=True)
    page.is_sound()
    page.driven("media", scheme="light")
    page.driven("resize", width=1240, height=800)


@pytest.mark.thorough
def test_axe_finds_what_is_wrong(page):
    label = "document.querySelector('#by-title label')"
    page.driven("run", code=f"{label}.htmlFor = 'nobody'; document.getElementById('by').placeholder = ''")
    assert any("label" in one for one in page.driven("axe"))
    page.driven("run", code=f"void ({label}.htmlFor = 'by')")


@pytest.mark.thorough
def test_it_prints(page):
    write(page, LOSS, "w")
    page.choose("derivation")
    page.driven("media", media="print")
    assert not any(page.driven("visible", at=one) for one in ("#stop", "#link", "#tabs", "#examples", "#detail"))
    assert page.driven("visible", at=".steps") and page.driven("visible", at="#text")
    page.keep("print", whole=True)
    page.driven("media", media="screen")


@pytest.mark.thorough
def test_another_host_is_out_of_reach(page):
    """The page's policy refuses it; without the policy the driver would, and would note it."""
    fetched = "fetch('https://example.org/').then(() => 'reached', () => 'refused')"
    page.is_sound()
    assert page.driven("run", code=fetched) == "refused"
    assert any("Content Security Policy" in one for one in page.driven("said"))


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert browsers.lacking() == "Node.js is not installed"
    (tmp_path / "node").symlink_to(shutil.which("true", path="/usr/bin:/bin") or "/bin/true")
    assert "no Chromium" in browsers.lacking()
