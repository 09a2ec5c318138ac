"""Functions every kernel knows without importing them."""

from __future__ import annotations

from compiler.language.builtins import machine as builtins_machine
from compiler.language.builtins import static as builtins_static
from compiler.language.builtins import values as builtins_values
from compiler.language.builtins.registry import BUILTINS, Builtin

__all__ = ["BUILTINS", "Builtin", "builtins_machine", "builtins_static", "builtins_values"]
