"""The types in a signature: the tensors of a kernel compiled alone, and the workspaces a library kernel asks for."""

from __future__ import annotations

import ast
from typing import Any

from compiler.errors import KernelError
from compiler.graph import dims as dimlib
from compiler.graph.dim_text import dim
from compiler.language.kernel import BufferArgument
from compiler.language.syntax.definitions import annotation_name
from compiler.language.syntax.functions import Frame
from compiler.language.syntax.run import Run
from compiler.language.values import static
from compiler.language.values.arguments import to_dtype, to_shape
from compiler.language.values.dtypes import INDEX
from compiler.language.values.loadables import Tensor
from compiler.language.values.workspaces import take_workspace


def buffer_argument(run: Run, name: str, annotation: ast.expr | None, frame: Frame) -> BufferArgument:
    """A kernel argument from its annotation `Tensor[f32, (M, 512)]`; unknown names in the shape are sizes."""
    run.node = annotation
    if annotation_name(annotation) != "Tensor" or not isinstance(annotation, ast.Subscript):
        raise KernelError(f"{name} needs a type: Tensor[dtype, (sizes...)]")
    parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    if not parts:
        raise KernelError(f"{name} needs a type: Tensor[dtype, (sizes...)]")
    dtype = to_dtype(parts[0].value if isinstance(parts[0], ast.Constant) else run.evaluate(parts[0], frame))
    if dtype is INDEX:
        raise KernelError(f"{name}: a tensor cannot hold index; use i64")
    items = parts[1].elts if len(parts) == 2 and isinstance(parts[1], ast.Tuple) else parts[1:]
    return BufferArgument(name, dtype.name, to_shape(tuple(_size(run, item, frame) for item in items)))


def _size(run: Run, item: ast.expr, frame: Frame) -> Any:
    """A size of a kernel's tensor: an expression in which names that mean nothing else are symbolic sizes."""
    if isinstance(item, ast.Constant):
        written = item.value
        return static.bounded(dim(written[:200])) if isinstance(written, str) else run.evaluate(item, frame)
    if isinstance(item, ast.Name) and item.id not in frame.generator.constants:
        return dimlib.symbol(item.id)
    called = {id(node.func) for node in ast.walk(item) if isinstance(node, ast.Call)}
    names = Frame(frame.generator, frame)
    for node in ast.walk(item):
        if isinstance(node, ast.Name) and id(node) not in called and node.id not in frame.generator.constants:
            names.env[node.id] = dimlib.symbol(node.id)
    return run.evaluate(item, names)


def workspace(run: Run, annotation: ast.expr | None, frame: Frame) -> Tensor:
    """`Workspace[dtype, count]`: a buffer shared by all threads of the kernel, which a library kernel asks for."""
    inner = annotation.slice if isinstance(annotation, ast.Subscript) else None
    if not isinstance(inner, ast.Tuple) or len(inner.elts) != 2:
        raise KernelError("a workspace is written Workspace[dtype, count] in a kernel's signature")
    dtype, count = (run.evaluate(part, frame) for part in inner.elts)
    return take_workspace(run, dtype, count)
