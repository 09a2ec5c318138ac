"""The settings dialog. Every change is told at once; there is no OK to press.

Its pages are made row by row: a whole one at once would be felt.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QSpinBox,
    QStackedWidget,
    QWidget,
)

from app.theme.look import LEAST_PIXELS, MOST_PIXELS, Look
from app.viewmodels.frame.devices import TARGETS
from app.viewmodels.frame.formats import many, size
from app.viewmodels.frame.preferences import CACHE_MIB, THEMES, TRUST, Preferences
from app.viewmodels.requests import StorageTold
from app.views.parts.controls import column, in_row, line_field, paragraph, push_button, spin_box
from app.views.parts.widgets import Choice, MessageBar, scrolled
from compiler.options import FLOWS, OPT_LEVELS

_Row = tuple[str, Callable[[], QWidget]]  # what is said at its left, and what makes the field


class SettingsDialog(QDialog):
    """Shows preferences and says when one changed; the rest are wishes that others fulfil."""

    changed = Signal(object)
    clear_cache_wanted = Signal()
    forget_trust_wanted = Signal()
    browse_wanted = Signal()

    def __init__(
        self, look: Look, preferences: Preferences, families: tuple[list[str], list[str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Settings")
        self.preferences = preferences
        self._families = families
        self._fixed, self._usual = False, ""  # whether a setting of the database matters, and where runs are kept
        self._fields: dict[str, Any] = {}
        self.bar = MessageBar(look, "settings")
        self.sections = QListWidget()
        self.sections.setAccessibleName("Sections")
        self.sections.setFixedWidth(150)
        self.sections.setObjectName("sections")
        self._pages = QStackedWidget()
        self.database_note, self.cache_note, self.trust_note = paragraph(), paragraph(), paragraph()
        self.browse = push_button("Browse...", self.browse_wanted, name="Browse for a trace database")
        self.clear = push_button("Clear now", self.clear_cache_wanted, name="Clear the compilation cache now")
        self.forget = push_button("Forget trusted files", self.forget_trust_wanted)
        pages = {"Appearance": self._appearance, "Compile": self._compile, "Run": self._run,
                 "Storage": self._storage, "Opening": self._opening}  # fmt: skip
        for title in pages:
            entry = QListWidgetItem(title)
            entry.setSizeHint(QSize(0, self.fontMetrics().height() + 16))
            self.sections.addItem(entry)
        self._to_come: deque[tuple[int, Callable[[], None]]] = deque(
            (place, step) for place, page in enumerate(pages.values()) for step in self._steps_of(page())
        )
        self.sections.currentRowChanged.connect(self._show_page)
        self._build()
        self.resize(760, 460)

    def begin(self) -> None:
        """Make what is seen first."""
        self._make(0)

    def steps(self) -> Iterator[Callable[[], None]]:
        """What makes its pages, a row in each step; one that was made meanwhile is not made again."""
        for _ in range(len(self._to_come)):
            yield self._make_next

    def _make(self, last: int) -> None:
        """Make pages up to a place."""
        while self._to_come and self._to_come[0][0] <= last:
            self._make_next()

    def _make_next(self) -> None:
        if self._to_come:
            known = set(self._fields)
            self._to_come.popleft()[1]()
            self._show_values(name for name in self._fields if name not in known)
            if self.sections.currentRow() < 0:
                with QSignalBlocker(self.sections):  # who shows a page has all of it made
                    self.sections.setCurrentRow(0)

    @property
    def fields(self) -> dict[str, Any]:
        """The field of each preference, on whatever page."""
        self._make(self.sections.count())
        return self._fields

    def _show_page(self, row: int) -> None:
        self._make(row)
        self._pages.setCurrentIndex(row)

    def _build(self) -> None:
        self.defaults = push_button("Restore defaults", lambda: self._change(**asdict(Preferences())))
        close = push_button("Close", self.close)
        close.setDefault(True)
        layout = column(self, self.bar)
        layout.addLayout(in_row(self.sections, self._pages, wide=self._pages, spacing=0), 1)
        layout.addLayout(in_row(self.defaults, None, close, margins=(12, 8, 12, 12)))

    def set_preferences(self, preferences: Preferences) -> None:
        """Show these without telling anybody."""
        self.preferences = preferences
        self._show_values(self._fields)

    def _show_values(self, names: Iterable[str]) -> None:
        for name in names:
            widget, value = self._fields[name], getattr(self.preferences, name)
            with QSignalBlocker(widget):
                match widget:
                    case Choice():
                        widget.set_value(str(value))
                    case QSpinBox():
                        widget.setValue(value)
                    case QCheckBox():
                        widget.setChecked(value)
                    case QLineEdit():
                        widget.setText(value)

    def set_storage(self, told: StorageTold) -> None:
        """What the cache holds, and where runs are kept."""
        self.cache_note.setText(f"{many(told.entries, 'entry')}, {size(told.bytes)}, in {told.cache}")
        self.clear.setEnabled(told.entries > 0)
        self._usual = told.database
        self._show_database()

    def set_trusted(self, count: int) -> None:
        """How many files are trusted."""
        self.trust_note.setText(f"{count} file{'s are' if count != 1 else ' is'} trusted")
        self.forget.setEnabled(count > 0)

    def fix_database(self, fixed: bool) -> None:
        """Whether the environment says where runs are kept, so that a setting would not matter."""
        self._fixed = fixed
        self._show_database()

    def _show_database(self) -> None:
        if self.database_note.parent() is None:  # its row is to come
            return
        path = self._fields["database"]
        path.setEnabled(not self._fixed)
        path.setPlaceholderText(self._usual)
        self.browse.setEnabled(not self._fixed)
        self.database_note.setText("Given by KERNELGLASS_DB, which goes before this setting." if self._fixed else "")
        self.database_note.setVisible(self._fixed)

    # Pages -------------------------------------------------------------------------------------------------------

    def _steps_of(self, rows: Sequence[_Row]) -> Iterator[Callable[[], None]]:
        """What makes the page of a section: the page, then a row each, with what is said at its left, and its field."""
        yield self._add_page
        for words, make in rows:
            yield lambda words=words, make=make: self._add_row(words, make())

    def _add_page(self) -> None:
        page = QWidget()  # in its place before it is filled: Qt styles whatever is put into another widget anew
        area = scrolled(page, self._pages)
        self._pages.addWidget(area)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        form = self._form = QFormLayout(page)
        form.setContentsMargins(20, 18, 20, 18)
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(10)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)

    def _add_row(self, words: str, field: QWidget) -> None:
        if isinstance(field, QLabel):  # close to the field above, which it is about, however high Qt makes it
            field.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._form.addRow(words, field)
        if field is self.database_note:
            self._show_database()

    def _appearance(self) -> list[_Row]:
        ui, code = ([("", "The best that is installed"), *((f, f) for f in found)] for found in self._families)
        return [
            ("Theme", lambda: self._choice("theme", "Theme", THEMES)),
            ("Interface font", lambda: self._choice("ui_family", "Interface font", ui)),
            ("Interface size", lambda: self._pixels("ui_pixels", "Size of the interface font")),
            ("Code font", lambda: self._choice("code_family", "Code font", code)),
            ("Code size", lambda: self._pixels("code_pixels", "Size of the code font")),
            ("", lambda: paragraph("Ctrl+wheel over code, Ctrl++ and Ctrl+- change the size of code too.")),
        ]

    def _compile(self) -> list[_Row]:
        levels = [(str(n), f"-O{n}") for n in OPT_LEVELS]
        flows = [(f, f) for f in FLOWS]
        hint = f"folders of more kernels, with {os.pathsep} between them"
        return [
            ("Target", lambda: self._choice("target", "Target of a new window", TARGETS)),
            ("Flow", lambda: self._choice("flow", "Flow of a new window", flows)),
            ("Optimisation", lambda: self._choice("opt_level", "Optimisation level of a new window", levels)),
            ("LLVM processes", lambda: self._spin("jobs", "Processes for LLVM", 0, 256, "", "all usable cores")),
            ("Kernels", lambda: self._line("libraries", "Folders of more kernels", hint)),
            ("", lambda: self._check("use_cache", "Use the compilation cache")),
            ("", lambda: paragraph("Without the cache every stage runs anew, and every pass shows its time.")),
        ]

    def _run(self) -> list[_Row]:
        sure = "until the median is known"
        return [
            ("Threads", lambda: self._spin("threads", "CPU threads", 0, 1024, "", "all usable cores")),
            ("Calls", lambda: self._spin("repeats", "Calls to time", 0, 1_000_000, "", sure)),
            ("", lambda: self._check("check", "Check every run against NumPy")),
        ]

    def _storage(self) -> list[_Row]:
        most = "Most the compilation cache may take"
        return [
            ("Trace database", lambda: _beside(self._line("database", "Trace database"), self.browse)),
            ("", lambda: self.database_note),
            ("Compilation cache", lambda: _beside(self._spin("cache_mib", most, 16, CACHE_MIB, " MiB"), self.clear)),
            ("", lambda: self.cache_note),
        ]

    def _opening(self) -> list[_Row]:
        return [
            ("Python files", lambda: self._choice("ask_trust", "When to ask before a Python file is run", TRUST)),
            ("", lambda: _beside(self.trust_note, self.forget)),
            ("", lambda: self._check("restore", "Open the last source when the window opens")),
            ("", lambda: self._check("reload", "Compile again when the file changes on disk")),
        ]

    # Fields ------------------------------------------------------------------------------------------------------

    def _choice(self, name: str, title: str, entries) -> Choice:
        field = Choice(title, entries)
        field.setSizeAdjustPolicy(Choice.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        field.setMinimumContentsLength(20)
        kind = type(getattr(self.preferences, name))
        field.chosen.connect(lambda value: self._change(**{name: kind(value)}))
        self._fields[name] = field
        return field

    def _spin(self, name: str, title: str, least: int, most: int, suffix: str = "", zero: str = "") -> QSpinBox:
        field = spin_box(title, least, most, suffix, zero)
        field.setKeyboardTracking(False)  # 4 on the way to 48 is not a wish
        field.valueChanged.connect(lambda value: self._change(**{name: value}))
        self._fields[name] = field
        return field

    def _pixels(self, name: str, title: str) -> QSpinBox:
        return self._spin(name, title, LEAST_PIXELS, MOST_PIXELS, " px")

    def _line(self, name: str, title: str, hint: str = "") -> QLineEdit:
        field = self._fields[name] = line_field(title, hint)
        field.editingFinished.connect(lambda: self._change(**{name: field.text().strip()}))
        return field

    def _check(self, name: str, words: str) -> QCheckBox:
        field = QCheckBox(words)
        field.toggled.connect(lambda on: self._change(**{name: on}))
        self._fields[name] = field
        return field

    def _change(self, **changes: Any) -> None:
        wanted = replace(self.preferences, **changes)
        if wanted != self.preferences:
            self.set_preferences(wanted)
            self.changed.emit(wanted)


def _beside(first: QWidget, second: QWidget) -> QWidget:
    holder = QWidget()
    in_row(first, second, holder=holder, wide=first)
    holder.setFocusProxy(first)
    return holder
