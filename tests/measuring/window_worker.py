"""The window's child process as the tests of the window have it: its runs are measured in forks of it, and short."""

from __future__ import annotations

from forked_measuring import MODULES

from app.worker import main
from app.worker.main import KNOWN, give_way, prepare, serve

__all__ = ["KNOWN", "LATER", "give_way", "prepare", "serve"]
LATER = (*main.LATER, *MODULES, "measuring_in_forks", "short_runs")
