"""What a builtin function is, and the table of them. The functions themselves are in the `builtins_*` files."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compiler.errors import KernelError
from compiler.language.values.kinds import Simd, describe

if TYPE_CHECKING:
    from compiler.language.interpreter import Interpreter


@dataclass(frozen=True, eq=False)
class Builtin:
    """A function every kernel knows; `body` takes the interpreter first."""

    name: str
    body: Callable[..., Any]

    def run(self, run: Interpreter, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call it."""
        try:
            return self.body(run, *args, **kwargs)
        except TypeError:
            self._check_arguments(args, kwargs)
            raise

    def _check_arguments(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Say what is wrong with a call whose arguments do not fit the parameters."""
        signature = inspect.signature(self.body)
        try:
            signature.bind(None, *args, **kwargs)
        except TypeError as problem:
            names = ", ".join(str(p).split(":")[0].split("=")[0] for p in list(signature.parameters.values())[1:])
            raise KernelError(f"{self.name}({names}): {problem}") from None


BUILTINS: dict[str, Builtin] = {}


def builtin(name: str) -> Callable[[Any], Any]:
    """Register a function under the name kernels call it by."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        BUILTINS[name] = Builtin(name, body)
        return body

    return register


def runtime_value(name: str, value: Any) -> Simd:
    """An argument that must be a run-time value."""
    if not isinstance(value, Simd):
        raise KernelError(f"{name} needs a run-time value, not {describe(value)}")
    return value
