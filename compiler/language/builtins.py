"""Functions every kernel knows without importing them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from xdsl.dialects import arith, llvm, vector
from xdsl.dialects import math as mlir_math
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, VectorType, i32, i64
from xdsl.ir import Operation

from compiler.dialects import kgen
from compiler.errors import KernelError
from compiler.graph.dims import Dim, ceildiv
from compiler.language import arithmetic as math
from compiler.language import memory
from compiler.language.dtypes import INDEX, element_type, register_type
from compiler.language.indexing import position_of
from compiler.language.loadables import FusedInput, FusedOutput, Tensor, row_major
from compiler.language.methods import to_dtype, to_shape
from compiler.language.values import Position, RuntimeRange, Simd, Unroll

if TYPE_CHECKING:
    from compiler.language.interpreter import Interpreter


@dataclass(frozen=True, eq=False)
class Builtin:
    """A built-in function and how many arguments it takes (None: any number)."""

    name: str
    body: Callable[..., Any]
    count: tuple[int, ...] | None
    keywords: frozenset[str] = frozenset()

    def run(self, run: Interpreter, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call it."""
        if self.count is not None and len(args) not in self.count:
            raise KernelError(f"{self.name} takes {' or '.join(map(str, self.count))} arguments, not {len(args)}")
        unknown = set(kwargs) - self.keywords
        if unknown:
            raise KernelError(f"{self.name} has no parameter {', '.join(sorted(unknown))}")
        return self.body(run, *args, **kwargs)


BUILTINS: dict[str, Builtin | Any] = {}


def _builtin(name: str, *count: int, keywords: str = "", any_count: bool = False) -> Callable[[Any], Any]:
    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        BUILTINS[name] = Builtin(name, body, None if any_count else count, frozenset(keywords.split()))
        return body

    return register


def _value(name: str, value: Any) -> Simd:
    if not isinstance(value, Simd):
        raise KernelError(f"{name} needs a run-time value, not {math.describe(value)}")
    return value


def _float_op(name: str, kind: type[Operation]) -> None:
    def body(run: Interpreter, value: Any) -> Simd:
        x = _value(name, value)
        if not x.dtype.is_float:
            raise KernelError(f"{name} is for floats, not {x.type_name}")
        return Simd(run.b.pure(kind, (x.ssa,), x.ssa.type), x.dtype, x.width)

    BUILTINS[name] = Builtin(name, body, (1,))


def _integer_op(name: str, kind: type[Operation]) -> None:
    def body(run: Interpreter, value: Any) -> Simd:
        x = _value(name, value)
        if x.dtype.kind not in "iu":
            raise KernelError(f"{name} is for integers, not {x.type_name}")
        return Simd(run.b.pure(kind, (x.ssa,), x.ssa.type), x.dtype, x.width)

    BUILTINS[name] = Builtin(name, body, (1,))


for _name, _kind in (("sqrt", mlir_math.SqrtOp), ("floor", mlir_math.FloorOp), ("ceil", mlir_math.CeilOp),
                     ("trunc", mlir_math.TruncOp), ("roundeven", mlir_math.RoundEvenOp)):  # fmt: skip
    _float_op(_name, _kind)
for _name, _kind in (("ctlz", mlir_math.CountLeadingZerosOp), ("cttz", mlir_math.CountTrailingZerosOp),
                     ("popcount", mlir_math.CtPopOp)):  # fmt: skip
    _integer_op(_name, _kind)


def _fold(name: str) -> None:
    def body(run: Interpreter, *values: Any) -> Any:
        items = list(values[0]) if len(values) == 1 and isinstance(values[0], (tuple, list)) else list(values)
        if not items:
            raise KernelError(f"{name} of nothing")
        result = items[0]
        for item in items[1:]:
            result = math.extremum(run.b, name, result, item)
        return result

    BUILTINS[name] = Builtin(name, body, None)


for _name in ("min", "max", "fmin", "fmax"):
    _fold(_name)


@_builtin("abs", 1)
def _abs(run: Interpreter, value: Any) -> Any:
    if not isinstance(value, Simd):
        return abs(value)
    if value.dtype.is_float:
        return Simd(run.b.pure(mlir_math.AbsFOp, (value.ssa,), value.ssa.type), value.dtype, value.width)
    if value.dtype.kind in "ub":
        return value
    negative = math.binary(run.b, "<", value, 0)
    return math.select(run.b, negative, math.unary(run.b, "-", value), value)


@_builtin("copysign", 2)
def _copysign(run: Interpreter, size: Any, sign: Any) -> Simd:
    one, two = math.unify(run.b, size, sign, "copysign")
    return Simd(run.b.pure(mlir_math.CopySignOp, (one.ssa, two.ssa), one.ssa.type), one.dtype, one.width)


def _three(run: Interpreter, name: str, a: Any, x: Any, c: Any) -> tuple[Simd, Simd, Simd]:
    values = [a, x, c]
    like = next((v for v in values if isinstance(v, Simd)), None)
    if like is None:
        raise KernelError(f"{name} needs a run-time value")
    width = max(v.width for v in values if isinstance(v, Simd))
    ready = []
    for value in values:
        part = value if isinstance(value, Simd) else math.literal(run.b, value, like.dtype, width)
        if part.dtype is not like.dtype:
            raise KernelError(f"{name}: {part.type_name} and {like.type_name} do not mix")
        ready.append(math.splat(run.b, part, width))
    return ready[0], ready[1], ready[2]


@_builtin("fma", 3)
def _fma(run: Interpreter, a: Any, x: Any, c: Any) -> Any:
    one, two, three = _three(run, "fma", a, x, c)
    if not one.dtype.is_float:
        return math.binary(run.b, "+", math.binary(run.b, "*", one, two), three)
    ssa = run.b.pure(mlir_math.FmaOp, (one.ssa, two.ssa, three.ssa), one.ssa.type)
    return Simd(ssa, one.dtype, one.width)


BUILTINS["muladd"] = Builtin("muladd", _fma, (3,))  # every target we have fuses it


@_builtin("select", 3)
def _select(run: Interpreter, condition: Any, left: Any, right: Any) -> Any:
    return math.select(run.b, condition, left, right)


@_builtin("splat", 1, 2, keywords="width")
def _splat(run: Interpreter, value: Any, width: int) -> Simd:
    return math.splat(run.b, _value("splat", value), _width(width))


def _width(width: Any) -> int:
    if isinstance(width, bool) or not isinstance(width, int) or not 1 <= width <= 4096:
        raise KernelError("a width is a compile-time number from 1 to 4096")
    return width


@_builtin("zeros", 1, 2)
def _zeros(run: Interpreter, dtype: Any, width: int = 1) -> Simd:
    return math.literal(run.b, 0, to_dtype(dtype), _width(width))


@_builtin("full", 2, 3)
def _full(run: Interpreter, dtype: Any, value: Any, width: int = 1) -> Simd:
    return math.literal(run.b, value, to_dtype(dtype), _width(width))


@_builtin("iota", 2)
def _iota(run: Interpreter, dtype: Any, width: int) -> Simd:
    kind = to_dtype(dtype)
    lanes = tuple(float(k) if kind.is_float else k for k in range(_width(width)))
    return run.b.constant(kind, width, lanes if width > 1 else lanes[0])


@_builtin("vector", any_count=True)
def _vector(run: Interpreter, *items: Any) -> Simd:
    if len(items) == 1 and isinstance(items[0], (tuple, list)):
        items = tuple(items[0])
    like = next((v for v in items if isinstance(v, Simd)), None)
    if like is None:
        raise KernelError("vector needs at least one run-time value")
    return memory.pack(run.b, [v if isinstance(v, Simd) else math.literal(run.b, v, like.dtype) for v in items])


@_builtin("concat", 2)
def _concat(run: Interpreter, one: Any, two: Any) -> Simd:
    a, c = _value("concat", one), _value("concat", two)
    if a.width == 1 and c.width == 1:
        return memory.pack(run.b, [a, c])
    if a.width == 1 or c.width == 1:
        parts = [memory.extract(run.b, v, k) for v in (a, c) for k in range(v.width)]
        return memory.pack(run.b, parts)
    return memory.shuffle(run.b, a, c, tuple(range(a.width + c.width)))


@_builtin("shuffle", 3)
def _shuffle(run: Interpreter, one: Any, two: Any, order: Any) -> Simd:
    return memory.shuffle(run.b, _value("shuffle", one), _value("shuffle", two), tuple(order))


@_builtin("lshr", 2)
def _lshr(run: Interpreter, value: Any, distance: Any) -> Simd:
    one, two = math.unify(run.b, value, distance, "lshr")
    return Simd(run.b.pure(arith.ShRUIOp, (one.ssa, two.ssa), one.ssa.type), one.dtype, one.width)


@_builtin("umulh", 2)
def _umulh(run: Interpreter, one: Any, two: Any) -> Simd:
    a, c = math.unify(run.b, one, two, "umulh")
    if a.dtype.kind not in "iu":
        raise KernelError(f"umulh is for integers, not {a.type_name}")
    from compiler.language.wide import high_half

    return high_half(run.b, a, c)


# Compile-time things


@_builtin("range", 1, 2, 3)
def _range(run: Interpreter, *bounds: Any) -> RuntimeRange:
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    if step == 0:
        raise KernelError("the step of a range cannot be 0")
    for bound in (start, stop, step):
        if isinstance(bound, float) or isinstance(bound, (str, tuple, list)) or bound is None:
            raise KernelError(f"{math.describe(bound)} cannot bound a range")
    return RuntimeRange(start, stop, step)


@_builtin("unroll", 1, 2, 3)
def _unroll(run: Interpreter, *bounds: Any) -> Unroll:
    if len(bounds) == 1 and isinstance(bounds[0], (tuple, list)):
        return Unroll(tuple(bounds[0]))
    if len(bounds) == 1 and isinstance(bounds[0], Unroll):
        return bounds[0]
    if not all(isinstance(bound, int) for bound in bounds) or (len(bounds) == 3 and bounds[2] == 0):
        raise KernelError("unroll needs compile-time whole numbers")
    values = range(*bounds)  # pyright: ignore[reportArgumentType]
    if len(values) > 65536:
        raise KernelError(f"unrolling {len(values)} times is too much; use range")
    return Unroll(tuple(values))


def _items(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Unroll):
        return value.values
    if isinstance(value, RuntimeRange) and all(isinstance(v, int) for v in (value.start, value.stop, value.step)):
        return tuple(range(value.start, value.stop, value.step))
    if isinstance(value, (tuple, list)):
        return tuple(value)
    raise KernelError(f"{math.describe(value)} is not a compile-time sequence")


@_builtin("len", 1)
def _len(run: Interpreter, value: Any) -> int:
    return len(value.index) if isinstance(value, Position) else len(_items(value))


@_builtin("tuple", 1)
def _tuple(run: Interpreter, value: Any) -> tuple[Any, ...]:
    return _items(value)


@_builtin("list", 1)
def _list(run: Interpreter, value: Any) -> list[Any]:
    return list(_items(value))


@_builtin("zip", any_count=True)
def _zip(run: Interpreter, *values: Any) -> Unroll:
    return Unroll(tuple(zip(*(_items(value) for value in values), strict=False)))


@_builtin("enumerate", 1)
def _enumerate(run: Interpreter, value: Any) -> Unroll:
    return Unroll(tuple(enumerate(_items(value))))


@_builtin("reversed", 1)
def _reversed(run: Interpreter, value: Any) -> tuple[Any, ...]:
    return tuple(reversed(_items(value)))


@_builtin("sorted", 1)
def _sorted(run: Interpreter, value: Any) -> tuple[Any, ...]:
    items = _items(value)
    if not all(isinstance(item, (int, float)) for item in items):
        raise KernelError("sorted needs compile-time numbers")
    return tuple(sorted(items))


@_builtin("sum", 1)
def _sum(run: Interpreter, value: Any) -> Any:
    total: Any = 0
    for item in _items(value):
        total = math.binary(run.b, "+", total, item)
    return total


@_builtin("any", 1)
def _any(run: Interpreter, value: Any) -> bool:
    return any(math.truth(item) for item in _items(value))


@_builtin("all", 1)
def _all(run: Interpreter, value: Any) -> bool:
    return all(math.truth(item) for item in _items(value))


@_builtin("int", 1)
def _int(run: Interpreter, value: Any) -> Any:
    if isinstance(value, (int, float)) and value == value and abs(value) != float("inf"):
        return int(value)
    if isinstance(value, Dim):
        return value
    raise KernelError(f"int() is for compile-time numbers, not {math.describe(value)}; index(x) converts at run time")


@_builtin("float", 1)
def _float(run: Interpreter, value: Any) -> float:
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        try:
            return float.fromhex(value) if "x" in value else float(value)
        except ValueError:
            raise KernelError(f"{value!r} is not a number") from None
    raise KernelError(f"float() is for compile-time numbers, not {math.describe(value)}; f32(x) converts at run time")


@_builtin("str", 1)
def _str(run: Interpreter, value: Any) -> str:
    return str(value)


@_builtin("ceildiv", 2)
def _ceildiv(run: Interpreter, one: Any, two: Any) -> Any:
    if isinstance(one, (int, Dim)) and isinstance(two, int) and not isinstance(one, Simd):
        if two <= 0:
            raise KernelError("ceildiv needs a positive divisor")
        return ceildiv(one, two)
    more = math.binary(run.b, "+", one, math.binary(run.b, "-", two, 1))
    if isinstance(more, Simd) and more.dtype.kind == "x":
        run.b.nonnegative.add(more.ssa)  # sizes: the division need not look at signs
        if isinstance(two, Simd):
            run.b.nonnegative.add(two.ssa)
    return math.binary(run.b, "//", more, two)


@_builtin("static", 1)
def _static(run: Interpreter, value: Any) -> bool:
    return math.is_static(value) and not _symbolic(value)


def _symbolic(value: Any) -> bool:
    return isinstance(value, Dim) or (isinstance(value, (tuple, list)) and any(_symbolic(item) for item in value))


BUILTINS["is_static"] = Builtin("is_static", _static, (1,))


@_builtin("error", 1)
def _error(run: Interpreter, message: Any) -> None:
    raise KernelError(str(message))


# Memory, threads, raw instructions


@_builtin("stack", 2)
def _stack(run: Interpreter, dtype: Any, shape: Any) -> Tensor:
    kind, sizes = to_dtype(dtype), to_shape(shape)
    count = 1
    for size in sizes:
        if not isinstance(size, int):
            raise KernelError("stack needs compile-time sizes")
        count *= size
    if not 0 <= count * kind.bytes <= 4 << 20:
        raise KernelError(f"a stack array of {count * kind.bytes} bytes is too large (4 MiB at most)")
    return Tensor(memory.allocate(run.b, kind, max(count, 1)), kind, sizes, row_major(sizes))


@_builtin("strided", 4)
def _strided(run: Interpreter, row: Any, shape: Any, strides: Any, offset: Any) -> Tensor:
    """Another look at a flat buffer; sizes, strides and the offset may be run-time values."""
    if not isinstance(row, Tensor) or row.strides != (1,) or row.offset != 0:
        raise KernelError("strided needs a whole flat buffer, as .flat gives it")
    if not isinstance(shape, (tuple, list)) or not isinstance(strides, (tuple, list)) or len(shape) != len(strides):
        raise KernelError("strided needs a size and a stride for each axis")
    for part in (*shape, *strides, offset):
        math.as_index(run.b, part)  # whole numbers, known or not
    return Tensor(row.buffer, row.dtype, tuple(shape), tuple(strides), offset)


@_builtin("shared", 2)
def _shared(run: Interpreter, dtype: Any, shape: Any) -> Tensor:
    kind, sizes = to_dtype(dtype), to_shape(shape)
    if not all(isinstance(size, int) for size in sizes):
        raise KernelError("shared needs compile-time sizes")
    return Tensor(run.host.shared(run, kind, sizes), kind, sizes, row_major(sizes))


def _thread(name: str) -> None:
    def body(run: Interpreter, axis: int = 0) -> Simd:
        properties = {"what": StringAttr(name), "axis": IntegerAttr(axis, i64)}
        ssa = run.b.pure(kgen.ThreadOp, (), element_type(INDEX), properties, key=(name, axis))
        run.b.nonnegative.add(ssa)
        return Simd(ssa, INDEX, 1)

    BUILTINS[name] = Builtin(name, body, (0, 1), frozenset({"axis"}))


for _name in ("thread_index", "thread_count", "block_index", "block_count"):
    _thread(_name)


@_builtin("barrier", 0)
def _barrier(run: Interpreter) -> None:
    run.b.emit(kgen.BarrierOp, (), ())


@_builtin("launch", 0, keywords="blocks threads")
def _launch(run: Interpreter, blocks: Any, threads: Any) -> None:
    run.host.launch(blocks, threads)


@_builtin("position", 1, keywords="width axis")
def _position(run: Interpreter, index: Any, width: int = 1, axis: int | None = None) -> Position:
    return position_of(len(index), tuple(index), _width(width), axis)


@_builtin("FusedInput", 3)
def _fused_input(run: Interpreter, function: Any, dtype: Any, shape: Any) -> FusedInput:
    return FusedInput(lambda inner, at: inner.call(function, [at]), to_dtype(dtype), to_shape(shape))


@_builtin("FusedOutput", 3)
def _fused_output(run: Interpreter, function: Any, dtype: Any, shape: Any) -> FusedOutput:
    def put(inner: Interpreter, at: Position, value: Simd) -> None:
        inner.call(function, [at, value])

    return FusedOutput(put, to_dtype(dtype), to_shape(shape))


@_builtin("intrinsic", any_count=True, keywords="results")
def _intrinsic(run: Interpreter, name: Any, dtype: Any, width: Any, *args: Any, results: Any = 1) -> Any:
    if not isinstance(name, str) or not name.startswith("llvm."):
        raise KernelError("intrinsic needs a name that starts with 'llvm.'")
    operands = tuple(_raw(run, value) for value in args)
    properties = {
        "intrin": StringAttr(name),
        "op_bundle_sizes": DenseArrayBase.from_list(i32, ()),
        "operandSegmentSizes": DenseArrayBase.from_list(i32, (len(operands), 0)),
    }
    types = _result_types(dtype, width, results)
    operation = run.b.emit(llvm.CallIntrinsicOp, operands, types, properties)
    return _results(run, operation, dtype, width, results)


@_builtin("asm", any_count=True, keywords="results")
def _asm(run: Interpreter, text: Any, constraints: Any, dtype: Any, width: Any, *args: Any, results: Any = 1) -> Any:
    if not isinstance(text, str) or not isinstance(constraints, str):
        raise KernelError("asm needs a text and its constraints")
    operands = tuple(_raw(run, value) for value in args)
    types = _result_types(dtype, width, results)
    template = llvm.InlineAsmOp(text, constraints, [], list(types), has_side_effects=True)
    operation = run.b.emit(llvm.InlineAsmOp, operands, types, dict(template.properties))
    return _results(run, operation, dtype, width, results)


def _result_types(dtype: Any, width: Any, results: Any) -> tuple[Any, ...]:
    """What a raw instruction gives: nothing, one value, or several of one type in a struct."""
    if not isinstance(results, int) or isinstance(results, bool) or not 1 <= results <= 256:
        raise KernelError("results is a compile-time number from 1 to 256")
    if dtype is None:
        return ()
    kind = register_type(to_dtype(dtype), _width(width))
    return (kind,) if results == 1 else (llvm.LLVMStructType.from_type_list([kind] * results),)


def _results(run: Interpreter, operation: Operation, dtype: Any, width: int, results: int) -> Any:
    if dtype is None:
        return None
    kind = to_dtype(dtype)
    if results == 1:
        return Simd(operation.results[0], kind, width)
    values = []
    for number in range(results):
        position = {"position": DenseArrayBase.from_list(i64, [number])}
        part = run.b.emit(llvm.ExtractValueOp, (operation.results[0],), (register_type(kind, width),), position)
        values.append(Simd(part.results[0], kind, width))
    return tuple(values)


@_builtin("word", 2)
def _word(run: Interpreter, value: Any, dtype: Any) -> Simd:
    """All lanes of a value as the bits of one number of `dtype`."""
    x, kind = _value("word", value), to_dtype(dtype)
    if x.dtype.bits * x.width != kind.bits or x.width == 1:
        raise KernelError(f"word: {x.type_name} does not fill one {kind.name}")
    whole = VectorType(element_type(kind), [1])
    ssa = run.b.pure(vector.BitcastOp, (x.ssa,), _shared_type(whole), key=("word", kind))
    position = {"static_position": DenseArrayBase.from_list(i64, [0])}
    return Simd(run.b.pure(vector.ExtractOp, (ssa,), element_type(kind), position, key=0), kind, 1)


@lru_cache(maxsize=64)
def _shared_type(kind: Any) -> Any:
    """One object for equal types: the builder tells types apart by identity."""
    return kind


def _raw(run: Interpreter, value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.buffer
    if isinstance(value, (int, Dim)) and not isinstance(value, bool):
        return math.as_index(run.b, value).ssa
    return _value("a raw instruction", value).ssa
