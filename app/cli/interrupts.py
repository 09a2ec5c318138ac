"""Ctrl+C, from the first line of the program to its last: one line, status 130, never a traceback, never swallowed.

While the program loads, and when it is done, there is nothing to clean up: it ends at once. While a command works, the
interrupt is the exception Python makes of it, once, so that runs are marked and children are ended. It is not raised
while a module is being imported, since extension modules turn it into other errors, and it is raised again where it
fell into a place that Python lets no exception out of.

Loading this module guards the program that is starting, so it is the first that `app` loads, and it loads nothing
itself; what comes before, the start of the interpreter, is Python's own. A program that was started with Ctrl+C turned
off (`nohup`, a script's background) leaves it so.
"""

from __future__ import annotations

import _signal
import os
import sys

TYPE_CHECKING = False  # typing's own takes a moment to load, in which there would be no guard
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

STATUS = 130
_MOMENT = 0.01  # seconds until an import is looked at again
_BINDING = f"{os.sep}llvmlite{os.sep}"
_asked = False


def is_program() -> bool:
    """Whether this process is the command itself, and not one that uses its modules."""
    if sys.argv[:1] == ["-m"]:  # `python -m app`, while the module is looked for
        return any(pair in (("-m", "app"), ("-m", "app.cli.main")) for pair in zip(sys.orig_argv, sys.orig_argv[1:]))
    main = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    name = os.path.basename(main)
    return name in ("kernelglass", "kernelglass.exe", "kernelglass-script.py") or main.endswith(
        (os.path.join("app", "__main__.py"), os.path.join("app", "cli", "main.py"))
    )


def leave_at_once() -> None:
    """From here on an interrupt ends the process: nothing is under way."""
    if _heeded():
        _signal.signal(_signal.SIGINT, _leave)


def run_program(work: Callable[[], int]) -> int:
    """Do the work of the program and end the process with its status; no interrupt is lost on the way out."""
    if not _heeded():
        return work()
    status = STATUS
    try:
        _signal.signal(_signal.SIGINT, _interrupt)
        if hasattr(_signal, "SIGALRM"):
            _signal.signal(_signal.SIGALRM, _again)
        sys.unraisablehook = _ignored
        status = work()
        leave_at_once()
        _forget_the_next()
        if _asked and status != STATUS:  # somebody in between took it for something else
            _say()
            status = STATUS
    except KeyboardInterrupt:  # before or after all that turns it into a line
        leave_at_once()
        _forget_the_next()
        _say()
        status = STATUS
    _end(status)
    return status


def _forget_the_next() -> None:
    """The work is over: an interrupt that was to be raised in a moment has been heard."""
    if hasattr(_signal, "setitimer"):
        _signal.signal(_signal.SIGALRM, _signal.SIG_IGN)
        _signal.setitimer(_signal.ITIMER_REAL, 0)


def _heeded() -> bool:
    return _signal.getsignal(_signal.SIGINT) not in (_signal.SIG_IGN, None)


def _leave(_number: int, _frame: FrameType | None) -> None:
    _say()
    os._exit(STATUS)


def _say() -> None:
    try:
        os.write(2, b"kernelglass: interrupted\n")
    except OSError:
        return  # there is nobody to tell


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _asked
    if _asked:  # the second time: what is being cleaned up is not waited for
        _leave(number, frame)
    _asked = True
    _again(number, frame)


def _again(_number: int, frame: FrameType | None) -> None:
    """Interrupt, unless a module is being loaded, or LLVM's binding has something half-made: then in a moment."""
    at = frame
    while at is not None:
        file = at.f_code.co_filename
        if (file.startswith("<frozen importlib") or _BINDING in file) and hasattr(_signal, "setitimer"):
            _signal.setitimer(_signal.ITIMER_REAL, _MOMENT)
            return
        at = at.f_back
    raise KeyboardInterrupt


def _ignored(found: Any) -> None:
    """What Python would print and forget: an exception in a destructor or a callback."""
    if issubclass(found.exc_type, KeyboardInterrupt) and hasattr(_signal, "setitimer"):
        _signal.setitimer(_signal.ITIMER_REAL, _MOMENT)
    elif not _asked:  # afterwards it only tells of what was left half-done
        sys.__unraisablehook__(found)


def _end(status: int) -> None:
    """End without taking the interpreter apart, which hears no signals while it is done: only what was asked for."""
    import atexit
    import threading

    try:
        threading._shutdown()  # type: ignore[attr-defined]  waits for threads that work
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except Exception as error:  # as the interpreter does when it ends
        print(f"kernelglass: {error}", file=sys.stderr)
    os._exit(status)


if is_program():
    leave_at_once()
