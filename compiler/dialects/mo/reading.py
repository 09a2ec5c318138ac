"""How mo text is read: a parser on top of xDSL's that keeps full SSA names, and the custom forms of ops and types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, DictionaryAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Attribute, Operation, Region, SSAValue, TypeAttribute
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from compiler.dialects.mo.attributes import array_from_bytes, encode
from compiler.dialects.mo.ops import GraphOp, MoOp, OutputOp, name_loc, set_name
from compiler.errors import GraphError, ParseError
from compiler.graph.dim_text import parse_dim
from compiler.graph.dims import Dim
from compiler.graph.dtypes import DTYPES, dtype_info, numpy_dtype
from compiler.graph.types import Shape, Size, Type, as_size, dtype_from_mlir

_K = MLIRTokenKind
_EXPRESSION = {_K.INTEGER_LIT, _K.FLOAT_LIT, _K.BARE_IDENT, _K.PLUS, _K.MINUS, _K.STAR, _K.L_PAREN}
_INT = re.compile(r"-?\s*\d+\Z")
_FLOAT = re.compile(r"-?\s*(\d+\.\d*([eE][-+]?\d+)?|\d+[eE][-+]?\d+|nan|inf)\Z")
_NAME = re.compile(r"[A-Za-z_$.-][\w$.-]*\Z")
_WORDS = {"floordiv": "//", "mod": "%"}


class MoLexer(MLIRLexer):
    """xDSL's lexer, with a string pattern that cannot backtrack: theirs takes exponential time on an open quote."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


class MoParser(Parser):
    """Reads modules of mo graphs: custom forms only, no forward references, SSA names kept as node names."""

    def __init__(self, text: str, filename: str) -> None:
        super().__init__(make_context(), "", filename)
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
        return DictionaryAttr(_encoded(self, _parse_entries(self), span))

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


def make_context() -> Context:
    """A context that knows the builtin and mo dialects."""
    from compiler.dialects.mo import Mo

    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(Mo)
    return context


def parse_module(text: str, filename: str = "<text>") -> tuple[ModuleOp, dict[Operation, Span]]:
    """Read a module; also where each op was read. Raises what xDSL raises: `importers.mlir_text` gives user errors."""
    parser = MoParser(text, filename)
    return parser.parse_module(), parser.spans


def _read_size(parser: AttrParser, text: str, span: Span) -> Size:
    for word, sign in _WORDS.items():
        text = re.sub(rf"\b{word}\b", sign, text)
    try:
        return parse_dim(text)
    except (ParseError, ValueError, OverflowError) as error:
        parser.raise_error(getattr(error, "message", str(error)), span)


def _expression(parser: AttrParser) -> tuple[str, Span]:
    """The text of a size or number: everything up to a comma or closing bracket outside its parentheses."""
    start = end = parser._current_token.span  # type: ignore[reportPrivateUsage]
    depth = count = 0
    while True:
        token = parser._current_token  # type: ignore[reportPrivateUsage]
        if token.kind is _K.L_PAREN:
            depth += 1
        elif token.kind is _K.R_PAREN and depth:
            depth -= 1
        elif not (token.kind in _EXPRESSION or (token.kind is _K.COMMA and depth)):
            break
        end, count = token.span, count + 1
        parser._consume_token()  # type: ignore[reportPrivateUsage]
    if not count:
        parser.raise_error("a number or a size expected")
    span = Span(start.start, end.end, start.input)
    return span.text, span


def parse_size(parser: AttrParser) -> Size:
    """A size: a number, a name or an expression such as `(H - 3) floordiv 2 + 1`."""
    text, span = _expression(parser)
    size = _read_size(parser, text, span)
    try:
        return as_size(size)
    except GraphError as error:
        parser.raise_error(error.message, span)


def parse_shape(parser: AttrParser) -> Shape:
    """`[M, 512]`."""
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_size(parser)))


def parse_dtype(parser: AttrParser) -> str:
    """A dtype as MLIR spells it: f32, i1, ui8."""
    token = parser._current_token  # type: ignore[reportPrivateUsage]
    dtype = dtype_from_mlir(token.text)
    if dtype is None:
        parser.raise_error(f"a dtype expected: {' '.join(i.mlir for i in DTYPES.values())}")
    parser._consume_token()  # type: ignore[reportPrivateUsage]
    return dtype


def parse_shaped(parser: AttrParser) -> tuple[str, Shape]:
    """`<[M, 512], f32>`."""
    with parser.in_angle_brackets():
        shape = parse_shape(parser)
        parser.parse_punctuation(",")
        return parse_dtype(parser), shape


def parse_dims_attr(parser: AttrParser) -> tuple[Shape, bool]:
    """`<[M, 512]>` or `<M>`."""
    with parser.in_angle_brackets():
        value = parse_value(parser)
        if isinstance(value, Dim):
            return (value,), True
        if isinstance(value, tuple) and all(isinstance(v, (int, Dim)) and not isinstance(v, bool) for v in value):
            return value, False
        parser.raise_error("a list of sizes expected")


def parse_array(parser: AttrParser) -> tuple[np.ndarray]:
    """`<[2], f32, [1.0, 2.0]>` or `<[2], f32, "0x...">`."""
    with parser.in_angle_brackets():
        span = parser._current_token.span  # type: ignore[reportPrivateUsage]
        shape = parse_shape(parser)
        parser.parse_punctuation(",")
        dtype = parse_dtype(parser)
        parser.parse_punctuation(",")
        if not all(isinstance(s, int) for s in shape):
            parser.raise_error("an array has no symbolic sizes", span)
        count: Any = 1
        for size in shape:
            count *= size
        span = parser._current_token.span  # type: ignore[reportPrivateUsage]
        if (digits := parser.parse_optional_str_literal()) is not None:
            return (_bytes_array(parser, digits, dtype, shape, count, span),)
        values = parse_value(parser)
        if not isinstance(values, tuple) or len(values) != count:
            parser.raise_error(f"a list of {count} numbers expected", span)
        return (_numbers_array(parser, values, dtype, shape, span),)


def _bytes_array(parser: AttrParser, digits: str, dtype: str, shape: Any, count: int, span: Span) -> np.ndarray:
    if not digits.startswith("0x") or len(digits) - 2 != 2 * count * dtype_info(dtype).bytes:
        parser.raise_error(f'the hex of {count} {dtype} expected: "0x..."', span)
    try:
        return array_from_bytes(bytes.fromhex(digits[2:]), dtype, shape)
    except ValueError:
        parser.raise_error("not hex digits", span)


def _numbers_array(parser: AttrParser, values: tuple[Any, ...], dtype: str, shape: Any, span: Span) -> np.ndarray:
    kind = DTYPES[dtype].kind
    for value in values:
        wanted = bool if kind == "b" else int if kind in "iu" else (int, float)
        if not isinstance(value, wanted) or isinstance(value, bool) != (kind == "b"):
            parser.raise_error(f"{value!r} is not a {dtype}", span)
    try:
        return np.array(values, dtype=numpy_dtype(dtype)).reshape(shape)
    except (OverflowError, ValueError):
        parser.raise_error(f"a number does not fit in {dtype}", span)


def parse_value(parser: AttrParser) -> Any:
    """An attribute's value as plain Python: number, string, size, bool, list of these, or a dialect attribute."""
    token = parser._current_token  # type: ignore[reportPrivateUsage]
    if token.kind is _K.L_SQUARE:
        return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_value(parser)))
    if token.kind in (_K.STRING_LIT, _K.BYTES_LIT):
        return parse_string(parser)
    if token.kind in (_K.HASH_IDENT, _K.EXCLAMATION_IDENT):
        return parser.parse_attribute() if token.kind is _K.HASH_IDENT else parser.parse_type()
    text, span = _expression(parser)
    if text in ("true", "false"):
        return text == "true"
    try:
        if _INT.match(text):
            return int(text.replace(" ", ""))
        if _FLOAT.match(text):
            return float(text.replace(" ", ""))
    except ValueError as error:
        parser.raise_error(str(error), span)
    return _read_size(parser, text, span)


def parse_string(parser: AttrParser) -> str:
    """A string literal; escapes that make UTF-8 are read as UTF-8."""
    token = parser._current_token  # type: ignore[reportPrivateUsage]
    if token.kind is _K.STRING_LIT:
        return parser.parse_str_literal()
    try:
        text = token.span.bytes_contents.decode()  # type: ignore[attr-defined]
    except UnicodeDecodeError:
        parser.raise_error("the string is not UTF-8")
    parser._consume_token()  # type: ignore[reportPrivateUsage]
    return text


def _parse_entries(parser: Parser) -> dict[str, Any]:
    """`{axis = 1, eps = 1.0e-05}`, or nothing."""
    entries: dict[str, Any] = {}

    def entry() -> None:
        span = parser._current_token.span  # type: ignore[reportPrivateUsage]
        if parser._current_token.kind is _K.BYTES_LIT:  # type: ignore[reportPrivateUsage]
            name = parse_string(parser)
        else:
            name = parser.expect(parser.parse_optional_identifier_or_str_literal, "an attribute name expected")
        if name in entries:
            parser.raise_error(f"attribute {name!r} is given twice", span)
        parser.parse_punctuation("=")
        entries[name] = parse_value(parser)

    parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, entry)
    return entries


def _encoded(parser: Parser, entries: dict[str, Any], span: Span) -> dict[str, Attribute]:
    try:
        return {name: encode(value) for name, value in entries.items()}
    except GraphError as error:
        parser.raise_error(error.message, span)


def parse_op(cls: type[MoOp], parser: Parser) -> MoOp:
    """`(%x, %y) {axis = 1} : (T, T) -> T`."""
    operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    span = parser._current_token.span  # type: ignore[reportPrivateUsage]
    entries = _parse_entries(parser)
    for name, value in entries.items():
        if isinstance(value, int) and not isinstance(value, bool) and cls.spec.attrs.get(name, "").startswith("float"):
            try:
                entries[name] = float(value)
            except OverflowError as error:
                parser.raise_error(str(error), span)
    properties = _encoded(parser, entries, span)
    attributes: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("attributes") is not None:
        attributes = _encoded(parser, _parse_entries(parser), span)
    parser.parse_punctuation(":")
    position = parser.pos
    inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    parser.parse_punctuation("->")
    outputs = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_result_type(parser))
    if outputs is None:
        outputs = [_parse_result_type(parser)]
    return cls.create(
        operands=parser.resolve_operands(operands, inputs, position),
        result_types=outputs,
        properties=properties,
        attributes=attributes,
    )


def _parse_result_type(parser: Parser) -> Attribute:
    span = parser._current_token.span  # type: ignore[reportPrivateUsage]
    type = parser.parse_type()
    if not isinstance(type, Type):
        parser.raise_error(f"an mo type expected, not {type}", span)
    return type


def parse_output(parser: Parser) -> OutputOp:
    """` %a, %b : T, T`."""
    operands = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    if not operands:
        return OutputOp.create()
    parser.parse_punctuation(":")
    position = parser.pos
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    return OutputOp.create(operands=parser.resolve_operands(operands, types, position))


def parse_graph_op(parser: Parser) -> GraphOp:
    """` @name(%x: T) -> (T) { ... }`."""
    name = parser.parse_symbol_name()
    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
    declared: list[Attribute] = []
    span = parser._current_token.span  # type: ignore[reportPrivateUsage]
    if parser.parse_optional_punctuation("->") is not None:
        declared = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    region: Region = parser.parse_region(arguments)
    op = GraphOp.create(properties={"sym_name": StringAttr(name.data)}, regions=[region])
    given = [o.type for o in op.output.operands] if len(region.blocks) == 1 and op.output is not None else []
    if given != declared:
        parser.raise_error("the declared result types are not those of mo.output", span)
    return op


def _parse_argument(parser: Parser) -> Parser.Argument:
    argument = parser.parse_argument()
    if not isinstance(argument.type, Type):
        parser.raise_error(f"an mo type expected, not {argument.type}", argument.name)
    return argument


__all__ = ["MoParser", "parse_module", "parse_shape", "parse_value"]
