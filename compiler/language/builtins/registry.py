"""What a builtin function is, and the table of them. The functions themselves are in the files beside this one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compiler.errors import KernelError
from compiler.language.context import Context
from compiler.language.values.records import Function


@dataclass(frozen=True, eq=False)
class Builtin(Function):
    """A function every kernel knows; `body` takes the elaboration first."""

    name: str
    body: Callable[..., Any]


BUILTINS: dict[str, Builtin] = {}


def builtin(*names: str) -> Callable[[Any], Any]:
    """Register a function under the names kernels call it by."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        BUILTINS.update({name: Builtin(name, body) for name in names})
        return body

    return register


def call_builtin(run: Context, function: Builtin, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a builtin."""
    try:
        return function.body(run, *args, **kwargs)
    except TypeError:
        _check_arguments(function, args, kwargs)
        raise


def _check_arguments(function: Builtin, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Say what is wrong with a call whose arguments do not fit the parameters."""
    signature = inspect.signature(function.body)
    try:
        signature.bind(None, *args, **kwargs)
    except TypeError as problem:
        names = ", ".join(str(p).split(":")[0].split("=")[0] for p in list(signature.parameters.values())[1:])
        raise KernelError(f"{function.name}({names}): {problem}") from None
