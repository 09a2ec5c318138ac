"""Functions every kernel knows without importing them."""

from __future__ import annotations

from compiler.language import builtins_machine, builtins_static, builtins_values
from compiler.language.builtin_registry import BUILTINS, Builtin

__all__ = ["BUILTINS", "Builtin", "builtins_machine", "builtins_static", "builtins_values"]
