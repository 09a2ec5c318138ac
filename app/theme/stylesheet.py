"""The Qt style sheet, filled in from a theme's tokens."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template

from app.theme.icons import write_for_style_sheet
from app.theme.tokens import BAR, RADIUS, ROW, Theme


def style_sheet(theme: Theme, icon_folder: Path) -> str:
    """`resources/styles/kernelglass.qss` with `${token}` replaced; tinted icons are written to `icon_folder`."""
    icon_folder.mkdir(parents=True, exist_ok=True)
    template = Path(str(files("resources"))) / "styles" / "kernelglass.qss"
    tokens = {name: value for name, value in vars(theme).items() if isinstance(value, str)}
    icons = {
        f"icon_{name}": write_for_style_sheet(icon_folder, name, theme.muted)
        for name in ("down", "right", "up", "close", "float", "left")
    }
    icons["icon_check"] = write_for_style_sheet(icon_folder, "check", theme.accent_text)
    sizes = {"radius": f"{RADIUS}px", "row": f"{ROW}px", "bar": f"{BAR}px"}
    return Template(template.read_text(encoding="utf-8")).substitute(tokens | icons | sizes)
