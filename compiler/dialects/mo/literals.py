"""How sizes, dtypes, arrays and the values of attributes are read from mo text; `graph.literals` writes them."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from typing import Any

import numpy as np
from xdsl.parser import AttrParser
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from compiler.constants.digests import find_array
from compiler.errors import GraphError, ParseError
from compiler.graph.dim_text import parse_dim
from compiler.graph.dims import Dim
from compiler.graph.dtypes import DTYPES, dtype_info, numpy_dtype
from compiler.graph.literals import DIGEST, array_from_bytes
from compiler.graph.types import Shape, Size, as_size, dtype_from_mlir

_K = MLIRTokenKind
_EXPRESSION = {_K.INTEGER_LIT, _K.FLOAT_LIT, _K.BARE_IDENT, _K.PLUS, _K.MINUS, _K.STAR, _K.L_PAREN}
_INT = re.compile(r"-?\s*\d+\Z")
_FLOAT = re.compile(r"-?\s*(\d+\.\d*([eE][-+]?\d+)?|\d+[eE][-+]?\d+|nan|inf)\Z")
_WORDS = {"floordiv": "//", "mod": "%"}


def _read_size(parser: AttrParser, text: str, span: Span) -> Size:
    for word, sign in _WORDS.items():
        text = re.sub(rf"\b{word}\b", sign, text)
    try:
        return parse_dim(text)
    except (ParseError, ValueError, OverflowError) as error:
        parser.raise_error(getattr(error, "message", str(error)), span)


def _expression(parser: AttrParser) -> tuple[str, Span]:
    """The text of a size or number: everything up to a comma or closing bracket outside its parentheses."""
    start = end = parser._current_token.span
    depth = count = 0
    while True:
        token = parser._current_token
        if token.kind is _K.L_PAREN:
            depth += 1
        elif token.kind is _K.R_PAREN and depth:
            depth -= 1
        elif not (token.kind in _EXPRESSION or (token.kind is _K.COMMA and depth)):
            break
        end, count = token.span, count + 1
        parser._consume_token()
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
    token = parser._current_token
    dtype = dtype_from_mlir(token.text)
    if dtype is None:
        parser.raise_error(f"a dtype expected: {' '.join(i.mlir for i in DTYPES.values())}")
    parser._consume_token()
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
    """`<[2], f32, [1.0, 2.0]>`, `<[2], f32, "0x...">`, or a digest that names an array in a file."""
    with parser.in_angle_brackets():
        span = parser._current_token.span
        shape = parse_shape(parser)
        parser.parse_punctuation(",")
        dtype = parse_dtype(parser)
        parser.parse_punctuation(",")
        if not all(isinstance(s, int) for s in shape):
            parser.raise_error("an array has no symbolic sizes", span)
        count: Any = 1
        for size in shape:
            count *= size
        span = parser._current_token.span
        if (digits := parser.parse_optional_str_literal()) is not None:
            if digits.startswith(DIGEST):
                return (_named_array(parser, digits, dtype, shape, span),)
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


def _named_array(parser: AttrParser, name: str, dtype: str, shape: Any, span: Span) -> np.ndarray:
    found = find_array(name.removeprefix(DIGEST), numpy_dtype(dtype), shape)
    if found is None:
        parser.raise_error(f"the weights {name} are in no file that this machine has seen and still has", span)
    return found


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
    token = parser._current_token
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
    token = parser._current_token
    if token.kind is _K.STRING_LIT:
        return parser.parse_str_literal()
    try:
        text = token.span.bytes_contents.decode()  # type: ignore[attr-defined]
    except UnicodeDecodeError:
        parser.raise_error("the string is not UTF-8")
    parser._consume_token()
    return text


def parse_entries(parser: AttrParser) -> dict[str, Any]:
    """`{axis = 1, eps = 1.0e-05}`, or nothing."""
    entries: dict[str, Any] = {}

    def entry() -> None:
        span = parser._current_token.span
        if parser._current_token.kind is _K.BYTES_LIT:
            name = parse_string(parser)
        else:
            name = parser.expect(parser.parse_optional_identifier_or_str_literal, "an attribute name expected")
        if name in entries:
            parser.raise_error(f"attribute {name!r} is given twice", span)
        parser.parse_punctuation("=")
        entries[name] = parse_value(parser)

    parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, entry)
    return entries
