"""Every action of the window in one table: menu, text, keys, command. Menus, palette and shortcut sheet read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu


@dataclass(frozen=True)
class ActionSpec:
    """One action; `command` names a method of Commands. A dash for the text is a separator.

    A `submenu` is given to its command to be filled, each time it is about to be shown.
    """

    menu: str
    text: str
    command: str = ""
    keys: str = ""
    submenu: bool = False


SEPARATOR = "-"
ACTIONS = (
    ActionSpec("&File", "&Open...", "browse", "Ctrl+O"),
    ActionSpec("&File", "Open re&cent", "fill_recent", submenu=True),
    ActionSpec("&File", "&Reload from disk", "reload", "Ctrl+R"),
    ActionSpec("&File", "&Save edited source", "save_source", "Ctrl+S"),
    ActionSpec("&File", "Save edited source &as...", "save_source_as", "Ctrl+Shift+S"),
    ActionSpec("&File", SEPARATOR),
    ActionSpec("&File", "Export graph as &SVG or PNG...", "export_graph"),
    ActionSpec("&File", "Copy kernel table as TSV", "copy_kernels"),
    ActionSpec("&File", "Back to my &database", "own_database"),
    ActionSpec("&File", SEPARATOR),
    ActionSpec("&File", "Se&ttings...", "settings", "Ctrl+,"),
    ActionSpec("&File", SEPARATOR),
    ActionSpec("&File", "&Quit", "quit", "Ctrl+Q"),
    ActionSpec("&Edit", "&Find in this view", "find", "Ctrl+F"),
    ActionSpec("&Edit", "Find &everywhere", "find_everywhere", "Ctrl+Shift+F"),
    ActionSpec("&Edit", "&Go to line...", "go_to_line", "Ctrl+G"),
    ActionSpec("&Edit", SEPARATOR),
    ActionSpec("&Edit", "Selection &back", "back", "Alt+Left"),
    ActionSpec("&Edit", "Selection f&orward", "forward", "Alt+Right"),
    ActionSpec("&Edit", "&Clear selection or cancel", "escape", "Esc"),
    ActionSpec("&View", "&Command palette", "palette", "Ctrl+Shift+P"),
    ActionSpec("&View", SEPARATOR),
    ActionSpec("&View", "&Explorer", "toggle_explorer", "Ctrl+B"),
    ActionSpec("&View", "&Inspector", "toggle_inspector", "Ctrl+I"),
    ActionSpec("&View", "&Bottom views", "toggle_bottom", "Ctrl+J"),
    ActionSpec("&View", "New IR &pane", "add_pane", "Ctrl+T"),
    ActionSpec("&View", "Show this pane for another &target...", "pane_target"),
    ActionSpec("&View", "Machine code of t&wo targets side by side", "two_targets", "Ctrl+Shift+T"),
    ActionSpec("&View", "Fold all", "fold_all", "Ctrl+Shift+["),
    ActionSpec("&View", "Unfold all", "unfold_all", "Ctrl+Shift+]"),
    ActionSpec("&View", SEPARATOR),
    ActionSpec("&View", "Larger code", "zoom_in", "Ctrl++"),
    ActionSpec("&View", "Smaller code", "zoom_out", "Ctrl+-"),
    ActionSpec("&View", "Usual code size", "zoom_reset", "Ctrl+0"),
    ActionSpec("&View", "&Dark theme", "theme_dark"),
    ActionSpec("&View", "&Light theme", "theme_light"),
    ActionSpec("&View", "Theme of the &system", "theme_system"),
    ActionSpec("&View", SEPARATOR),
    ActionSpec("&View", "&Save layout as...", "save_layout"),
    ActionSpec("&View", "Load layout...", "load_layout"),
    ActionSpec("&View", "Delete layout...", "delete_layout"),
    ActionSpec("&View", "&Reset layout", "reset_layout"),
    ActionSpec("&View", "&Full screen", "full_screen", "F11"),
    ActionSpec("&Graph", "&Fit the whole graph", "graph_fit"),
    ActionSpec("&Graph", "F&ocus the selection", "graph_focus"),
    ActionSpec("&Graph", SEPARATOR),
    ActionSpec("&Graph", "Collapse or e&xpand here", "graph_toggle"),
    ActionSpec("&Graph", "&Unfold or fold the layer here", "graph_layers"),
    ActionSpec("&Graph", "&Collapse all kernels", "graph_collapse"),
    ActionSpec("&Graph", "&Expand all kernels", "graph_expand"),
    ActionSpec("&Graph", "Fold &repeated layers", "graph_fold"),
    ActionSpec("&Graph", "Unfold repeated &layers", "graph_unfold"),
    ActionSpec("&Graph", SEPARATOR),
    ActionSpec("&Graph", "Fu&se or cut here...", "edges_here", "Ctrl+Shift+X"),
    ActionSpec("&Graph", "Export as &SVG or PNG...", "export_graph"),
    ActionSpec("&Compile", "&Compile", "compile", "Ctrl+Return"),
    ActionSpec("&Compile", "Ca&ncel", "cancel"),
    ActionSpec("&Compile", SEPARATOR),
    ActionSpec("&Compile", "Compile without the c&ache", "compile_afresh", "Ctrl+Shift+Return"),
    ActionSpec("&Compile", "Compile without &fusion", "compile_unfused"),
    ActionSpec("&Compile", "Drop what-if &edits", "drop_edits"),
    ActionSpec("&Run", "&Run and time", "run", "F5"),
    ActionSpec("&Run", "Measure &flows", "measure_flows"),
    ActionSpec("&Run", "Measure this &machine", "measure_ceilings"),
    ActionSpec("&Run", "R&eport", "report", "Ctrl+E"),
    ActionSpec("&Compare", "Compare pane with the stage &before", "compare_stage"),
    ActionSpec("&Compare", "Compare pane with the &previous compilation", "compare_previous"),
    ActionSpec("&Compare", "Compare with the previous &compilation, kernel by kernel", "compare_compilations"),
    ActionSpec("&Compare", "&Next difference", "next_difference", "F7"),
    ActionSpec("&Compare", "Pre&vious difference", "previous_difference", "Shift+F7"),
    ActionSpec("&Help", "&Welcome page", "welcome"),
    ActionSpec("&Help", "&Keyboard shortcuts", "shortcuts", "?"),
    ActionSpec("&Help", "&About", "about"),
)

VIEW_KEYS = {
    "Graph": (
        ("Space", "fit everything"),
        ("F", "focus the selection"),
        ("+ -", "zoom"),
        ("arrows", "walk along the edges"),
        ("Shift+arrows", "pan"),
        ("N  P", "next, previous node"),
        ("Enter", "collapse or expand here"),
        ("U", "unfold or fold a repeated layer"),
        ("X or Menu", "what can be done here: fuse, cut, fold"),
        ("double click", "collapse or expand a group"),
        ("Ctrl+click", "add to the selection"),
    ),
    "IR panes": (
        ("arrows", "move by line"),
        ("Enter", "select the line's nodes"),
        ("D", "compare with the stage before"),
        ("+ -", "fold, unfold at the line"),
        ("Ctrl+wheel", "zoom"),
        ("Ctrl+C", "copy"),
    ),
    "Timeline": (
        ("W  S", "zoom in, out"),
        ("A  D", "left, right"),
        ("F", "focus"),
        ("M or Shift+drag", "measure"),
        ("N  P", "next, previous event"),
        ("Ctrl+wheel or up, down", "move the lanes"),
        ("Space", "everything"),
    ),
    "Tables": (
        ("Ctrl+F or /", "filter: words, or time > 5"),
        ("Ctrl+C", "copy rows as TSV"),
        ("click a heading", "sort"),
    ),
}


TICKS: dict[str, Callable[[Any], bool]] = {
    "toggle_explorer": lambda window: window.explorer_dock.isVisible(),
    "toggle_inspector": lambda window: window.inspector_dock.isVisible(),
    "toggle_bottom": lambda window: any(dock.isVisible() for dock in window.bottom_docks.values()),
    "theme_dark": lambda window: window.look.choice == "dark",
    "theme_light": lambda window: window.look.choice == "light",
    "theme_system": lambda window: window.look.choice == "system",
    "full_screen": lambda window: window.isFullScreen(),
}
"""Commands that switch something, and how to see whether it is on."""


def build_menus(window: QMainWindow, commands: object) -> list[QAction]:
    """Make the menus and return every action."""
    menus: dict[str, QMenu] = {}
    actions = []
    for spec in ACTIONS:
        if spec.menu not in menus:
            menus[spec.menu] = window.menuBar().addMenu(spec.menu)
        if spec.text == SEPARATOR:
            menus[spec.menu].addSeparator()
            continue
        if spec.submenu:
            inner = menus[spec.menu].addMenu(spec.text)
            inner.menuAction().setObjectName(spec.command)
            inner.aboutToShow.connect(lambda menu=inner, name=spec.command: getattr(commands, name)(menu))
            continue
        action = QAction(spec.text, window)
        if shown := TICKS.get(spec.command):
            action.setCheckable(True)
            menus[spec.menu].aboutToShow.connect(lambda a=action, s=shown: a.setChecked(s(window)))
        if spec.keys:
            action.setShortcut(QKeySequence(spec.keys))
        action.setObjectName(spec.command)
        action.triggered.connect(lambda _=False, name=spec.command: getattr(commands, name)())
        menus[spec.menu].addAction(action)
        actions.append(action)
    return actions


def shortcut_groups() -> dict[str, list[tuple[str, str]]]:
    """What the shortcut sheet shows."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for spec in ACTIONS:
        if spec.keys:
            groups.setdefault(spec.menu.replace("&", ""), []).append(
                (spec.keys, spec.text.replace("&", "").rstrip("."))
            )
    groups["File"].append(("Ctrl+1..9", "Open a recent source"))
    for name, keys in VIEW_KEYS.items():
        groups.setdefault(name, []).extend((key, words[:1].upper() + words[1:]) for key, words in keys)
    return groups
