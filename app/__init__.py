"""The desktop program and the command line."""

# Ctrl+C waits for the few lines until there is somebody to hear it. `_signal` is built in: nothing is looked for.
import _signal

_before = _signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGINT}) if hasattr(_signal, "pthread_sigmask") else None
try:
    import app.cli.interrupts  # noqa: F401  from here on it is one line
finally:
    if _before is not None:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, _before)
