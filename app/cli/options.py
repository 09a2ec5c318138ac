"""Options that several commands share."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from app.cli import completing
from compiler.importers.llama.graph_choice import GRAPHS
from compiler.options import DEBUG_LEVELS, FLOWS

source_argument = click.argument("src", metavar="SRC", shell_complete=completing.sources)
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
out_option = click.option("-o", "out", type=click.Path(path_type=Path), metavar="OUT", help="Write there.")
target_option = click.option("--target", default="cpu", metavar="T", show_default=True, help="cpu, sm_90, gfx942, ...",
                             shell_complete=completing.targets)  # fmt: skip
graph_option = click.option(
    "--graph", type=click.Choice(GRAPHS), help="Of a language model: prefill takes a prompt at once, decode one token."
)
flow_option = click.option("--flow", default="all-kernel", type=click.Choice(FLOWS), show_default=True)
level_option = click.option("-O", "opt_level", default=3, type=click.IntRange(0, 3), metavar="N", show_default=True)
debug_option = click.option("--debug", default="none", type=click.Choice(DEBUG_LEVELS), show_default=True)
plain_option = click.option(
    "--no-recognise", is_flag=True, help="Keep plain ops as they are written: attention, GELU and the like."
)
tuned_option = click.option("--no-tuned", is_flag=True, help="Leave aside what `tune` found for this device.")


class KernelFolder(click.ParamType):
    """A folder of kernels, or an installed package of them by the name of its entry point."""

    name = "DIR"

    def convert(self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path as it was given."""
        path = Path(value)
        if not os.path.isdir(path):
            from compiler.language.library import installed_folder

            if installed_folder(path) is None:
                self.fail(
                    f"there is no folder {str(value)!r}, and no installed package of kernels is called so", param, ctx
                )
        return path


library_option = click.option(
    "--library", "libraries", metavar="DIR", type=KernelFolder(), multiple=True,
    help="More kernels: a folder, or an installed package of them; may be given again.",
)  # fmt: skip


class Finite(click.FloatRange):
    """A number in a range; neither infinite nor none at all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value!r} is not a number", param, ctx)
        return found


class Database(click.ParamType):
    """The path of a database file."""

    name = "DB"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The path as it was given."""
        if not value:
            self.fail("it needs the path of a file", param, ctx)
        return value


class Dims(click.ParamType):
    """NAME=SIZE on the command line."""

    name = "NAME=SIZE"

    def convert(
        self, value: str | tuple[str, int], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """The name and the size."""
        if isinstance(value, tuple):
            return value
        name, equals, size = value.partition("=")
        if not (equals and name.isidentifier() and size.isascii() and size.isdigit() and len(size) < 19):
            self.fail(f"{value!r} is not NAME=SIZE, as in M=256", param, ctx)
        return name, int(size)


def sizes_of(dims: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Sizes by name; one that was given twice has to be the same both times."""
    found: dict[str, int] = {}
    for name, size in dims:
        if found.setdefault(name, size) != size:
            raise click.UsageError(f"--dim {name} is given twice, as {found[name]} and as {size}")
    return found


db_option = click.option("--db", type=Database(), metavar="DB", help="Keep the record in this database.")
store_option = click.option("--db", type=Database(), metavar="DB", help="The database; the user's own by default.")
scheduler_option = click.option(
    "--scheduler", metavar="tcp://HOST:PORT", help="Have it done by a cluster's workers; `local` starts some here."
)
