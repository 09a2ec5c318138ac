"""func: definitions, calls, returns. A `kg.inline` helper is expanded where it is called; the others are functions.

What the emitter reads from a function:
- `kg.kernel` (unit): an entry point. `kg.inline` (unit): expand at call sites. `kg.threads` (integer): block size.
  `kg.per_processor` (integer): blocks that a multiprocessor shall have registers for. `kg.cluster` (integer): blocks of
  a cluster.
- per argument, in `arg_attrs`: `kg.noalias` (no other argument reaches this buffer) and `kg.readonly` (nobody writes it
  while the kernel runs).
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType
from xdsl.ir import Attribute, Operation

from compiler.lowering.emitter import Emitter
from compiler.lowering.llvm_types import pointer, symbol

BARRIER = "kg_barrier"


def callee_name(op: Operation) -> str:
    """The symbol a func.call names."""
    return op.properties["callee"].string_value()  # pyright: ignore[reportAttributeAccessIssue]


def _call(e: Emitter, op: func.CallOp) -> None:
    name = callee_name(op)
    function = e.functions.get(name)
    if function is not None and "kg.inline" in function.attributes:
        _expand(e, op, name, function)
        return
    results = op.results
    kind = result_type(e, [result._type for result in results])
    if function is None or function.body._first_block is None:
        e.declare(symbol(name), kind, ", ".join(e.type(value._type) for value in op._operands))
        e.has_barrier |= name == BARRIER
    elif name not in e.calls:
        e.calls.add(name)
        if name not in e.called:
            e.called.append(name)
    call = f"call {kind} {symbol(name)}({e.args(op._operands)})"
    if not results:
        e.lines.append(f"  {call}")
    elif len(results) == 1:
        e.lines.append(f"  {e.define(results[0], 'call')} = {call}")
    else:
        whole = "%" + e.fresh("call")
        e.lines.append(f"  {whole} = {call}")
        for position, result in enumerate(results):
            e.lines.append(f"  {e.define(result, 'call')} = extractvalue {kind} {whole}, {position}")


def result_type(e: Emitter, types: Sequence[Attribute]) -> str:
    """What a function with these results returns."""
    if not types:
        return "void"
    if len(types) == 1:
        return e.type(types[0])
    return "{ " + ", ".join(e.type(kind) for kind in types) + " }"


def _expand(e: Emitter, op: func.CallOp, name: str, function: func.FuncOp) -> None:
    if name in e.inlining:
        raise e.fail(op, f"{name} is marked kg.inline and calls itself: {' -> '.join([*e.inlining, name])}")
    body = function.body._first_block
    if body is None:
        raise e.fail(op, f"{name} is marked kg.inline and has no body")
    names = e.names
    for parameter, value in zip(body._args, op._operands):
        names[id(parameter)] = names[id(value)]
    e.inlining.append(name)
    previous = e.locations.enter_call(e.here)
    e.block(body)
    e.locations.leave_call(previous)
    e.inlining.pop()
    for result, value in zip(op.results, e.yielded):
        names[id(result)] = value


def _return(e: Emitter, op: func.ReturnOp) -> None:
    names = e.names
    values = op._operands
    if e.inlining:
        e.yielded = tuple([names[id(value)] for value in values])
        return
    kinds = [value._type for value in values]
    kind = result_type(e, kinds)
    if not kinds:
        e.lines.append("  ret void")
    elif len(kinds) == 1:
        e.lines.append(f"  ret {kind} {names[id(next(iter(values)))]}")
    else:
        whole = "poison"
        for position, value in enumerate(values):
            step = "%" + e.fresh("ret")
            e.lines.append(
                f"  {step} = insertvalue {kind} {whole}, {e.type(value._type)} {names[id(value)]}, {position}"
            )
            whole = step
        e.lines.append(f"  ret {kind} {whole}")


def parameters(e: Emitter, function: func.FuncOp, kernel: bool) -> list[tuple[str, DictionaryAttr | None]]:
    """Name the arguments: (declaration without attributes, argument attributes) of each."""
    body = function.body._first_block
    assert body is not None
    attributes = function.properties.get("arg_attrs")
    listed = attributes.data if isinstance(attributes, ArrayAttr) else ()
    found: list[tuple[str, DictionaryAttr | None]] = []
    for position, value in enumerate(body._args):
        extra = listed[position] if position < len(listed) else None
        name = e.define(value, "arg")
        kind = e.type(value._type)
        home = pointer(e.target.spaces.global_)
        if kernel and isinstance(value._type, MemRefType) and kind == "ptr" != home:
            # Kernels take global pointers; a buffer used as a generic one is cast once, and LLVM sees through it.
            e.entry.append(f"  {name} = addrspacecast {home} {name}.global to ptr")
            kind, name = home, f"{name}.global"
        found.append((f"{kind} {name}", extra if isinstance(extra, DictionaryAttr) else None))
    return found


def parameter_text(declaration: str, extra: DictionaryAttr | None, barrier: bool) -> str:
    """One parameter with its attributes, in a function that does or does not reach a barrier.

    `noalias` promises that no *call* changes the buffer either, and LLVM takes a barrier for such a call: in a kernel
    with barriers only buffers that nobody writes keep it.
    """
    if extra is None:
        return declaration
    words: list[str] = []
    facts = extra.data
    readonly = "kg.readonly" in facts
    if "kg.noalias" in facts and (readonly or not barrier):
        words.append("noalias")
    if readonly:
        words.append("readonly")
    kind, name = declaration.rsplit(" ", 1)
    return " ".join([kind, *words, name])


EMITTERS = {func.CallOp: _call, func.ReturnOp: _return}
