"""First half of fusion: every kernel op starts a group, and elementwise ops on its result join it as its epilogue.

A forward walk. An op joins when one of its operands is at hand in a kernel's output lambda, possibly seen through views
that can be undone, and nothing else it needs depends on that kernel.
"""

from __future__ import annotations

from compiler.passes.fusion.analysis import Analysis, Node, Value, literal_of
from compiler.passes.fusion.choices import CUT, Choices
from compiler.passes.fusion.facts.work import why_not_another, why_not_beside, why_not_in_rows, why_not_singly
from compiler.passes.fusion.groups import LARGEST, Group, Groups, comes_singly, is_dear, keeps_rows
from compiler.passes.fusion.paths import Path
from compiler.passes.fusion.rows.join import RowJoiner
from compiler.passes.fusion.strides import is_storable, stores_across

_ROUNDS = 4  # of looking for what had better not be in an epilogue; others may only then have come into one


def fuse_epilogues(analysis: Analysis, choices: Choices, rows: bool) -> Groups:
    """Make a group of every kernel op and let elementwise ops join; why one could not is noted in the choices.

    `rows` says whether the library has a kernel for rows that are reduced more than once. How many results a kernel
    stores is known only then; where they are too many for the work between them, it is all done again without that.
    """
    groups = _with_epilogues(analysis, choices, rows)
    for _ in range(_ROUNDS if choices.fuse and choices.has_vectors else 0):
        crowded = _crowded(groups, choices)
        if not crowded:
            break
        choices.apart.update(crowded)
        choices.reasons.clear()
        groups = _with_epilogues(analysis, choices, rows)
    return groups


def _with_epilogues(analysis: Analysis, choices: Choices, rows: bool) -> Groups:
    groups = Groups()
    joiner = RowJoiner(groups, choices)
    for node in analysis.nodes:
        if node.kind == "kernel" and not (choices.fuse and rows and joiner.reduce(node)):
            joiner.begin(node, groups.new(node, node.result.shape))
        elif node.kind == "elementwise" and choices.fuse and not (rows and joiner.join(node)):
            _join(node, groups, choices)
    joiner.finish()
    return groups


def _crowded(groups: Groups, choices: Choices) -> dict[str, str]:
    """The dear ops in epilogues of kernels that store too many results beside them, and why they had better not be;
    without those that the user wants there."""
    found: dict[str, str] = {}
    for group in groups.all:
        last = _in_last_loop(group)
        dear = [value.node for value in last if value.node is not None and is_dear(value.node)]
        if not dear:
            continue
        every = last if group.rows is None else list(group.rows.full)
        stored = [v for v in every if v.outputs or any(user not in group.members for user in v.users)]
        if reason := why_not_beside(sum(node.own_work for node in dear), len(stored), last[0].numel):
            found |= {node.name: reason for node in dear if not choices.wants(node)}
    return found


def _in_last_loop(group: Group) -> list[Value]:
    """What a kernel computes where it stores its results."""
    if group.rows is None:
        return list(group.positions)
    full = group.rows.full
    last = max(full.values(), default=0)
    return [value for value, phase in full.items() if phase == last]


def _is_for_reductions(node: Node) -> bool:
    """Whether an op only prepares what reductions read, from a value that is stored anyway: it is cheaper there."""
    readers = node.result.users
    return (
        bool(readers)
        and not node.result.outputs
        and all(user.kind == "kernel" and user.signature.reduction for user in readers)
        and all(len(set(operand.users)) > 1 or operand.outputs for operand in node.operands if operand.node is not None)
    )


def _join(node: Node, groups: Groups, choices: Choices) -> None:
    if _is_for_reductions(node):
        return
    found: list[tuple[int, Value, Group, Path]] = []
    for operand in dict.fromkeys(node.operands):
        hand = groups.at_hand(operand)
        if hand is not None:
            base, group, path = hand
            if choices.cuts(operand, base, node):
                _note(choices, operand, node, CUT)
            elif not is_storable(path):
                _note(choices, operand, node, "its result could not be stored in order")
            elif elements := stores_across(path, on_card=choices.on_card):
                _note(choices, operand, node, f"its {elements} elements would be stored in a cache line each")
            else:
                found.append((base.node.index if base.node else -1, operand, group, path))
    # The latest producer first: what the others give is there by then, and can be loaded.
    for _, operand, group, path in sorted(found, key=lambda item: -item[0]):
        reason = _refusal(node, group, path, groups, choices)
        if reason:
            _note(choices, operand, node, reason)
            continue
        groups.add(group, node, "epilogue")
        group.positions[node.result] = path
        return


def _refusal(node: Node, group: Group, path: Path, groups: Groups, choices: Choices) -> str:
    """Why a node may not join a kernel's epilogue; empty when it may."""
    if len(group.members) >= LARGEST:
        return "the kernel is full"
    if node.name in choices.apart:
        return choices.apart[node.name]
    for operand in node.operands:
        hand = groups.at_hand(operand)
        if hand is not None and hand[1] is group and hand[2] == path:
            if choices.cuts(operand, hand[0], node):
                return CUT
            continue
        if operand.node is not None and literal_of(operand) is None and groups.needs(operand, group.first) & group.mask:
            return "would create a cycle"
    if choices.has_vectors and is_dear(node) and group.core is not None and not group.core.signature.reduction:
        before = sum(member.own_work for member in group.members if is_dear(member))
        if reason := why_not_another(node.own_work, before, node.result.numel):
            return reason
        if keeps_rows(group.core) and (
            reason := why_not_in_rows(node.own_work, group.core.result.shape[-1], node.result.numel)
        ):
            return reason
    if choices.has_vectors and comes_singly(group):
        work = node.own_work + sum(member.own_work for member in group.members)  # with all that it does already
        return why_not_singly(work, node.result.numel)
    return ""


def _note(choices: Choices, producer: Value, consumer: Node, reason: str) -> None:
    choices.reasons[(producer.node.name if producer.node else producer.name, consumer.name)] = reason
