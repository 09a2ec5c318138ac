"""The commands of the View and Graph menus: what is shown, where, how large, and how the graph is folded."""

from __future__ import annotations

from PySide6.QtWidgets import QInputDialog

from app.controllers.messages import Message
from app.controllers.pane_commands import PaneCommands
from app.controllers.settings import LAST_SESSION
from app.theme.fonts import CODE_PIXELS


class ViewCommands(PaneCommands):
    """Bound to one window."""

    def palette(self) -> None:
        """Every command, by a few letters."""
        self._w.palette_popup.open(self._w.all_actions())

    def toggle_explorer(self) -> None:
        """Show or hide the explorer."""
        self._w.explorer_dock.setVisible(not self._w.explorer_dock.isVisible())

    def toggle_inspector(self) -> None:
        """Show or hide the inspector."""
        self._w.inspector_dock.setVisible(not self._w.inspector_dock.isVisible())

    def toggle_bottom(self) -> None:
        """Show or hide the views at the bottom."""
        shown = any(dock.isVisible() for dock in self._w.bottom_docks.values())
        for dock in self._w.bottom_docks.values():
            dock.setVisible(not shown)

    def zoom_in(self) -> None:
        """Larger code."""
        self._w.look.zoom_code(self._w.look.code_pixels + 1)

    def zoom_out(self) -> None:
        """Smaller code."""
        self._w.look.zoom_code(self._w.look.code_pixels - 1)

    def zoom_reset(self) -> None:
        """The usual size."""
        self._w.look.zoom_code(CODE_PIXELS)

    def theme_dark(self) -> None:
        """Dark."""
        self._theme("dark")

    def theme_light(self) -> None:
        """Light."""
        self._theme("light")

    def theme_system(self) -> None:
        """As the system has it."""
        self._theme("system")

    def _theme(self, name: str) -> None:
        self._w.preferences.set(theme=name)

    def save_layout(self) -> None:
        """Keep the arrangement under a name."""
        name, good = QInputDialog.getText(self._w, "Save layout", "Name of this arrangement of views and panes:")
        name = name.strip()
        if good and name == LAST_SESSION:
            words = f"{name!r} is where the window keeps its own arrangement: choose another name"
            self._w.messages.post(Message("warning", words, "window"))
        elif good and name:
            self._w.settings.save_layout(name, self._w.layout_states())
            self._w.status.what.setText(f"Saved the layout {name} (View, Load layout)")

    def load_layout(self) -> None:
        """Choose a kept arrangement."""
        if name := self._choose_layout("Load layout", "Arrange views and panes as in:"):
            self._w.restore_layout(self._w.settings.layout(name))

    def delete_layout(self) -> None:
        """Forget a kept arrangement; the window stays as it is."""
        if name := self._choose_layout("Delete layout", "Forget the layout:"):
            self._w.settings.remove_layout(name)
            self._w.status.what.setText(f"Deleted the layout {name}")

    def _choose_layout(self, title: str, words: str) -> str:
        """One of the layouts there are; nothing where there is none, or the user has second thoughts."""
        names = self._w.settings.layout_names()
        if not names:
            self._w.messages.post(Message("info", "no layout has been saved yet (View, Save layout as)", "window"))
            return ""
        name, good = QInputDialog.getItem(self._w, title, words, names, 0, False)
        return name if good else ""

    def reset_layout(self) -> None:
        """The arrangement the program came with."""
        self._w.reset_layout()

    def full_screen(self) -> None:
        """Toggle."""
        self._w.showNormal() if self._w.isFullScreen() else self._w.showFullScreen()

    def graph_fit(self) -> None:
        """All of the graph."""
        self._w.graph_panel.view.fit()

    def graph_focus(self) -> None:
        """The selection in the graph."""
        self._w.graph_panel.view.focus()

    def graph_toggle(self) -> None:
        """Collapse or expand at the current node."""
        self._w.graph_panel.view.toggle_here()

    def graph_layers(self) -> None:
        """Unfold the repeated layer at the current node, or fold it again."""
        self._w.graph_panel.view.toggle_layer_here()

    def graph_collapse(self) -> None:
        """Every kernel as one box."""
        self._w.graph.collapse_all(True)

    def graph_expand(self) -> None:
        """Every kernel with its nodes."""
        self._w.graph.collapse_all(False)

    def graph_fold(self) -> None:
        """Repeated layers as one."""
        self._w.graph.fold_repeats(True)

    def graph_unfold(self) -> None:
        """Every copy of a repeated layer."""
        self._w.graph.fold_repeats(False)
