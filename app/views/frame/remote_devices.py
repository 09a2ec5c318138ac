"""The dialog of devices of other machines: a list with how each is, a field for another, and buttons."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStackedWidget,
    QStyledItemDelegate,
    QVBoxLayout,
    QWidget,
)

from app.viewmodels.frame.devices import DeviceRow
from app.views.parts.controls import in_row, paragraph, push_button
from app.views.parts.dialog import WordyDialog
from app.views.parts.plain import plain_tip

_LETTERS = 56  # that a line of its words has at least
_PLACE = Qt.ItemDataRole.UserRole
_FRAME = 8  # pixels of a row above and below its words


class _Rows(QStyledItemDelegate):
    """Rows as wide as the list and as high as their words, with room for the frame of the one with the keyboard: Qt
    makes each as wide as its longest line."""

    def __init__(self, shown: QListWidget) -> None:
        super().__init__(shown)
        self._shown = shown

    def sizeHint(self, option, index) -> QSize:
        wide = self._shown.viewport().width() - 2 * self._shown.spacing()
        inside = QRect(0, 0, wide - 2 * _FRAME, 1 << 16)
        words = option.fontMetrics.boundingRect(inside, Qt.TextFlag.TextWordWrap, index.data())
        return QSize(wide, max(super().sizeHint(option, index).height(), words.height()) + _FRAME)


class RemoteDevicesDialog(WordyDialog):
    """Says what is wanted; the list is set from outside."""

    add_wanted = Signal(str)
    remove_wanted = Signal(str)
    reach_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_LETTERS, parent)
        self.setWindowTitle("Devices of other machines")
        self.list = QListWidget()
        self.list.setAccessibleName("Devices of other machines")
        self.list.setItemDelegate(_Rows(self.list))
        self.list.setWordWrap(True)  # why one cannot be used is often longer than the dialog is wide
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setResizeMode(QListWidget.ResizeMode.Adjust)
        self.list.setSpacing(3)  # each is two lines: which belong together must be seen
        self.list.currentItemChanged.connect(lambda *_: self._enable())
        self.place = QLineEdit()
        self.place.setPlaceholderText("tcp://HOST:8786/cpu or .../cuda:0")
        self.place.setAccessibleName("The device to add")
        self.place.textChanged.connect(lambda _: self._enable())
        self.place.returnPressed.connect(self._add)
        self.add = push_button("Add", self._add)
        self.reach = push_button("Use", lambda: self.reach_wanted.emit(self._chosen()), "Reach it, and run on it")
        self.remove = push_button("Remove", lambda: self.remove_wanted.emit(self._chosen()))
        self.words = paragraph(
            "A worker of a Dask scheduler. Join only schedulers that you trust: they and their workers can send this "
            "program code."
        )
        self.none_yet = paragraph(
            "None yet. On the other machine start a worker (docs/cluster.md says how), then add the scheduler's "
            "address and the device above, as in\ntcp://10.0.0.1:8786/cpu"
        )
        self.none_yet.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._listed = QStackedWidget()
        for part in (self.none_yet, self.list):
            self._listed.addWidget(part)
        self.said = paragraph("")
        close = push_button("Close", self.close)
        for button in (self.add, self.reach, self.remove, close):
            button.setAutoDefault(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 16)
        for part, most in ((self.words, 0), (self.said, 0), (self._listed, 1)):
            layout.addWidget(part, most)
        layout.insertLayout(1, in_row(self.place, self.add, wide=self.place))
        self.say("")
        layout.addLayout(in_row(self.reach, self.remove, None, close))
        self.resize(520, 360)
        self._enable()

    def set_devices(self, devices: tuple[DeviceRow, ...]) -> None:
        """What is remembered, each with what it is or why it cannot be used."""
        chosen = self._chosen()
        self.list.clear()
        for device in devices:
            item = QListWidgetItem("\n".join(filter(None, (device.name, device.missing or device.words))))
            item.setData(_PLACE, device.name)
            item.setToolTip(plain_tip(device.missing or device.words))
            self.list.addItem(item)
            if device.name == chosen:
                self.list.setCurrentItem(item)
        self._listed.setCurrentWidget(self.list if devices else self.none_yet)
        self._enable()

    def say(self, words: str) -> None:
        """What is wrong with what was typed."""
        self.said.setText(words)
        self.said.setVisible(bool(words))

    def _add(self) -> None:
        self.say("")
        self.add_wanted.emit(self.place.text())
        if not self.said.text():
            self.place.clear()

    def _chosen(self) -> str:
        item = self.list.currentItem()
        return item.data(_PLACE) if item is not None else ""

    def _enable(self) -> None:
        self.add.setEnabled(bool(self.place.text().strip()))
        for button in (self.reach, self.remove):
            button.setEnabled(bool(self._chosen()))
