"""Icons: our own SVG files, tinted with the theme's colours when they are asked for."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QDir, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.resources import resource_folder

_FOLDERS = "icons"


@lru_cache(maxsize=256)
def svg(name: str, colour: str) -> bytes:
    """The icon's SVG text with every `currentColor` replaced."""
    path = resource_folder() / "icons" / f"{name}.svg"
    return path.read_text(encoding="utf-8").replace("currentColor", colour).encode()


@lru_cache(maxsize=512)
def pixmap(name: str, colour: str, size: int = 16, ratio: float = 2.0) -> QPixmap:
    """The icon drawn at `size` points for a screen of that pixel ratio."""
    pixels = round(size * ratio)
    image = QPixmap(pixels, pixels)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(svg(name, colour))).render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    image.setDevicePixelRatio(ratio)
    return image


@lru_cache(maxsize=512)
def icon(name: str, colour: str, disabled: str | None = None) -> QIcon:
    """The icon for buttons and menus."""
    result = QIcon(pixmap(name, colour))
    if disabled:
        result.addPixmap(pixmap(name, disabled), QIcon.Mode.Disabled)
    return result


def write_for_style_sheet(folder: Path, name: str, colour: str) -> str:
    """A tinted copy on disk, since style sheets take images only by path; returns the path as QSS wants it.

    It names no folder but a list of them, so that windows with settings of their own have the same style sheet: putting
    on another one walks through every widget there is.
    """
    path, wanted = folder / f"{name}-{colour.lstrip('#')}.svg", svg(name, colour)
    with contextlib.suppress(OSError):  # a disk that filled up meanwhile costs an arrow, not the window
        if not path.exists() or path.stat().st_size != len(wanted):
            path.write_bytes(wanted)
    if folder.as_posix() not in QDir.searchPaths(_FOLDERS):
        QDir.addSearchPath(_FOLDERS, folder.as_posix())
    return f"{_FOLDERS}:{path.name}"
