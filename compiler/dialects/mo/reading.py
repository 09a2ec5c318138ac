"""The parser of mo text: xDSL's, which keeps full SSA names here and refuses what a graph's text does not need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, DictionaryAttr, UnknownLoc
from xdsl.ir import Dialect, Operation, SSAValue, TypeAttribute
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from compiler.dialects.mo.dialect import Mo
from compiler.dialects.mo.forms import encoded, parse_entries
from compiler.dialects.mo.ops import name_loc, set_name

_K = MLIRTokenKind
_NAME = re.compile(r"[A-Za-z_$.-][\w$.-]*\Z")


class MoLexer(MLIRLexer):
    """xDSL's lexer, with a string pattern that cannot backtrack: theirs takes exponential time on an open quote."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


class MoParser(Parser):
    """Reads modules of mo graphs, and of further dialects: custom forms only, no forward references, SSA names kept."""

    def __init__(self, text: str, filename: str = "<text>", *dialects: Dialect) -> None:
        context = Context()
        for dialect in (Builtin, Mo, *dialects):
            context.load_dialect(dialect)
        super().__init__(context, "", filename)
        self.spans: dict[Operation, Span] = {}
        self._types: dict[str, TypeAttribute] = {}
        state = self._parser_state
        state.lexer = MoLexer(Input(text, filename))
        state.current_token = state.lexer.lex()

    def parse_operation(self) -> Operation:
        """An op, remembered with the place it was read from."""
        span = self._current_token.span
        op = super().parse_operation()
        self.spans[op] = span
        return op

    def _parse_generic_operation(self, op_type: type[Operation]) -> Operation:
        self.raise_error("the generic form of an op is not read here; write mo.name(%operands) : types")

    def parse_optional_type(self) -> TypeAttribute | None:
        """A type; one whose exact text was read before is not read again, as most of a graph's text is types."""
        token = self._current_token
        if token.kind is not _K.EXCLAMATION_IDENT or token.text not in ("!mo.tensor", "!mo.buffer"):
            return super().parse_optional_type()
        content = self.lexer.input.content
        end = content.find(">", token.span.end) + 1
        raw = content[token.span.start : end]
        known = self._types.get(raw)
        if known is not None:
            self._resume_from(end)
            return known
        type = super().parse_optional_type()
        if type is not None and "//" not in raw and content[end : self.pos].strip() == "":
            self._types[raw] = type
        return type

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> SSAValue[Any]:
        if operand.operand_name not in self.ssa_values:
            self.raise_error(f"%{operand.operand_name} is used before it is defined", operand.span)
        return super().resolve_operand(operand, type)

    def parse_optional_attr_dict_with_keyword(self, reserved_attr_names: Iterable[str] = ()) -> DictionaryAttr | None:
        """A module's attributes, read as those of ops are: builtin ones (a huge dense splat) would take any memory."""
        if self.parse_optional_keyword("attributes") is None:
            return None
        span = self._current_token.span
        return DictionaryAttr(encoded(self, parse_entries(self), span))

    def _parse_alias_def(self) -> None:
        self.raise_error("aliases are not read here; write the type or attribute out")

    def _parse_file_metadata_dictionary(self) -> Any:
        self.raise_error("resources are not read here")

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        if not _NAME.match(name):
            return
        for index, value in enumerate(values):
            set_name(value, f"{name}.{index}" if index else name)
        for value in values[:1]:
            owner = value.owner
            if not isinstance(owner, Operation):
                value.location = name_loc(name)  # type: ignore[attr-defined]
            elif owner.results[0] is value and isinstance(owner.location, UnknownLoc):
                owner.location = name_loc(name)
