"""A graph that went to another process is the graph it was, and its constants go by reference."""

import socket
import threading

import numpy as np
import pytest

from app.sources import load_source, samples
from compiler import Graph, TensorType, ops
from compiler.artifact.graph_document import GraphDocument, document_of, graph_of
from compiler.dialects.mo.from_graph import from_graph
from compiler.dialects.mo.to_graph import to_graph
from compiler.graph.digest import graph_digest
from compiler.processes.frames import Channel, named

KNOWN = named(GraphDocument)


def sent(document):
    ends = [Channel(end, KNOWN) for end in socket.socketpair()]
    threading.Thread(target=ends[0].send, args=(document,)).start()
    found = ends[1].receive().value
    for end in ends:
        end.close()
    return found


@pytest.mark.parametrize("name", [sample.name for sample in samples() if not sample.is_model])
def test_every_sample_comes_through(name):
    graph = load_source(f"sample:{name}").graph
    document = document_of(graph)
    assert not document.text
    found = graph_of(sent(document))
    assert graph_digest(found) == graph_digest(graph)
    assert str(found) == str(graph)


def test_a_graph_that_was_ir_comes_through():
    graph = load_source("sample:mlp").graph
    again = to_graph(from_graph(graph))
    assert graph_digest(graph_of(sent(document_of(again)))) == graph_digest(graph)


def test_attributes_of_every_kind_keep_their_kind():
    with Graph("g", [TensorType("f32", ("M", 4))]) as graph:
        (x,) = graph.inputs
        y = ops.reshape(x, ("2*M", 2))
        made = ops.custom(
            "mine", [y], TensorType("f32", ("2*M", 2)), number=3, flag=True, part=0.5, name="n", sizes=(1, 2),
            mixed=(1.5, "a", (True,)), none=(), words="2*M", array=np.arange(3), half=float("nan"),
        )  # fmt: skip
        graph.output(made)
    found = graph_of(sent(document_of(graph)))
    assert graph_digest(found) == graph_digest(graph) and str(found) == str(graph)


def test_constants_are_not_copied_into_the_document():
    weights = np.ones((64, 64), "f4")
    with Graph("g", [TensorType("f32", (4, 64))]) as graph:
        graph.output(graph.inputs[0] @ ops.constant(weights))
    document = document_of(graph)
    (held,) = [op.attrs["value"] for op in document.ops if op.name == "mo.constant"]
    assert held is next(op for op in graph.ops if op.name == "mo.constant").attrs["value"]
    found = graph_of(sent(document))
    (constant,) = [op.attrs["value"] for op in found.ops if op.name == "mo.constant"]
    assert constant.tobytes() == weights.tobytes() and not constant.flags.writeable
