"""The command line itself: finds the command asked for, and turns every failure into one line and an exit status."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Sequence

import click

from app.cli.interrupts import is_program
from app.cli.terminal import leave_stdout
from app.errors import BAD_INPUT, INTERRUPTED, OK, exit_status
from compiler.collector_pauses import collect_rarely, end_without_collection, rare_collection
from compiler.errors import CompilerError

COMMANDS = (
    "gui", "samples", "kernels", "compile", "run", "tune", "generate", "flows", "sweep", "cluster", "runs", "compare",
    "hot", "bisect", "report", "export", "cache", "devices", "completion",
)  # fmt: skip

_STAY = {"gui", "cluster"}
"""Commands that last as long as somebody wants them."""


class Commands(click.Group):
    """Loads `app.cli.commands.NAME` on demand; `kernelglass SRC` and plain `kernelglass` mean `gui`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command called `cmd_name`, imported now."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name not in _STAY and is_program():
            collect_rarely()
        with rare_collection():
            return importlib.import_module(f"app.cli.commands.{cmd_name}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take a first argument that is a source as `gui SRC`."""
        if args[0] not in COMMANDS:
            from app.sources import looks_like_source

            if looks_like_source(args[0]):
                args = ["gui", *args]
        return super().resolve_command(ctx, args)


@click.command(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=lambda *a: _show_version(*a))
@click.pass_context
def kernelglass(ctx: click.Context) -> None:
    """Compile tensor graphs to kernels and look through every layer.

    SRC is sample:NAME, FILE.py (defines build() -> Graph), FILE.mlir, FILE.onnx, FILE.pt2, FILE.gguf, FILE.kgx or a
    folder of config.json and safetensors. Without a command the window opens.

    \b
    Exit status:
      0    fine
      2    bad usage or bad input
      3    compilation failed
      4    a device or tool is not available
      5    a check failed: results that are wrong, a run that crashed, a gate that found a run slower
      6    a gate that cannot tell
      130  interrupted (Ctrl+C)
      143  ended by SIGTERM, with a cluster of its own
    """
    if ctx.invoked_subcommand is None:
        gui = kernelglass.get_command(ctx, "gui")
        assert gui is not None
        ctx.invoke(gui)


def run(arguments: Sequence[str] | None) -> int:
    """Do what the arguments say, or those of the program; the exit status."""
    end_without_collection()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that this terminal cannot show is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _status(arguments)
        if sys.stdout is not None:  # it may be closed
            sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader (`| head`) has left
        leave_stdout()
        return OK
    except OSError as error:
        leave_stdout()
        return _fail(f"{error.filename or 'cannot write the output'}: {error.strerror or error}", BAD_INPUT)


def _status(arguments: Sequence[str] | None) -> int:
    try:
        status = kernelglass.main(args=arguments, prog_name="kernelglass", standalone_mode=False)
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.ClickException as error:
        return _fail(error.format_message(), BAD_INPUT)
    except CompilerError as error:
        return _fail(str(error), exit_status(error))
    except (click.Abort, KeyboardInterrupt):
        status = INTERRUPTED
    if status == INTERRUPTED:  # also by a command that finished something before it left: said here, once for all
        return _fail("interrupted", INTERRUPTED)
    return status if isinstance(status, int) else OK


def _show_version(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            click.echo(f"kernelglass {version('kernelglass')}")
        except PackageNotFoundError:  # run from the source folder
            click.echo("kernelglass, not installed")
        ctx.exit()


def _fail(message: str, status: int) -> int:
    from app.cli.output import complain

    complain(message)
    return status
