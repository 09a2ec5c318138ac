"""NumPy for a process that computes next to nothing with it.

OpenBLAS, which comes with NumPy, starts a thread for every core as it is loaded, and these look for work for some tens
of milliseconds before they sleep: on a machine of two cores that is the time of whatever is loaded meanwhile.
"""

from __future__ import annotations

import os

_THREADS = "OPENBLAS_NUM_THREADS"


def load_numpy_alone() -> None:
    """Load NumPy with the one thread that there is, unless the environment says how many; nothing inherits that."""
    asked = os.environ.get(_THREADS)
    os.environ[_THREADS] = asked or "1"
    try:
        import numpy  # noqa: F401
    finally:
        if asked is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = asked
