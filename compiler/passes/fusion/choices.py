"""What the user chose about the edges of a graph, and the reasons that are noted for edges which were not fused."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from compiler.graph.dims import Dim
from compiler.options import CompileOptions
from compiler.passes.fusion.analysis import Node, Value
from compiler.passes.fusion.groups import Group
from compiler.passes.fusion.records import Again, Edge
from compiler.targets import emission_of

CUT = "forced cut"
"""Why an edge is not fused where the user cut it."""


@dataclass
class Choices:
    """The options of one fusion, asked for by node, and why edges could not be fused so far."""

    options: CompileOptions
    reasons: dict[Edge, str] = field(default_factory=dict)
    again: dict[Edge, Again] = field(default_factory=dict)  # edges whose value is computed where it is read
    repeated: dict[str, int | Dim] = field(default_factory=dict)  # operations that a broadcast has done again, by node

    apart: dict[str, str] = field(default_factory=dict)  # ops that may join no kernel's epilogue, and why

    @property
    def fuse(self) -> bool:
        """Whether anything may be fused at all."""
        return self.options.fuse

    @cached_property
    def has_vectors(self) -> bool:
        """Whether kernels work on vectors along an axis; threads of a grid have one element each."""
        return emission_of(self.options.target).grid is None

    @property
    def on_card(self) -> bool:
        """Whether kernels run as grids of threads."""
        return not self.has_vectors

    @cached_property
    def cut(self) -> frozenset[str]:
        """The nodes with an edge that the user cuts."""
        return frozenset(producer for producer, _ in self.options.force_cut)

    def is_cut(self, node: Node) -> bool:
        """Whether the user wants this node's value stored."""
        if node.name not in self.cut:
            return False
        return any((node.name, user.name) in self.options.force_cut for user in node.result.users)

    def cuts(self, value: Value, base: Value, consumer: Node) -> bool:
        """Whether the user cuts one of the edges from `base` through views to `value` and on to its consumer."""
        if not self.options.force_cut:
            return False
        name = consumer.name
        while True:
            producer = value.node.name if value.node else value.name
            if (producer, name) in self.options.force_cut:
                return True
            if value is base or value.node is None:
                return False
            name, value = producer, value.node.operands[0]

    def wants(self, node: Node) -> bool:
        """Whether the user wants this node computed where one of its operands is."""
        return any((u.node.name, node.name) in self.options.force_fuse for u in node.operands if u.node is not None)

    def is_forced(self, node: Node, group: Group) -> bool:
        """Whether the user wants this node's value computed in this group, which has it once: one cut keeps it out."""
        if not self.options.force_fuse:
            return False
        edges = {
            (node.name, user.name) for user in node.result.users if user in group.members or group.sees_through(user)
        }
        return not edges.isdisjoint(self.options.force_fuse) and edges.isdisjoint(self.options.force_cut)

    def explain(self, node: Node, reason: str) -> None:
        """Say why a node is not computed with its users, unless that was said before."""
        if self.is_cut(node):
            reason = CUT
        for user in node.result.users:
            self.reasons.setdefault((node.name, user.name), reason)
