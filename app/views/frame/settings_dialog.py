"""The settings dialog. Every change is told at once; there is no OK to press."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from typing import Any

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QSpinBox,
    QStackedWidget,
    QWidget,
)

from app.theme.look import LEAST_PIXELS, MOST_PIXELS, Look
from app.viewmodels.frame.devices import TARGETS
from app.viewmodels.frame.formats import size
from app.viewmodels.frame.preferences import CACHE_MIB, THEMES, TRUST, Preferences
from app.viewmodels.requests import StorageTold
from app.views.parts.controls import column, line_field, paragraph, push_button, spin_box
from app.views.parts.widgets import Choice, MessageBar, scrolled
from compiler.options import FLOWS, OPT_LEVELS


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
        self.fields: dict[str, Any] = {}
        self.bar = MessageBar(look, "settings")
        self.sections = QListWidget()
        self.sections.setAccessibleName("Sections")
        self.sections.setFixedWidth(150)
        self.sections.setObjectName("sections")
        self._pages = QStackedWidget()
        self.sections.currentRowChanged.connect(self._pages.setCurrentIndex)
        ui, code = families
        self._appearance(ui, code)
        self._compile()
        self._run()
        self._storage()
        self._opening()
        self.sections.setCurrentRow(0)
        self._build()
        self.set_preferences(preferences)
        self.resize(760, 460)

    def _build(self) -> None:
        default = {f.name: f.default for f in fields(Preferences)}
        self.defaults = push_button("Restore defaults", lambda: self._change(**default))
        close = push_button("Close", self.close)
        close.setDefault(True)
        foot = QHBoxLayout()
        foot.setContentsMargins(12, 8, 12, 12)
        foot.addWidget(self.defaults)
        foot.addStretch(1)
        foot.addWidget(close)
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.sections)
        middle.addWidget(self._pages, 1)
        layout = column(self, self.bar)
        layout.addLayout(middle, 1)
        layout.addLayout(foot)

    def set_preferences(self, preferences: Preferences) -> None:
        """Show these without telling anybody."""
        self.preferences = preferences
        for name, widget in self.fields.items():
            value = getattr(preferences, name)
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
        self.cache_note.setText(f"{told.entries} entries, {size(told.bytes)}, in {told.cache}")
        self.clear.setEnabled(told.entries > 0)
        self.fields["database"].setPlaceholderText(told.database)

    def set_trusted(self, count: int) -> None:
        """How many files are trusted."""
        self.trust_note.setText(f"{count} file{'s are' if count != 1 else ' is'} trusted")
        self.forget.setEnabled(count > 0)

    def fix_database(self, fixed: bool) -> None:
        """Whether the environment says where runs are kept, so that a setting would not matter."""
        self.fields["database"].setEnabled(not fixed)
        self.browse.setEnabled(not fixed)
        self.database_note.setText("Given by KERNELGLASS_DB, which goes before this setting." if fixed else "")
        self.database_note.setVisible(fixed)

    # Pages -------------------------------------------------------------------------------------------------------

    def _page(self, title: str, *rows: tuple[str, QWidget]) -> None:
        """A section with its rows: what is said at the left of each, and the field."""
        form = QFormLayout()
        for words, field in rows:
            form.addRow(words, field)
        form.setContentsMargins(20, 18, 20, 18)
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(10)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        page = QWidget()
        page.setLayout(form)
        area = scrolled(page)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._pages.addWidget(area)
        entry = QListWidgetItem(title)
        entry.setSizeHint(QSize(0, self.fontMetrics().height() + 16))
        self.sections.addItem(entry)

    def _appearance(self, ui: list[str], code: list[str]) -> None:
        best = ("", "The best that is installed")
        self._page(
            "Appearance",
            ("Theme", self._choice("theme", "Theme", THEMES)),
            ("Interface font", self._choice("ui_family", "Interface font", [best, *((f, f) for f in ui)])),
            ("Interface size", self._pixels("ui_pixels", "Size of the interface font")),
            ("Code font", self._choice("code_family", "Code font", [best, *((f, f) for f in code)])),
            ("Code size", self._pixels("code_pixels", "Size of the code font")),
            ("", paragraph("Ctrl+wheel over code, Ctrl++ and Ctrl+- change the size of code too.")),
        )

    def _compile(self) -> None:
        levels = [(str(n), f"-O{n}") for n in OPT_LEVELS]
        self._page(
            "Compile",
            ("Target", self._choice("target", "Target of a new window", TARGETS)),
            ("Flow", self._choice("flow", "Flow of a new window", [(f, f) for f in FLOWS])),
            ("Optimisation", self._choice("opt_level", "Optimisation level of a new window", levels)),
            ("LLVM processes", self._spin("jobs", "Processes for LLVM", 0, 256, "", "all usable cores")),
            ("Kernels", self._libraries()),
            ("", self._check("use_cache", "Use the compilation cache")),
            ("", paragraph("Without the cache every stage runs anew, and every pass shows its time.")),
        )

    def _libraries(self) -> QLineEdit:
        field = self.fields["libraries"] = line_field("Folders of more kernels")
        field.setPlaceholderText(f"folders of more kernels, with {os.pathsep} between them")
        field.editingFinished.connect(lambda: self._change(libraries=field.text().strip()))
        return field

    def _run(self) -> None:
        sure = "until the median is known"
        self._page(
            "Run",
            ("Threads", self._spin("threads", "CPU threads", 0, 1024, "", "all usable cores")),
            ("Calls", self._spin("repeats", "Calls to time", 0, 1_000_000, "", sure)),
            ("", self._check("check", "Check every run against NumPy")),
        )

    def _storage(self) -> None:
        self.browse = push_button("Browse...", self.browse_wanted, name="Browse for a trace database")
        path = self.fields["database"] = line_field("Trace database")
        path.editingFinished.connect(lambda: self._change(database=path.text().strip()))
        self.database_note, self.cache_note = paragraph(), paragraph()
        self.clear = push_button("Clear now", self.clear_cache_wanted, name="Clear the compilation cache now")
        limit = self._spin("cache_mib", "Most the compilation cache may take", 16, CACHE_MIB, " MiB")
        self._page(
            "Storage",
            ("Trace database", _beside(path, self.browse)),
            ("", self.database_note),
            ("Compilation cache", _beside(limit, self.clear)),
            ("", self.cache_note),
        )

    def _opening(self) -> None:
        self.trust_note = paragraph()
        self.forget = push_button("Forget trusted files", self.forget_trust_wanted)
        self._page(
            "Opening",
            ("Python files", self._choice("ask_trust", "When to ask before a Python file is run", TRUST)),
            ("", _beside(self.trust_note, self.forget)),
            ("", self._check("restore", "Open the last source when the window opens")),
            ("", self._check("reload", "Compile again when the file changes on disk")),
        )

    # Fields ------------------------------------------------------------------------------------------------------

    def _choice(self, name: str, title: str, entries) -> Choice:
        field = Choice(title, entries)
        field.setSizeAdjustPolicy(Choice.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        field.setMinimumContentsLength(20)
        kind = type(getattr(self.preferences, name))
        field.chosen.connect(lambda value: self._change(**{name: kind(value)}))
        self.fields[name] = field
        return field

    def _spin(self, name: str, title: str, least: int, most: int, suffix: str = "", zero: str = "") -> QSpinBox:
        field = spin_box(title, least, most, suffix, zero)
        field.setKeyboardTracking(False)  # 4 on the way to 48 is not a wish
        field.valueChanged.connect(lambda value: self._change(**{name: value}))
        self.fields[name] = field
        return field

    def _pixels(self, name: str, title: str) -> QSpinBox:
        return self._spin(name, title, LEAST_PIXELS, MOST_PIXELS, " px")

    def _check(self, name: str, words: str) -> QCheckBox:
        field = QCheckBox(words)
        field.toggled.connect(lambda on: self._change(**{name: on}))
        self.fields[name] = field
        return field

    def _change(self, **changes: Any) -> None:
        wanted = replace(self.preferences, **changes)
        if wanted != self.preferences:
            self.set_preferences(wanted)
            self.changed.emit(wanted)


def _beside(first: QWidget, second: QWidget) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(first, 1)
    row.addWidget(second)
    holder.setFocusProxy(first)
    return holder
