"""`kernelglass samples`: what ships with it."""

from __future__ import annotations

import click

from app.cli.output import say
from app.sources import samples
from app.text_tables import table


@click.command("samples")
def command() -> None:
    """List the graphs that ship with it; use one as sample:NAME."""
    rows = [(f"sample:{sample.name}", sample.description) for sample in samples()]
    say(table(("source", "what it is"), rows))
