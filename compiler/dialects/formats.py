"""How xDSL's operations are written, parsed when one is first printed or read and not as each is defined.

Loading the dialects parses some hundred of these formats, a tenth of the time that loading the compiler takes, and a
compilation prints and reads hardly any of them.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, cast

from xdsl.irdl.declarative_assembly_format import FormatProgram

_parsed = FormatProgram.from_str


class _Later:
    """What a format says, once somebody asks."""

    def __init__(self, text: str, definition: Any) -> None:
        self._text = text
        self._definition = definition

    @cached_property
    def _program(self) -> FormatProgram:
        return _parsed(self._text, self._definition)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._program, name)


@cache
def parse_formats_later() -> None:
    """For processes of our own, before dialects are loaded: whoever defines operations wants to hear of mistakes."""
    FormatProgram.from_str = cast(Any, _Later)
