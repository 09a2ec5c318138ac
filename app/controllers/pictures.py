"""Pictures of any view, to a file or the clipboard, and the command line that brings back what is on the screen."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QGuiApplication, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QApplication, QDockWidget, QWidget

from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Feature, Shared
from app.controllers.graph import GraphFeature
from app.controllers.layouts import LayoutsFeature
from app.views.frame.command_palette import Offer
from app.views.frame.workbench import Workbench
from app.views.parts.file_dialog import path_to_save


def save_svg(widget: QWidget, path: str, title: str) -> bool:
    """A view as vectors, as far as it paints with them."""
    generator = QSvgGenerator()
    generator.setFileName(path)
    generator.setResolution(96)
    generator.setTitle(title)
    generator.setSize(widget.size())
    generator.setViewBox(QRect(0, 0, widget.width(), widget.height()))
    painter = QPainter()
    if not painter.begin(generator):
        return False
    widget.render(painter, QPoint())
    return painter.end()


class PicturesFeature(Feature):
    """The view with the keyboard is the one that is meant; without one, the whole window."""

    def __init__(
        self, shared: Shared, docks: DocksFeature, workbench: Workbench, graph: GraphFeature, layouts: LayoutsFeature
    ) -> None:
        super().__init__(shared)
        self._docks, self._workbench, self._graph, self._layouts = docks, workbench, graph, layouts
        self.commands = (
            Command("save_picture", "Save a picture of this &view...", "&File", 21, self.save, "Ctrl+Shift+E"),
            Command("copy_picture", "Copy a p&icture of this view", "&File", 23, self.copy, "Ctrl+Shift+C"),
            Command("save_window", "Save a picture of the &window...", "&File", 22, lambda: self.save(self._window)),
            Command("copy_command", "Copy as co&mmand", "&File", 25, self.copy_command),
        )

    def save(self, view: QWidget | None = None) -> None:
        """Write a view as PNG or SVG."""
        widget, title = self._meant(view)
        name = title.lower().replace(" ", "-") or "kernelglass"
        kinds = "Picture (*.png);;Vector (*.svg)"
        path, kind = path_to_save(self._window, f"Picture of {title}", f"{name}.png", kinds)
        if not path:
            return
        if not path.endswith((".png", ".svg")):
            path += ".svg" if "svg" in kind else ".png"
        self.write_picture(widget, path, title)

    def write_picture(self, widget: QWidget, path: str, title: str) -> bool:
        """A view into a file; what it is called says as what."""
        if widget is self._graph.panel:  # all of it, also what is not in sight
            good = self._graph.panel.save_png(path) if path.endswith(".png") else self._graph.panel.save_svg(path)
        else:
            good = widget.grab().save(path) if path.endswith(".png") else save_svg(widget, path, title)
        self._messages.say("info" if good else "error", f"wrote {path}" if good else f"cannot write {path}", "window")
        return good

    def copy(self, view: QWidget | None = None) -> None:
        """A view to the clipboard."""
        widget, title = self._meant(view)
        QGuiApplication.clipboard().setPixmap(widget.grab())
        self._messages.say("info", f"copied a picture of {title}", "window")

    def copy_command(self) -> None:
        """The command line that brings back what is on the screen, to the clipboard."""
        if not self._state.source:
            self._messages.say("info", "open a source first: the command opens it again", "window")
            return
        text = self.command_line()
        QGuiApplication.clipboard().setText(text)
        self._messages.say("info", f"copied: {text}", "window")

    def command_line(self) -> str:
        """What `kernelglass gui` has to be asked for."""
        state = self._state
        chosen = state.choices
        words = ["kernelglass", "gui", state.source, "--target", chosen.target, "--flow", chosen.flow]
        words += ["-O", str(chosen.opt_level)]
        for option, pairs in (("--cut", chosen.force_cut), ("--fuse", chosen.force_fuse)):
            words += [part for pair in sorted(pairs) for part in (option, ",".join(pair))]
        if self._layouts.current:
            words += ["--layout", self._layouts.current]
        shown = next((name for name, dock in self._docks.bottom.items() if not dock.visibleRegion().isEmpty()), "")
        words += ["--view", shown] if shown else []
        words += [part for node in sorted(state.selection.nodes)[:20] for part in ("--select", node)]
        return shlex.join(words)

    def offers(self) -> Iterator[Offer]:
        """For the palette: a picture of each view by its name."""
        for dock in (*self._docks.named.values(), self._workbench.graph_dock, self._workbench.source_dock):
            title, widget = dock.windowTitle(), dock.widget()
            yield Offer(f"Save a picture of {title}", lambda d=dock, w=widget: self._with(d, w, self.save))
            yield Offer(f"Copy a picture of {title}", lambda d=dock, w=widget: self._with(d, w, self.copy))

    def _with(self, dock: QDockWidget, widget: QWidget, do) -> None:
        dock.show()
        dock.raise_()
        QApplication.processEvents()  # what was behind another has no size yet
        do(widget)

    def _meant(self, view: QWidget | None) -> tuple[QWidget, str]:
        """The view that is asked for, or the one with the keyboard, and what it is called."""
        if view is None:
            at: QWidget | None = QApplication.focusWidget()
            while at is not None and not (isinstance(at, QDockWidget) and at.widget() is not None):
                at = at.parentWidget()
            view = at.widget() if isinstance(at, QDockWidget) else self._window
        dock = view.parentWidget()
        return view, dock.windowTitle() if isinstance(dock, QDockWidget) else "the window"
