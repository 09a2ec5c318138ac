"""Every ATen op this version has, by name without its overload: the tables of the families together."""

from __future__ import annotations

from compiler.importers.torch.call import Handler
from compiler.importers.torch.families.elements import ELEMENTS
from compiler.importers.torch.families.images import IMAGES
from compiler.importers.torch.families.indexing import INDEXING
from compiler.importers.torch.families.networks import NETWORKS
from compiler.importers.torch.families.reductions import REDUCTIONS
from compiler.importers.torch.families.shapes import SHAPES

TABLE: dict[str, Handler] = {**ELEMENTS, **SHAPES, **INDEXING, **REDUCTIONS, **NETWORKS, **IMAGES}
