"""The settings dialog. Every change is told at once; there is no OK to press."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.theme.look import LEAST_PIXELS, MOST_PIXELS, Look
from app.viewmodels.frame.formats import size
from app.viewmodels.frame.preferences import CACHE_MIB, THEMES, TRUST, Preferences
from app.viewmodels.requests import StorageTold
from app.views.frame.toolbar import TARGETS
from app.views.parts.widgets import Choice, MessageBar, label
from compiler.options import FLOWS


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
        self._page("Appearance", self._appearance(ui, code))
        self._page("Compile", self._compile())
        self._page("Run", self._run())
        self._page("Storage", self._storage())
        self._page("Opening", self._opening())
        self.sections.setCurrentRow(0)
        self._build()
        self.set_preferences(preferences)
        self.resize(760, 460)

    def _build(self) -> None:
        defaults = QPushButton("Restore defaults")
        defaults.clicked.connect(lambda: self._change(**{f.name: f.default for f in fields(Preferences)}))
        self.defaults = defaults
        close = QPushButton("Close")
        close.setDefault(True)
        close.clicked.connect(self.close)
        foot = QHBoxLayout()
        foot.setContentsMargins(12, 8, 12, 12)
        foot.addWidget(defaults)
        foot.addStretch(1)
        foot.addWidget(close)
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.sections)
        middle.addWidget(self._pages, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
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

    def _page(self, title: str, form: QFormLayout) -> None:
        page = QWidget()
        form.setContentsMargins(20, 18, 20, 18)
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(10)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        page.setLayout(form)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(page)
        self._pages.addWidget(area)
        entry = QListWidgetItem(title)
        entry.setSizeHint(QSize(0, self.fontMetrics().height() + 16))
        self.sections.addItem(entry)

    def _appearance(self, ui: list[str], code: list[str]) -> QFormLayout:
        form = QFormLayout()
        self._row(form, "Theme", self._choice("theme", "Theme", THEMES))
        best = ("", "The best that is installed")
        self._row(form, "Interface font", self._choice("ui_family", "Interface font", [best, *((f, f) for f in ui)]))
        self._row(form, "Interface size", self._pixels("ui_pixels", "Size of the interface font"))
        self._row(form, "Code font", self._choice("code_family", "Code font", [best, *((f, f) for f in code)]))
        self._row(form, "Code size", self._pixels("code_pixels", "Size of the code font"))
        form.addRow("", self._words("Ctrl+wheel over code, Ctrl++ and Ctrl+- change the size of code too."))
        return form

    def _compile(self) -> QFormLayout:
        form = QFormLayout()
        self._row(form, "Target", self._choice("target", "Target of a new window", TARGETS))
        self._row(form, "Flow", self._choice("flow", "Flow of a new window", [(f, f) for f in FLOWS]))
        levels = [(str(n), f"-O{n}") for n in range(4)]
        self._row(form, "Optimisation", self._choice("opt_level", "Optimisation level of a new window", levels))
        self._row(form, "LLVM processes", self._spin("jobs", "Processes for LLVM", 0, 256, "", "all usable cores"))
        form.addRow("", self._check("use_cache", "Use the compilation cache"))
        form.addRow("", self._words("Without the cache every stage runs anew, and every pass shows its time."))
        return form

    def _run(self) -> QFormLayout:
        form = QFormLayout()
        self._row(form, "Threads", self._spin("threads", "CPU threads", 0, 1024, "", "all usable cores"))
        words = "until the median is known"
        self._row(form, "Calls", self._spin("repeats", "Calls to time", 0, 1_000_000, "", words))
        form.addRow("", self._check("check", "Check every run against NumPy"))
        return form

    def _storage(self) -> QFormLayout:
        form = QFormLayout()
        self.browse = QPushButton("Browse...")
        self.browse.setAccessibleName("Browse for a trace database")
        self.browse.clicked.connect(self.browse_wanted)
        path = QLineEdit()
        path.setAccessibleName("Trace database")
        path.setClearButtonEnabled(True)
        path.editingFinished.connect(lambda: self._change(database=path.text().strip()))
        self.fields["database"] = path
        self._row(form, "Trace database", _beside(path, self.browse))
        self.database_note = self._words("")
        form.addRow("", self.database_note)
        self.cache_note = self._words("")
        self.clear = QPushButton("Clear now")
        self.clear.setAccessibleName("Clear the compilation cache now")
        self.clear.clicked.connect(self.clear_cache_wanted)
        limit = self._spin("cache_mib", "Most the compilation cache may take", 16, CACHE_MIB, " MiB")
        self._row(form, "Compilation cache", _beside(limit, self.clear))
        form.addRow("", self.cache_note)
        return form

    def _opening(self) -> QFormLayout:
        form = QFormLayout()
        ask = self._choice("ask_trust", "When to ask before a Python file is run", TRUST)
        self._row(form, "Python files", ask)
        self.trust_note = self._words("")
        self.forget = QPushButton("Forget trusted files")
        self.forget.clicked.connect(self.forget_trust_wanted)
        self._row(form, "", _beside(self.trust_note, self.forget))
        form.addRow("", self._check("restore", "Open the last source when the window opens"))
        form.addRow("", self._check("reload", "Compile again when the file changes on disk"))
        return form

    # Fields ------------------------------------------------------------------------------------------------------

    def _row(self, form: QFormLayout, words: str, field: QWidget) -> None:
        caption = label(words)
        caption.setBuddy(field)
        form.addRow(caption, field)

    def _words(self, words: str) -> QLabel:
        note = label(words, "muted")
        note.setWordWrap(True)
        return note

    def _choice(self, name: str, title: str, entries) -> Choice:
        field = Choice(title, entries)
        field.setSizeAdjustPolicy(Choice.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        field.setMinimumContentsLength(20)
        kind = type(getattr(self.preferences, name))
        field.chosen.connect(lambda value: self._change(**{name: kind(value)}))
        self.fields[name] = field
        return field

    def _spin(self, name: str, title: str, least: int, most: int, suffix: str = "", zero: str = "") -> QSpinBox:
        field = QSpinBox()
        field.setRange(least, most)
        field.setSuffix(suffix)
        field.setSpecialValueText(zero)
        field.setKeyboardTracking(False)  # 4 on the way to 48 is not a wish
        field.setAccessibleName(title)
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
