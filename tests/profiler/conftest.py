"""Stores and records that the profiler's tests share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from profiler.store import open_store


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "traces.db") as opened:
        yield opened


@pytest.fixture
def library(tmp_path):
    """A folder with kernels that crash, hang or compute nonsense."""
    import profiled_graphs as graphs

    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "bad.py").write_text(graphs.KERNELS)
    return str(folder)
