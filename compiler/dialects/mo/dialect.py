"""The mo dialect as xDSL loads it."""

from __future__ import annotations

from xdsl.ir import Dialect

from compiler.dialects.mo.attributes import TYPE_FORMS, ArrayConstant, DimsAttr
from compiler.dialects.mo.ops import OPS, GraphOp, OutputOp

Mo = Dialect("mo", [GraphOp, OutputOp, *OPS.values()], [*TYPE_FORMS, DimsAttr, ArrayConstant])
