"""What the project says of itself: README, badges, citation, package metadata and workflows agree with one another."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
import types
from pathlib import Path

import pytest

import ricci as rc

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


TIME = re.compile(r"(\d+(?:\.\d+)?) (ms|µs|s)\b")


def seconds(number: str, unit: str) -> str:
    """A time with two digits."""
    return f"{float(number) * {'s': 1, 'ms': 1e-3, 'µs': 1e-6}[unit]:.2g}"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def badge(name: str) -> list[str]:
    """The two texts of a badge, which is also what it is called."""
    text = read(f"docs/images/badge-{name}.svg")
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    assert f"<title>{': '.join(shown)}</title>" in text
    assert f"badge-{name}.svg" in read("README.md")
    return shown


def test_badges_are_true():
    assert badge("python") == ["python", PROJECT["requires-python"].replace(">=", "≥ ")]
    assert badge("licence") == ["licence", PROJECT["license"]]
    assert badge("typed")[1] == "py.typed"
    assert Path(rc.__file__ or "").with_name("py.typed").exists()


def test_one_version():
    cited = re.search(r"^version: (.*)$", read("CITATION.cff"), re.MULTILINE)
    assert cited
    assert cited[1] == PROJECT["version"] == rc.__version__


def test_the_readme_is_short_and_has_its_two_commands():
    text = read("README.md")
    assert len(text.splitlines()) <= 150
    commands = re.findall(r"^    (pip install .*&& .*)$", text, re.MULTILINE)
    assert commands == ["pip install . && python -m ricci", 'pip install ".[test]" && ./test']


def test_times_in_the_readme_are_those_of_the_tables():
    """Each time that the README's table names stands in a table of the measurements, or rounds one that does."""
    known = {seconds(*one) for one in TIME.findall(read("docs/benchmarks.md"))}
    known |= {seconds(number, "µs") for number in re.findall(r"\| (\d+\.\d+) (?=\|)", read("docs/einops.md"))}
    named = TIME.findall("\n".join(line for line in read("README.md").splitlines() if line.startswith("|")))
    assert len(named) >= 15
    assert [one for one in named if seconds(*one) not in known] == []


def test_workflows_call_what_is_there():
    assert "bash .ci/run" in read(".github/workflows/ci.yml")
    assert (ROOT / ".ci" / "run").exists()
    release = read(".github/workflows/release.yml")
    assert "pypa/gh-action-pypi-publish" in release
    assert "id-token: write" in release
    assert "password" not in release.replace("no password is kept", "")
    yaml = pytest.importorskip("yaml", reason="PyYAML, which reads workflows, is not installed")
    for path in [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / "CITATION.cff"]:
        assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def build_hook(monkeypatch):
    """The module that hatchling loads; it is there when a package is built, and need not be here."""
    if importlib.util.find_spec("hatchling") is None:
        interface = types.ModuleType("hatchling.metadata.plugin.interface")
        interface.MetadataHookInterface = object  # pyright: ignore[reportAttributeAccessIssue]
        for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin"):
            monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        monkeypatch.setitem(sys.modules, interface.__name__, interface)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)  # pyright: ignore[reportArgumentType]
    spec.loader.exec_module(module)  # pyright: ignore[reportOptionalMemberAccess]
    return module


def test_a_package_has_addresses_where_that_of_the_repository_is_known(monkeypatch):
    module = build_hook(monkeypatch)
    for name in ("RICCI_URL", "GITHUB_SERVER_URL", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    hook = module.RepositoryHook.__new__(module.RepositoryHook)
    monkeypatch.setattr(type(hook), "root", str(ROOT), raising=False)
    unknown = {"version": "1.2.3"}
    hook.update(unknown)
    assert "urls" not in unknown
    assert unknown["readme"]["text"] == read("README.md")  # pyright: ignore[reportArgumentType]
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://host")
    monkeypatch.setenv("GITHUB_REPOSITORY", "us/ricci")
    known = {"version": "1.2.3"}
    hook.update(known)
    text = known["readme"]["text"]  # pyright: ignore[reportArgumentType]
    assert "[the tour](https://host/us/ricci/blob/v1.2.3/docs/tour.md)" in text
    assert "(https://host/us/ricci/raw/v1.2.3/docs/images/derivation.png)" in text
    assert re.findall(r"\]\((?!https://)[^)]*\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)) == []
    assert known["urls"]["Repository"] == "https://host/us/ricci"  # pyright: ignore[reportArgumentType]
