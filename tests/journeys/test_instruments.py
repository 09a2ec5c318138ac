"""What journeys are driven and looked at with."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.journeys import screen
from tests.journeys.robot_hands import Hands


def test_a_program_that_fails_is_told_and_the_next_one_runs(tmp_path: Path) -> None:
    hands = Hands()
    with pytest.raises(RuntimeError, match="status 1"):
        hands.run("false")
    hands.run("touch", str(tmp_path / "touched"))
    assert (tmp_path / "touched").exists()


def test_a_copy_of_the_screen_becomes_a_picture(tmp_path: Path) -> None:
    from PySide6.QtGui import QColor, QImage

    width, height = 3, 2
    head = [100, 7, 2, 24, width, height, 0, 0, 32, 0, 32, 32, 4 * width, 4, 0xFF0000, 0xFF00, 0xFF, 8, 256, 256,
            width, height, 0, 0, 0]  # fmt: skip
    red, blue = b"\x00\x00\xff\x00", b"\xff\x00\x00\x00"
    raw = tmp_path / f"shot{screen.RAW}"
    raw.write_bytes(struct.pack(">25I", *head) + bytes(12 * 256) + red * width + blue * width)
    screen.develop(tmp_path)
    picture = QImage(str(tmp_path / "shot.png"))
    assert (picture.width(), picture.height()) == (width, height) and not raw.exists()
    assert picture.pixelColor(2, 0) == QColor("red") and picture.pixelColor(0, 1) == QColor("blue")
