"""What a measured process does on a cluster's worker: `flow_child` with a graph that was sent."""

from __future__ import annotations

from app.flows.cells import Told
from app.flows.sent_task import SentTask
from app.sources import Source
from app.worker.flow_child import done, serve_one
from compiler.artifact.graph_document import graph_of
from compiler.processes.frames import Channel

KNOWN = {"SentTask": SentTask}


def serve(channel: Channel) -> None:
    """Do one task; the worker measures this process from outside."""
    serve_one(channel, _done)


def _done(task: SentTask) -> Told:
    source = Source(task.graph.name, graph_of(task.graph, task.source), task.dims)
    return done(source, task.options, task.libraries, task.execute)
