"""Two fonts, kept apart: one for the interface, one for code."""

from __future__ import annotations

from functools import cache

from PySide6.QtGui import QFont, QFontDatabase

_CODE = ("JetBrains Mono", "Cascadia Mono", "SF Mono", "Menlo", "Consolas", "Source Code Pro", "DejaVu Sans Mono")
_UI = ("Inter", "Segoe UI", "SF Pro Text", "Noto Sans", "Cantarell", "DejaVu Sans")
UI_PIXELS, CODE_PIXELS = 13, 12


def ui_font(family: str = "", pixels: int = UI_PIXELS) -> QFont:
    """The interface font: the one chosen, else the first of ours that is installed."""
    return _font(family, _UI, QFontDatabase.SystemFont.GeneralFont, pixels)


def code_font(family: str = "", pixels: int = CODE_PIXELS) -> QFont:
    """The code font, of fixed pitch."""
    font = _font(family, _CODE, QFontDatabase.SystemFont.FixedFont, pixels)
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setFixedPitch(True)
    font.setKerning(False)
    return font


@cache
def _installed() -> frozenset[str]:
    return frozenset(QFontDatabase.families())


def _font(family: str, wanted: tuple[str, ...], fallback: QFontDatabase.SystemFont, pixels: int) -> QFont:
    chosen = next((name for name in (family, *wanted) if name and name in _installed()), None)
    font = QFont(chosen) if chosen else QFontDatabase.systemFont(fallback)
    font.setPixelSize(pixels)
    return font
