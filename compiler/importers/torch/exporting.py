"""What PyTorch does of the work: exporting a module, reading a saved export, decomposing it to few ops."""

from __future__ import annotations

import os
import warnings
from typing import Any

from compiler.errors import GraphError, ParseError, UnavailableError

# Ops that the graph has whole, and that PyTorch would otherwise take apart.
_KEPT = (
    "linear", "layer_norm", "rms_norm", "scaled_dot_product_attention", "silu", "gelu", "softmax", "log_softmax",
    "conv1d", "conv2d", "conv3d", "batch_norm", "group_norm", "adaptive_avg_pool2d", "matmul", "embedding",
    "upsample_nearest2d", "upsample_bilinear2d", "einsum",
)  # fmt: skip


def torch_package() -> Any:
    """The `torch` package, which is an extra."""
    try:
        import torch
    except ImportError:
        raise UnavailableError("PyTorch models need the torch package: pip install 'kernelglass[torch]'") from None
    return torch


def exported(module: Any, example_inputs: Any, dynamic_shapes: Any) -> Any:
    """The module as an ExportedProgram of few ops; what PyTorch cannot export is a GraphError."""
    torch = torch_package()
    if isinstance(module, torch.export.ExportedProgram):
        return _decomposed(module)
    if not isinstance(module, torch.nn.Module):
        raise GraphError(f"from_torch needs a torch.nn.Module, not {type(module).__name__}")
    by_name = isinstance(example_inputs, dict)
    args = () if by_name else example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            program = torch.export.export(
                module, args, example_inputs if by_name else None, dynamic_shapes=dynamic_shapes, strict=False
            )
            return _decomposed(program)
    except Exception as error:  # whatever the module itself raises comes out of here too
        raise GraphError(f"PyTorch cannot export {type(module).__name__}: {_first_line(error)}") from error
    finally:
        module.train(training)


def read_exported(path: str | os.PathLike[str]) -> Any:
    """The ExportedProgram in a file."""
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise ParseError(f"there is no file {name}")
    torch = torch_package()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what PyTorch says to itself about its own file
            return _decomposed(torch.export.load(name))
    except Exception as error:  # a damaged archive fails in many ways
        raise ParseError(f"{name} is not a file that torch.export.save wrote: {_first_line(error)}") from error


def _decomposed(program: Any) -> Any:
    torch = torch_package()
    table = torch.export.default_decompositions()
    for name in _KEPT:
        packet = getattr(torch.ops.aten, name, None)
        for overload in packet.overloads() if packet is not None else ():
            table.pop(getattr(packet, overload), None)
    return program.run_decompositions(table)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__
