"""Functions every kernel knows without importing them: `BUILTINS`, filled by the files that hold them."""

from __future__ import annotations

from compiler.language.builtins import choices, device_memory, machine, static, values
from compiler.language.builtins.registry import BUILTINS

__all__ = ["BUILTINS", "choices", "device_memory", "machine", "static", "values"]
