"""Scripts that complete commands, options and their values in a shell, made of the parser's own tables."""

from __future__ import annotations

import argparse
from collections.abc import Iterator


def script(shell: str, whole: argparse.ArgumentParser) -> str:
    """The script for a shell: ``source <(ricci completion bash)``, or a file where the shell looks for such."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](_commands(whole))


Commands = dict[str, argparse.ArgumentParser]


def _commands(whole: argparse.ArgumentParser) -> Commands:
    return next(dict(a.choices) for a in whole._actions if isinstance(a, argparse._SubParsersAction))


def _options(own: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    return (action for action in own._actions if action.option_strings)


def _choices(own: argparse.ArgumentParser) -> dict[str, list[str]]:
    """The values of options that have few; those of the first argument by the name ""."""
    found = {name: list(a.choices) for a in _options(own) if a.choices for name in a.option_strings}
    first = next((a for a in own._actions if not a.option_strings and a.choices), None)
    return found if first is None else {**found, "": list(first.choices or ())}


def _bash(commands: Commands) -> str:
    cases = []
    for name, own in commands.items():
        choices = _choices(own)
        words = [word for a in _options(own) for word in a.option_strings] + choices.pop("", [])
        values = "".join(f"\n            {option}) words='{' '.join(v)}' ;;" for option, v in choices.items())
        inner = f'\n        case "$before" in{values}\n        esac' if values else ""
        cases.append(f"    {name})\n        words='{' '.join(words)}'{inner}\n        ;;")
    return f"""_ricci() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words=''
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{" ".join(commands)} --help --version' -- "$word"))
        return
    fi
    case ${{COMP_WORDS[1]}} in
{chr(10).join(cases)}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}}
complete -o filenames -F _ricci ricci
"""


def _zsh(commands: Commands) -> str:
    listed = " ".join(f"'{name}:{_plain(own.description)}'" for name, own in commands.items())
    cases = []
    for name, own in commands.items():
        parts = []
        for action in _options(own):
            values = f":value:({' '.join(action.choices)})" if action.choices else ":value:_files"
            tail = "" if action.nargs == 0 else values
            parts += [f"'*{word}[{_plain(action.help)}]{tail}'" for word in action.option_strings]
        first = _choices(own).get("")
        parts.append(f"'1:value:({' '.join(first)})'" if first else "'*:text:_files'")
        cases.append(f"        {name}) _arguments " + " ".join(parts) + " ;;")
    return f"""#compdef ricci
_ricci() {{
    local -a commands=({listed})
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
{chr(10).join(cases)}
    esac
}}
compdef _ricci ricci
"""


def _fish(commands: Commands) -> str:
    lines = ["complete -c ricci -n __fish_use_subcommand -f"]
    for name, own in commands.items():
        about = _plain(own.description)
        lines.append(f"complete -c ricci -n __fish_use_subcommand -a {name} -d '{about}'")
        here = f"complete -c ricci -n '__fish_seen_subcommand_from {name}'"
        for action in _options(own):
            words = " ".join(f"-l {w[2:]}" if w.startswith("--") else f"-s {w[1:]}" for w in action.option_strings)
            values = f" -x -a '{' '.join(action.choices)}'" if action.choices else " -r" if action.nargs != 0 else ""
            lines.append(f"{here} {words}{values} -d '{_plain(action.help)}'")
        first = _choices(own).get("")
        lines += [f"{here} -f -a '{' '.join(first)}'"] if first else []
    return "\n".join(lines) + "\n"


def _plain(text: str | None) -> str:
    """Words that need no escape inside quotes and brackets of any of the shells."""
    return "".join(c for c in text or "" if c not in "'\"[]:`$\\")
