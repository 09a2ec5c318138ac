"""The theme and fonts in use, and the signal that they changed. Painted views are given this one object."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QGuiApplication, QIcon, QPalette, QWheelEvent
from PySide6.QtWidgets import QApplication

from app.theme import fonts, icons
from app.theme.stylesheet import style_sheet
from app.theme.tokens import DARK, LIGHT, Theme

LEAST_PIXELS, MOST_PIXELS = 7, 40


class Look(QObject):
    """Applies a theme to the application and hands out its colours, fonts and icons."""

    changed = Signal()

    def __init__(self, icon_folder: Path, choice: str = "system", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._icon_folder = icon_folder
        self.choice = choice
        self.theme: Theme = _resolve(choice)
        self.ui_family, self.ui_pixels = "", fonts.UI_PIXELS
        self.code_family, self.code_pixels = "", fonts.CODE_PIXELS
        self.ui_font: QFont = fonts.ui_font()
        self.code_font: QFont = fonts.code_font()
        self.column = self._measure()  # the width of one character of code
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(lambda _: self.apply())

    def apply(self, choice: str | None = None) -> None:
        """Put the theme on the application."""
        self.choice = choice or self.choice
        self.theme = _resolve(self.choice)
        sheet = self._sheet()
        self.begin(sheet)
        _put_on(sheet)
        self.changed.emit()

    def begin(self, sheet: str = "") -> None:
        """Style, font and colours: what views are made with. The style sheet can wait until they are made, and another
        than the one that is to stay is taken off.

        Under a style sheet Qt works out the looks of a widget, and of all that is in it, whenever it is put into
        another one: making the window then takes more than twice as long.
        """
        self.theme = _resolve(self.choice)
        _take_off(unless=sheet)
        application, palette = _application(), _palette(self.theme)
        # Each of these walks through every widget there is, so none is done twice.
        if application.property("kernelglass") is None:
            application.setProperty("kernelglass", True)
            application.setStyle("Fusion")
        if application.font() != self.ui_font:
            application.setFont(self.ui_font)
        if application.palette() != palette:
            application.setPalette(palette)

    def dress(self) -> None:
        """Put the style sheet on what there is and what will be."""
        _put_on(self._sheet())

    def _sheet(self) -> str:
        return style_sheet(self.theme, self._icon_folder, self.ui_pixels)

    def zoomed_by(self, wheel: QWheelEvent) -> bool:
        """Whether the wheel was turned with Ctrl, which changes the size of code."""
        if not wheel.modifiers() & Qt.KeyboardModifier.ControlModifier:
            return False
        self.zoom_code(self.code_pixels + (1 if wheel.angleDelta().y() > 0 else -1))
        return True

    def zoom_code(self, pixels: int) -> None:
        """Set the size of code text."""
        self.set_code_font(self.code_family, pixels)

    def set_code_font(self, family: str, pixels: int) -> None:
        """Set the font of code; no family means the best one that is installed."""
        wanted = family, max(LEAST_PIXELS, min(MOST_PIXELS, pixels))
        if wanted == (self.code_family, self.code_pixels):
            return
        self.code_family, self.code_pixels = wanted
        self.code_font = fonts.code_font(*wanted)
        self.column = self._measure()
        self.changed.emit()

    def set_ui_font(self, family: str, pixels: int, choice: str | None = None) -> None:
        """Set the font of everything that is not code; and a theme with it, so that widgets are walked through once."""
        wanted = family, max(LEAST_PIXELS, min(MOST_PIXELS, pixels))
        if wanted == (self.ui_family, self.ui_pixels) and choice in (None, self.choice):
            return
        self.ui_family, self.ui_pixels = wanted
        self.ui_font = fonts.ui_font(*wanted)
        self.apply(choice)

    def icon(self, name: str, token: str = "muted") -> QIcon:
        """An icon in a theme colour."""
        return icons.icon(name, getattr(self.theme, token), self.theme.disabled)

    def _measure(self) -> float:
        return QFontMetricsF(self.code_font).horizontalAdvance("M" * 64) / 64


def _application() -> QApplication:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    return application


def _put_on(sheet: str) -> None:
    _take_off(unless=sheet)
    if _application().styleSheet() != sheet:
        _application().setStyleSheet(sheet)


def _take_off(unless: str) -> None:
    """Take off a style sheet that is not this one. Qt takes three and a half times as long to put one in the place of
    another as to put it where there is none; fonts and palettes, too, are sooner set without one."""
    if _application().styleSheet() not in ("", unless):
        _application().setStyleSheet("")


def tint(colour: str, alpha: int = 255) -> QColor:
    """`#rrggbb` with an alpha."""
    result = QColor(colour)
    result.setAlpha(alpha)
    return result


def mixed(colour: str, ground: str, share: float) -> QColor:
    """So much of a colour, the rest of the ground that it lies on."""
    over, under = QColor(colour), QColor(ground)
    parts = zip(over.getRgbF()[:3], under.getRgbF()[:3], strict=True)  # type: ignore[arg-type]
    return QColor.fromRgbF(*(share * one + (1 - share) * other for one, other in parts))


def _resolve(choice: str) -> Theme:
    if choice in ("dark", "light"):
        return DARK if choice == "dark" else LIGHT
    scheme = QGuiApplication.styleHints().colorScheme()
    return LIGHT if scheme == Qt.ColorScheme.Light else DARK


def _palette(theme: Theme) -> QPalette:
    """For the few things style sheets do not reach."""
    palette = QPalette()
    roles = {
        QPalette.ColorRole.Window: theme.panel,
        QPalette.ColorRole.WindowText: theme.text,
        QPalette.ColorRole.Base: theme.code,
        QPalette.ColorRole.AlternateBase: theme.raised,
        QPalette.ColorRole.Text: theme.text,
        QPalette.ColorRole.Button: theme.raised,
        QPalette.ColorRole.ButtonText: theme.text,
        QPalette.ColorRole.Highlight: theme.selection,
        QPalette.ColorRole.HighlightedText: theme.text,
        QPalette.ColorRole.ToolTipBase: theme.raised,
        QPalette.ColorRole.ToolTipText: theme.text,
        QPalette.ColorRole.PlaceholderText: theme.faint,
        QPalette.ColorRole.Link: theme.accent,
    }
    for role, colour in roles.items():
        palette.setColor(role, QColor(colour))
    for role in (QPalette.ColorRole.Text, QPalette.ColorRole.WindowText, QPalette.ColorRole.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(theme.disabled))
    return palette
