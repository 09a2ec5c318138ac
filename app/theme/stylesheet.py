"""The Qt style sheet, filled in from a theme's tokens."""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path
from string import Template

from app.resources import resource_folder
from app.theme.fonts import UI_PIXELS
from app.theme.icons import write_for_style_sheet
from app.theme.tokens import BAR, RADIUS, ROW, Theme


def style_sheet(theme: Theme, icon_folder: Path, pixels: int = UI_PIXELS) -> str:
    """`resources/styles/kernelglass.qss` with `${token}` replaced; tinted icons are written to `icon_folder`.

    Where nothing can be written there, icons go to a temporary folder.
    """
    icon_folder = _writable(icon_folder)
    template = resource_folder() / "styles" / "kernelglass.qss"
    tokens = {name: value for name, value in vars(theme).items() if isinstance(value, str)}
    tokens["window_clear"] = f"#00{theme.window.removeprefix('#')}"  # what fades into it ends in none of it
    icons = {
        f"icon_{name}": write_for_style_sheet(icon_folder, name, theme.muted)
        for name in ("down", "right", "up", "close", "float", "left")
    }
    icons["icon_check"] = write_for_style_sheet(icon_folder, "check", theme.accent_text)
    sizes = {"radius": f"{RADIUS}px", "row": f"{ROW}px", "bar": f"{BAR}px"}
    steps = {"title": 22, "heading": 14, "input": 15, "small": 11}  # at the usual size of the interface font
    sizes |= {f"{name}_px": f"{round(size * pixels / UI_PIXELS)}px" for name, size in steps.items()}
    return Template(template.read_text(encoding="utf-8")).substitute(tokens | icons | sizes)


def _writable(folder: Path) -> Path:
    """The folder, or a temporary one for this process where it cannot be written: a full disk, a locked home."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"x" * 4096)
            probe.flush()
        return folder
    except OSError:
        return _spare_folder()


@cache
def _spare_folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="kernelglass-icons-")
    atexit.register(folder.cleanup)
    return Path(folder.name)
