"""Every ONNX op this version has, by name: the tables of the families together."""

from __future__ import annotations

from compiler.importers.onnx.families.arithmetic import ARITHMETIC
from compiler.importers.onnx.families.attention import ATTENTION
from compiler.importers.onnx.families.control import CONTROL
from compiler.importers.onnx.families.convolution import CONVOLUTION
from compiler.importers.onnx.families.deformable import DEFORMABLE
from compiler.importers.onnx.families.elements import ELEMENTS
from compiler.importers.onnx.families.indexing import INDEXING
from compiler.importers.onnx.families.ngrams import NGRAMS
from compiler.importers.onnx.families.norms import NORMS
from compiler.importers.onnx.families.products import PRODUCTS
from compiler.importers.onnx.families.quantization import QUANTIZATION
from compiler.importers.onnx.families.recurrent import RECURRENT
from compiler.importers.onnx.families.reductions import REDUCTIONS
from compiler.importers.onnx.families.resizing import RESIZING
from compiler.importers.onnx.families.shapes import SHAPES
from compiler.importers.onnx.node import Handler

TABLE: dict[str, Handler] = {
    **ELEMENTS, **ARITHMETIC, **SHAPES, **INDEXING, **REDUCTIONS, **PRODUCTS, **NORMS, **CONVOLUTION, **RESIZING,
    **ATTENTION, **RECURRENT, **QUANTIZATION, **CONTROL, **DEFORMABLE, **NGRAMS,
}  # fmt: skip
