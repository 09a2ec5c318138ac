"""Operations of MLIR's own `arith` dialect in the vector forms that xDSL's definitions leave out.

They carry upstream's names and print upstream's syntax, so that what we print is read by any MLIR tool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloatConstr, IndexType, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AnyAttr,
    IRDLAttrConstraint,
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

_INTEGERS = base(IntegerType) | VectorType.constr(base(IntegerType))
_FLOATS = AnyFloatConstr | VectorType.constr(AnyFloatConstr)
_INDICES = _INTEGERS | base(IndexType) | VectorType.constr(base(IndexType))


def _lanes(kind: Attribute) -> tuple[int, ...]:
    return tuple(kind.get_shape()) if isinstance(kind, VectorType) else ()


class _CastOp(IRDLOperation):
    """A lane-wise conversion."""

    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if _lanes(self.operands[0].type) != _lanes(self.results[0].type):
            raise VerifyException(f"{self.name}: operand and result must have as many lanes as each other")


def _cast(
    scalar: type[Operation], says: str, source: IRDLAttrConstraint, target: IRDLAttrConstraint
) -> type[Operation]:
    """The vector form of one of xDSL's conversions."""
    members = {"input": operand_def(source), "result": result_def(target)}
    members |= {"name": scalar.name, "__doc__": says, "__module__": __name__}
    return irdl_op_definition(type(scalar.__name__, (_CastOp,), members))


IndexCastOp = _cast(arith.IndexCastOp, "Between index and a signed integer.", _INDICES, _INDICES)
TruncIOp = _cast(arith.TruncIOp, "To a narrower integer.", _INTEGERS, _INTEGERS)
ExtSIOp = _cast(arith.ExtSIOp, "To a wider integer, keeping the sign.", _INTEGERS, _INTEGERS)
ExtUIOp = _cast(arith.ExtUIOp, "To a wider integer, filling with zeros.", _INTEGERS, _INTEGERS)
SIToFPOp = _cast(arith.SIToFPOp, "From a signed integer.", _INTEGERS, _FLOATS)
UIToFPOp = _cast(arith.UIToFPOp, "From an unsigned integer.", _INTEGERS, _FLOATS)
FPToSIOp = _cast(arith.FPToSIOp, "To a signed integer, toward zero.", _FLOATS, _INTEGERS)
FPToUIOp = _cast(arith.FPToUIOp, "To an unsigned integer, toward zero.", _FLOATS, _INTEGERS)


@irdl_op_definition
class SelectOp(IRDLOperation):
    """Chooses by a condition: one for the whole value, or one a lane."""

    name = "arith.select"
    cond = operand_def(_INTEGERS)
    lhs = operand_def(AnyAttr())
    rhs = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if self.lhs.type != self.rhs.type or self.lhs.type != self.result.type:
            raise VerifyException("arith.select: both choices and the result must have one type")
        lanes = _lanes(self.cond.type)
        if lanes and lanes != _lanes(self.result.type):
            raise VerifyException("arith.select: a vector condition needs a lane for each lane of the result")

    def print(self, printer: Printer) -> None:
        """Upstream's form: the condition's type is named only when it is a vector."""
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if isinstance(self.cond.type, VectorType):
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)


class _CompareOp(IRDLOperation):
    """A lane-wise comparison."""

    PREDICATES: ClassVar[Sequence[str]] = ()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        one, two = self.operands
        if one.type != two.type or _lanes(one.type) != _lanes(self.results[0].type):
            raise VerifyException(f"{self.name}: operands of one type and a bit for each of their lanes are needed")

    def print(self, printer: Printer) -> None:
        """Upstream's form: the predicate by name."""
        predicate = self.properties["predicate"]
        assert isinstance(predicate, IntegerAttr)
        printer.print_string(f" {self.PREDICATES[predicate.value.data]}, ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operands[0].type)


@irdl_op_definition
class CmpiOp(_CompareOp):
    """Compares integers."""

    name = "arith.cmpi"
    PREDICATES: ClassVar[Sequence[str]] = arith.CMPI_COMPARISON_OPERATIONS
    predicate = prop_def(IntegerAttr)
    lhs = operand_def(_INDICES)
    rhs = operand_def(_INDICES)
    result = result_def(_INTEGERS)


@irdl_op_definition
class CmpfOp(_CompareOp):
    """Compares floats."""

    name = "arith.cmpf"
    PREDICATES: ClassVar[Sequence[str]] = arith.CMPF_COMPARISON_OPERATIONS
    predicate = prop_def(IntegerAttr)
    lhs = operand_def(_FLOATS)
    rhs = operand_def(_FLOATS)
    result = result_def(_INTEGERS)


# xDSL's own operation for scalars, of each: passes know those.
SCALAR: dict[type[Operation], type[Operation]] = {
    IndexCastOp: arith.IndexCastOp, TruncIOp: arith.TruncIOp, ExtSIOp: arith.ExtSIOp, ExtUIOp: arith.ExtUIOp,
    SIToFPOp: arith.SIToFPOp, UIToFPOp: arith.UIToFPOp, FPToSIOp: arith.FPToSIOp, FPToUIOp: arith.FPToUIOp,
    SelectOp: arith.SelectOp, CmpiOp: arith.CmpiOp, CmpfOp: arith.CmpfOp,
}  # fmt: skip
OPS = tuple(SCALAR)
