"""Llama layers one after the other, 32 unless told otherwise: sample:llama-32:8 has eight; weights are inputs."""

from llama_layer import hidden_and_angles, layer, weights

from compiler import Graph

DIMS = {"B": 1, "S": 128}


def build(layers: int = 32) -> Graph:
    each = len(weights())
    graph = Graph(f"llama_{layers}", inputs=[*hidden_and_angles(), *weights() * layers])
    with graph:
        x, cos, sin, *stacked = graph.inputs
        for number in range(layers):
            x = layer(x, cos, sin, *stacked[number * each : (number + 1) * each])
        graph.output(x)
    return graph
