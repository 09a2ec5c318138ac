"""Options that several commands share."""

from __future__ import annotations

import click

source_argument = click.argument("src", metavar="SRC")
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
db_option = click.option("--db", metavar="DB", help="Keep the record in this database.")


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
