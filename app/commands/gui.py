"""`kernelglass gui [SRC]`: the window."""

from __future__ import annotations

import click

from compiler.errors import UnavailableError


@click.command("gui")
@click.argument("src", required=False)
def command(src: str | None = None) -> None:
    """Open the window (not in this version yet)."""
    raise UnavailableError("this version has no window yet; use `kernelglass compile` and `kernelglass run`")
