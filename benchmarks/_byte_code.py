"""Measured processes start as an installed program does: from byte code, wherever this is run from."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile


def keep_byte_code() -> None:
    """Let child processes write and reuse byte code in a folder of their own, also where the environment forbids it.

    Without it each fresh process would parse our own modules anew, which only happens on the very first start.
    """
    folder = tempfile.mkdtemp(prefix="kernelglass-byte-code-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = folder
