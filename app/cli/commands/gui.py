"""`kernelglass gui [SRC]`: the window."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import click

from app.cli import completing, interrupts
from app.cli.window_libraries import install_words, loses_references, missing_libraries
from app.errors import INTERRUPTED
from app.viewmodels.frame.shown import LAYOUT_NAMES, Shown
from compiler.collector_pauses import rare_collection
from compiler.errors import UnavailableError
from compiler.options import FLOWS

_PACKAGES = "libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1 libxcb-cursor0"


@click.command("gui")
@click.argument("src", required=False, shell_complete=completing.sources)
@click.option("--target", metavar="T", help="Compile for this.", shell_complete=completing.targets)
@click.option("--flow", type=click.Choice(FLOWS))
@click.option("-O", "opt_level", type=click.IntRange(0, 3), metavar="N")
@click.option("--cut", "cuts", multiple=True, metavar="A,B", help="Keep nodes A and B in different kernels.")
@click.option("--fuse", "fuses", multiple=True, metavar="A,B", help="Put nodes A and B into one kernel.")
@click.option("--layout", type=click.Choice(LAYOUT_NAMES), help="Arrange the window for a job.")
@click.option("--view", metavar="VIEW", help="Bring a view to the front: timeline, run, roofline, ...")
@click.option("--select", "selected", multiple=True, metavar="NODE", help="Select a node.")
def command(
    src: str | None = None, target: str | None = None, flow: str | None = None, opt_level: int | None = None,
    cuts: tuple[str, ...] = (), fuses: tuple[str, ...] = (), layout: str | None = None, view: str | None = None,
    selected: tuple[str, ...] = (),
) -> int:  # fmt: skip
    """Open the window, on SRC if it is given.

    The options bring back what was on the screen: the window's "Copy as command" writes them.
    """
    shown = Shown(target, flow, opt_level, _pairs(cuts), _pairs(fuses), layout or "", view or "", selected)
    _check_display()
    if interrupts.is_program():
        interrupts.leave_at_once()  # Qt makes other errors of an exception while it loads
    _check_libraries()
    try:
        from PySide6.QtCore import QObject
        from PySide6.QtWidgets import QApplication
    except ImportError as error:
        raise UnavailableError(_missing(error)) from None
    if loses_references(lambda: QObject().setObjectName("")):
        raise UnavailableError(
            "this PySide6 gives away references that Python counts, which soon ends the program; "
            "install another one: pip install 'PySide6-Essentials<6.12'"
        )
    with rare_collection():
        from app.main_window import MainWindow

    application = QApplication.instance() or QApplication(sys.argv[:1])
    application.setApplicationName("Kernelglass")
    with rare_collection():
        window = MainWindow()
    window.show()
    if src:
        window.open_as(src, shown)
    else:
        window.opening.restore()
    kept = _close_on_interrupt(application, window) if interrupts.is_program() else None
    status = application.exec()  # type: ignore[union-attr]
    if kept is not None:
        _stop_waking(*kept)
    return status


def _pairs(given: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    """A,B as pairs of nodes."""
    found = [tuple(part.split(",")) for part in given]
    if wrong := next((part for part, pair in zip(given, found) if len(pair) != 2 or not all(pair)), ""):
        raise click.BadParameter(f"{wrong!r} is not A,B, the names of two nodes")
    return frozenset((first, second) for first, second in found)


def _close_on_interrupt(application: Any, window: Any) -> Any:
    """Ctrl+C in the terminal closes the window; edits are kept for next time, as nobody can be asked.

    Qt's loop runs no Python by itself, so the signal wakes it through a socket; what is returned has to be kept.
    """
    import signal
    import socket

    from PySide6.QtCore import QSocketNotifier

    def close() -> None:
        ours.recv(64)
        window.source.ask_edits = lambda titles: "keep"
        window.close()
        application.exit(INTERRUPTED)

    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    notifier = QSocketNotifier(ours.fileno(), QSocketNotifier.Type.Read)
    notifier.activated.connect(close)
    signal.set_wakeup_fd(theirs.fileno())
    signal.signal(signal.SIGINT, lambda number, frame: None)
    return notifier, ours, theirs


def _stop_waking(notifier: Any, *sockets: Any) -> None:
    """The loop is over, and nobody reads the socket any more: an interrupt ends the process again."""
    import signal

    signal.set_wakeup_fd(-1)
    interrupts.leave_at_once()
    notifier.setEnabled(False)
    for end in sockets:
        end.close()


def _check_display() -> None:
    """Qt aborts the process when it finds no display, so we look first."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return
    wayland = os.environ.get("WAYLAND_DISPLAY")
    if not os.environ.get("DISPLAY") and not (
        wayland and Path(os.environ.get("XDG_RUNTIME_DIR", "/"), wayland).exists()
    ):
        raise UnavailableError(
            "there is no display for the window (DISPLAY and WAYLAND_DISPLAY are not set); "
            "`kernelglass compile` and `kernelglass run` work without one"
        )


def _check_libraries() -> None:
    """Qt aborts the process when a library of X11 is missing, and names another one, so we look first."""
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    x11 = platform.startswith("xcb") if platform else not os.environ.get("WAYLAND_DISPLAY")
    if not sys.platform.startswith("linux") or not x11 or importlib.util.find_spec("PySide6") is None:
        return
    if missing := missing_libraries():
        command = install_words(missing)
        what_to_do = f": {command}" if command else "; install them with your distribution's package manager"
        raise UnavailableError(f"the window needs system libraries that are missing: {', '.join(missing)}{what_to_do}")


def _missing(error: ImportError) -> str:
    """Name what to install: the Python package, or the system libraries that it loads."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith(("PySide6", "shiboken6")):
        return "the window needs PySide6: pip install PySide6-Essentials; everything else works without it"
    return f"the window needs system libraries that are missing ({error}); on Debian or Ubuntu: apt install {_PACKAGES}"
