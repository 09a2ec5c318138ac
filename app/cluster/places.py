"""How devices of other machines are written."""

from __future__ import annotations

import re

from compiler.errors import ExecutionError

_PLACE = re.compile(r"((?:tcp|tls|ucx|ws|wss)://[^/]+)/(cpu|cuda(?::[0-9]{1,4})?)")


def is_elsewhere(device: str) -> bool:
    """Whether a device is one of another machine."""
    return "://" in device


def check_place(text: str) -> tuple[str, str]:
    """The scheduler and the device of `tcp://HOST:PORT/cuda:0`; anything else is bad usage."""
    found = _PLACE.fullmatch(text)
    if found is None:
        raise ExecutionError(f"{text[:80]!r} is no device; one elsewhere is tcp://HOST:PORT/cpu or .../cuda:0")
    return found[1], found[2]
