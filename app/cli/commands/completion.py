"""`kernelglass completion`: the shell completes commands, samples, targets, runs and tags."""

from __future__ import annotations

import os
from pathlib import Path

import click

from app.cli.output import say, write_out
from app.files import write_whole
from compiler.errors import ExecutionError

SHELLS = ("bash", "zsh", "fish")
_BREAKS = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}  # sample:NAME is one word\n"
_PROGRAM, _VARIABLE = "kernelglass", "_KERNELGLASS_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option("--install", is_flag=True, help="Put it where the shell looks for it.")
def command(shell: str | None, install: bool) -> None:
    """Print the completion script of SHELL, or install it; the shell is yours by default."""
    chosen = shell or _own_shell()
    script = _script(chosen)
    if not install:
        write_out(script, None)
        return
    place = _place(chosen)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExecutionError(f"cannot make {place.parent}: {error.strerror or error}") from None
    write_whole(place, script)
    say(f"completion for {chosen} is in {place}; a new shell has it")
    if chosen == "zsh":
        _load_in_zsh(place.parent)


def _own_shell() -> str:
    name = os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        raise click.UsageError(f"SHELL is {name or 'not set'}; say which one is meant: {', '.join(SHELLS)}")
    return name


def _script(shell: str) -> str:
    from click.shell_completion import get_completion_class

    from app.cli.root import kernelglass

    found = get_completion_class(shell)
    assert found is not None
    made = found(kernelglass, {}, _PROGRAM, _VARIABLE)
    return _BREAKS * (shell == "bash") + made.source_template % made.source_vars()


def _place(shell: str) -> Path:
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return {
        "bash": data / "bash-completion" / "completions" / _PROGRAM,
        "fish": config / "fish" / "completions" / f"{_PROGRAM}.fish",
        "zsh": data / "zsh" / "site-functions" / f"_{_PROGRAM}",
    }[shell]


def _load_in_zsh(folder: Path) -> None:
    """zsh looks only where it is told to, so a line of its start file tells it, once."""
    start = Path(os.environ.get("ZDOTDIR") or Path.home()) / ".zshrc"
    line = f"fpath=({str(folder)!r} $fpath); autoload -Uz compinit && compinit  # kernelglass completion\n"
    there = start.read_text(encoding="utf-8", errors="replace") if start.exists() else ""
    if "# kernelglass completion" not in there:
        write_whole(start, there + ("" if there.endswith("\n") or not there else "\n") + line)
        say(f"{start} has a new line that loads it")
