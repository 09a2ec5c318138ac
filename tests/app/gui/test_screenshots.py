"""The window under a real X server: every view in both themes, drawn and not blank."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.gui, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="xvfb-run is not installed")
def test_every_view_is_drawn_under_x(tmp_path):
    command = ["xvfb-run", "-a", sys.executable, str(ROOT / "tools" / "screenshots.py"), "--out", str(tmp_path)]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "QT_QPA_PLATFORM": "xcb"}, timeout=300)
    pictures = sorted(tmp_path.glob("*.png"))
    assert len(pictures) >= 28
    assert all(picture.stat().st_size > 20_000 for picture in pictures)
