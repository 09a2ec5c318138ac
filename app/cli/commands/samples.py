"""`kernelglass samples`: what ships with it."""

from __future__ import annotations

import click

from app.cli.options import json_option
from app.cli.output import print_json, say
from app.sources import samples
from app.text_tables import table


@click.command("samples")
@json_option
def command(as_json: bool) -> None:
    """List the graphs that ship with it; use one as sample:NAME."""
    rows = [(f"sample:{sample.name}", sample.description) for sample in samples()]
    if as_json:
        print_json([{"source": source, "description": description} for source, description in rows])
    else:
        say(table(("source", "what it is"), rows))
