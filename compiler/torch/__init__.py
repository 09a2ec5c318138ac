"""Kernelglass inside PyTorch: kernels and graphs as operators, and a backend of `torch.compile`.

`CustomOpLibrary(folder)` makes an operator of each kernel of a folder, `@graph_op` of a function that builds a graph,
and importing this registers the backend `kernelglass`. Needs the `torch` extra.
"""

from compiler.importers.torch.exporting import torch_package

torch_package()  # says in a line what is missing

from compiler.torch.backend import register as _register  # noqa: E402
from compiler.torch.custom_ops import CustomOp, CustomOpLibrary  # noqa: E402
from compiler.torch.graph_ops import GraphOp, graph_op  # noqa: E402

_register()

__all__ = ["CustomOp", "CustomOpLibrary", "GraphOp", "graph_op"]
