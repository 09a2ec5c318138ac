"""The libraries a window needs: which of the system's are missing on X11, and the command that installs exactly those.

Qt aborts the process when one of them is missing, and names another one; so we look before it starts. And whether Qt's
binding is one with which Python aborts later, in the middle of somebody's work.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

_FAMILIES = {"debian": "apt install", "fedora": "dnf install", "arch": "pacman -S", "suse": "zypper install"}
_ALIKE = {"ubuntu": "debian", "rhel": "fedora", "centos": "fedora", "opensuse": "suse"}
_BASE = ("libxcb", "libxcb")  # Fedora and Arch keep these libraries in one package
_PACKAGES: dict[str, tuple[str, str, str, str]] = {
    "libxcb-icccm.so.4": ("libxcb-icccm4", "xcb-util-wm", "xcb-util-wm", "libxcb-icccm4"),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms", "libxcb-keysyms1"),
    "libxcb-cursor.so.0": ("libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor", "libxcb-cursor0"),
    "libxcb-image.so.0": ("libxcb-image0", "xcb-util-image", "xcb-util-image", "libxcb-image0"),
    "libxcb-render-util.so.0": (
        "libxcb-render-util0", "xcb-util-renderutil", "xcb-util-renderutil", "libxcb-render-util0"
    ),
    "libxcb-util.so.1": ("libxcb-util1", "xcb-util", "xcb-util", "libxcb-util1"),
    "libxcb-randr.so.0": ("libxcb-randr0", *_BASE, "libxcb-randr0"),
    "libxcb-render.so.0": ("libxcb-render0", *_BASE, "libxcb-render0"),
    "libxcb-shape.so.0": ("libxcb-shape0", *_BASE, "libxcb-shape0"),
    "libxcb-shm.so.0": ("libxcb-shm0", *_BASE, "libxcb-shm0"),
    "libxcb-sync.so.1": ("libxcb-sync1", *_BASE, "libxcb-sync1"),
    "libxcb-xfixes.so.0": ("libxcb-xfixes0", *_BASE, "libxcb-xfixes0"),
    "libxcb-xkb.so.1": ("libxcb-xkb1", *_BASE, "libxcb-xkb1"),
    "libxcb.so.1": ("libxcb1", *_BASE, "libxcb1"),
    "libxkbcommon.so.0": ("libxkbcommon0", "libxkbcommon", "libxkbcommon", "libxkbcommon0"),
    "libxkbcommon-x11.so.0": ("libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11", "libxkbcommon-x11-0"),
    "libX11-xcb.so.1": ("libx11-xcb1", "libX11-xcb", "libx11", "libX11-xcb1"),
    "libX11.so.6": ("libx11-6", "libX11", "libx11", "libX11-6"),
    "libSM.so.6": ("libsm6", "libSM", "libsm", "libSM6"),
    "libICE.so.6": ("libice6", "libICE", "libice", "libICE6"),
    "libEGL.so.1": ("libegl1", "libglvnd-egl", "libglvnd", "libEGL1"),
    "libGL.so.1": ("libgl1", "libglvnd-glx", "libglvnd", "libGL1"),
    "libfontconfig.so.1": ("libfontconfig1", "fontconfig", "fontconfig", "libfontconfig1"),
    "libdbus-1.so.3": ("libdbus-1-3", "dbus-libs", "dbus", "libdbus-1-3"),
}  # fmt: skip
"""Each library with its package in each family, in the order of `_FAMILIES`."""


def loads(library: str) -> bool:
    """Whether the system's loader finds a library, whole."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def loses_references(call: Callable[[], None]) -> bool:
    """Whether a function of a C extension gives away a reference to None, which is not its own, at every call.

    PySide6 6.12.0 does. Python aborts when none is left, from 3.12 on there is no end to them.
    """
    times = 64
    before = sys.getrefcount(None)
    for _ in range(times):
        call()
    return before - sys.getrefcount(None) > times // 2


def missing_libraries(there: Callable[[str], bool] = loads) -> list[str]:
    """What a window on X11 would not find."""
    return [library for library in _PACKAGES if not there(library)]


def install_words(libraries: Sequence[str], os_release: str | None = None) -> str:
    """The command that installs these libraries on the distribution at hand; nothing where we do not know it."""
    family = _family(_os_release() if os_release is None else os_release)
    if not family:
        return ""
    at = list(_FAMILIES).index(family)
    packages = dict.fromkeys(_PACKAGES[library][at] for library in libraries if library in _PACKAGES)
    return f"{_FAMILIES[family]} {' '.join(packages)}" if packages else ""


def _os_release() -> str:
    try:
        return Path("/etc/os-release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _family(os_release: str) -> str:
    """What a distribution is, or says that it is like."""
    found: dict[str, str] = {}
    for line in os_release.splitlines():
        name, _, value = line.partition("=")
        found[name.strip()] = value.strip().strip("\"'")
    for name in f"{found.get('ID', '')} {found.get('ID_LIKE', '')}".split():
        family = _ALIKE.get(name, name.partition("-")[0])
        family = _ALIKE.get(family, family)
        if family in _FAMILIES:
            return family
    return ""
