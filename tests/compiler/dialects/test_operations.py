"""Operations made the short way are the operations xDSL makes."""

from __future__ import annotations

import gc
import weakref

import pytest
from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, IntegerAttr, ModuleOp, StringAttr, f32, i64
from xdsl.ir import Block, Operation, Region

from compiler.dialects import kgen, operations
from compiler.dialects.mo import from_graph, set_name, text_of
from compiler.graph import ops
from compiler.graph.graph import Graph
from compiler.graph.types import BufferType, TensorType
from compiler.language.values.dtypes import F32, INDEX, element_type, register_type
from compiler.language.values.memory import buffer_type

PLACE = FileLineColLoc(StringAttr("kernel.py"), IntAttr(3), IntAttr(7))


def arguments() -> Block:
    return Block(arg_types=[f32, f32, element_type(INDEX), buffer_type(F32)])


def parts(block: Block, name: str) -> tuple[type[Operation], tuple, tuple, dict]:
    x, y, i, buffer = block.args
    return {
        "add": (arith.AddfOp, (x, y), (f32,), {}),
        "same operand twice": (arith.MulfOp, (x, x), (f32,), {}),
        "property": (arith.CmpfOp, (x, y), (register_type(F32, 1),), {"predicate": IntegerAttr(4, i64)}),
        "default": (arith.AddiOp, (i, i), (element_type(INDEX),), {}),
        "no result": (memref.StoreOp, (x, buffer, i), (), {}),
        "load": (memref.LoadOp, (buffer, i), (f32,), {}),
        "vector": (vector.BroadcastOp, (x,), (register_type(F32, 4),), {}),
        "no operand": (arith.ConstantOp, (), (element_type(INDEX),), {"value": IntegerAttr(5, element_type(INDEX))}),
    }[name]


NAMES = ["add", "same operand twice", "property", "default", "no result", "load", "vector", "no operand"]


@pytest.mark.parametrize("name", NAMES)
def test_every_field_is_what_create_sets(name):
    one, two = arguments(), arguments()
    first = operations.make(arith.AddfOp, (one.args[0], one.args[1]), (f32,), None, PLACE)
    operations.append(one, first)
    two.add_op(arith.AddfOp.create(operands=[two.args[0], two.args[1]], result_types=[f32], location=PLACE))
    kind, operands, results, properties = parts(one, name)
    made = operations.make(kind, operands, results, properties, PLACE)
    operations.append(one, made)
    kind, operands, results, properties = parts(two, name)
    created = kind.create(operands=operands, result_types=results, properties=properties, location=PLACE)
    two.add_op(created)
    assert made.__dict__.keys() == created.__dict__.keys()
    assert made.properties == created.properties and made.attributes == created.attributes == {}
    assert made.location == created.location and made.parent is one and created.parent is two
    assert [r.type for r in made.results] == [r.type for r in created.results]
    assert all(r.op is made and r.index == k for k, r in enumerate(made.results))
    assert made.regions == created.regions == () and made.successors == created.successors
    assert list(one.ops) == [first, made] and made.prev_op is first and first.next_op is made
    uses = [[(list(one.ops).index(use.operation), use.index) for use in value.uses] for value in one.args]
    assert uses == [[(list(two.ops).index(use.operation), use.index) for use in value.uses] for value in two.args]
    if name != "property":  # a scalar comparison gives a bit, not what stands above
        made.verify()


@pytest.mark.parametrize("place", range(3), ids=["first", "middle", "last"])
def test_an_operation_takes_anothers_place_as_a_new_one_would(place):
    one, two = arguments(), arguments()
    for block in (one, two):
        x, y, *_ = block.args
        for _ in range(3):
            operations.append(block, operations.make(arith.AddfOp, (x, y), (f32,), None, PLACE))
            x = block.last_op.results[0]
    old = list(one.ops)[place]
    made = operations.take_place(old, arith.MulfOp)
    before = list(two.ops)[place]
    created = arith.MulfOp.create(operands=before.operands, result_types=[f32], location=PLACE)
    two.insert_op_before(created, before)
    before.results[0].replace_all_uses_with(created.results[0])
    before.detach()
    before.erase()
    assert list(one.ops)[place] is made and [type(each) for each in one.ops] == [type(each) for each in two.ops]
    assert made.__dict__.keys() == created.__dict__.keys() and made.properties == created.properties
    assert made.location == created.location and made.results[0].op is made and old.parent is None
    for mine, theirs in zip(one.ops, two.ops, strict=True):
        assert mine.prev_op is None or mine.prev_op.next_op is mine
        assert [u.index for r in mine.results for u in r.uses] == [u.index for r in theirs.results for u in r.uses]
    uses = [[(list(one.ops).index(use.operation), use.index) for use in value.uses] for value in one.args]
    found = [[(list(two.ops).index(use.operation), use.index) for use in value.uses] for value in two.args]
    assert [sorted(each) for each in uses] == [sorted(each) for each in found]
    assert (one.first_op, one.last_op) == tuple(one.ops)[::2]
    made.verify()


def test_uses_can_be_replaced_and_erased():
    block = arguments()
    x, y, *_ = block.args
    made = [operations.make(arith.AddfOp, (x, x), (f32,), None, PLACE) for _ in range(3)]
    for operation in made:
        operations.append(block, operation)
    x.replace_all_uses_with(y)
    assert x.first_use is None and y.uses.get_length() == 6
    made[1].detach()
    made[1].erase()
    assert y.uses.get_length() == 4 and list(block.ops) == [made[0], made[2]]


def test_operations_own_their_regions():
    block = arguments()
    body = Block(arg_types=[element_type(INDEX)])
    operations.append(body, operations.make(scf.YieldOp, (), ()))
    i = block.args[2]
    loop = operations.make(scf.ForOp, (i, i, i), (), None, PLACE, (Region(body),))
    operations.append(block, loop)
    assert body.parent_op() is loop
    loop.verify()


def test_properties_are_not_shared_between_operations():
    block = arguments()
    x, y, *_ = block.args
    one, two = (operations.make(arith.AddfOp, (x, y), (f32,)) for _ in range(2))
    assert one.properties == two.properties and one.properties is not two.properties


def test_a_graphs_ir_is_what_clone_makes_of_it():
    kinds = [TensorType("f32", ("M", 8)), TensorType("f32", (8, 8)), BufferType("f32", ("M", 8))]
    with Graph("copied", inputs=kinds) as graph:
        x, w, memory = graph.inputs
        y = ops.relu(x @ w + 1.5)
        ops.buffer_store(memory, y)
        graph.output(y, y * y)
    made = from_graph(graph)
    plain = Operation.clone(made)
    for old, new in zip(made.body.args, plain.body.args, strict=True):
        set_name(new, old._name)
    assert text_of(ModuleOp([made.clone()])) == text_of(ModuleOp([plain.clone()]))
    for one, two in zip(made.walk(), plain.walk(), strict=True):
        assert type(one) is type(two) and one.location == two.location
        assert one.properties == two.properties and one.properties is not two.properties
        assert [r._name for r in one.results] == [r._name for r in two.results]
    assert [str(a.location) for a in made.body.args] == ['loc("x0")', 'loc("x1")', 'loc("x2")']
    orders = [
        [[(use.operation.name, use.index) for use in value.uses] for op in graph.body.ops for value in op.results]
        for graph in (made, plain)
    ]
    assert orders[0] == orders[1]
    made.verify()


def test_what_is_released_needs_no_collector():
    block, body = arguments(), Block(arg_types=[element_type(INDEX)])
    x, y, i, _ = block.args
    inner = operations.make(arith.AddfOp, (x, y), (f32,), None, PLACE)
    operations.append(body, inner)
    operations.append(body, operations.make(arith.MulfOp, (inner.results[0], inner.results[0]), (f32,)))
    operations.append(body, operations.make(scf.YieldOp, (), ()))
    operations.append(block, operations.make(scf.ForOp, (i, i, i), (), None, PLACE, (Region(body),)))
    function = operations.make(kgen.FuncOp, (), (), None, PLACE, (Region(block),))
    watched = [weakref.ref(held) for held in (inner, body, block, inner.results[0], block.args[0])]
    del x, y, i, _, block, body, inner
    gc.disable()
    try:
        operations.release(function)
        assert [held() for held in watched] == [None] * len(watched)
    finally:
        gc.enable()
