"""kgen: kernels after elaboration. A `kgen.func` is one concrete instance of a generator; what a thread is and how a
call is made are still abstract, so that one text serves CPU and GPU until `lower_kgen` binds them to a target."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import (
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Dialect, Operation, Region
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, Pure, SymbolOpInterface


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A concrete function: the generator it came from and the parameters it was given."""

    name = "kgen.func"
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    generator = prop_def(StringAttr)
    params = opt_prop_def(DictionaryAttr)
    kernel = opt_prop_def(UnitAttr)
    outlined = opt_prop_def(UnitAttr)
    body = region_def()
    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name attr-dict-with-keyword $body"


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Ends a function."""

    name = "kgen.return"
    values = var_operand_def(AnyAttr())
    traits = traits_def(IsTerminator())
    assembly_format = "($values^ `:` type($values))? attr-dict"


@irdl_op_definition
class CallOp(IRDLOperation):
    """Calls another instance."""

    name = "kgen.call"
    callee = prop_def(SymbolRefAttr)
    effects = opt_prop_def(UnitAttr)  # it does more than give values: it stays, even where nobody uses them
    arguments = var_operand_def(AnyAttr())
    values = var_result_def(AnyAttr())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $values)"


@irdl_op_definition
class ThreadOp(IRDLOperation):
    """Which thread this is, how many there are, or the same of blocks: `what` is thread_index, thread_count,
    block_index or block_count."""

    name = "kgen.thread"
    what = prop_def(StringAttr)
    axis = prop_def(IntegerAttr)
    value = result_def(IndexType())
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$what `,` $axis attr-dict"


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All threads of the kernel (CPU) or of the block (GPU) meet here."""

    name = "kgen.barrier"
    assembly_format = "attr-dict"


@irdl_op_definition
class TakePartOp(IRDLOperation):
    """Some of the `items` that this thread does next, from `begin` to `end`; none where these are equal.

    `bytes` is what an item comes to, `before` the begin of what the thread did last, or -1.
    """

    name = "kgen.take_part"
    items = operand_def(IndexType())
    bytes = operand_def(IndexType())
    before = operand_def(IndexType())
    begin = result_def(IndexType())
    end = result_def(IndexType())
    assembly_format = "$items `,` $bytes `,` $before attr-dict"


@irdl_op_definition
class CompileOffloadOp(IRDLOperation):
    """Device code inside a host module: what is sliced out and compiled alone for `target`."""

    name = "kgen.compile_offload"
    target = prop_def(StringAttr)
    emission = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$target `,` $emission attr-dict-with-keyword $body"


Kgen = Dialect("kgen", [FuncOp, ReturnOp, CallOp, ThreadOp, BarrierOp, TakePartOp, CompileOffloadOp], [])


def make_func(
    name: str,
    generator: str,
    kind: FunctionType,
    body: Region,
    params: Mapping[str, Attribute],
    *,
    kernel: bool = False,
    outlined: bool = False,
) -> FuncOp:
    """A function from its parts."""
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr(name),
        "function_type": kind,
        "generator": StringAttr(generator),
    }
    if params:
        properties["params"] = DictionaryAttr(dict(params))
    if kernel:
        properties["kernel"] = UnitAttr()
    if outlined:
        properties["outlined"] = UnitAttr()
    return FuncOp.create(properties=properties, regions=[body])


def make_offload(body: Region, target: str) -> CompileOffloadOp:
    """Code marked as device code for `target`."""
    properties = {"target": StringAttr(target), "emission": StringAttr("asm")}
    return CompileOffloadOp.create(properties=properties, regions=[body])


def functions(module: Operation) -> list[FuncOp]:
    """The functions of a module, in order."""
    return [op for op in module.regions[0].block.ops if isinstance(op, FuncOp)]
