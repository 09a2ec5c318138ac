"""A child that speaks as the one that runs CUDA work does, and is in a kernel that never ends."""

import time

from compiler.processes.child import end_with_parent
from compiler.processes.frames import named
from profiler.measure.cuda.messages import CudaRequest, Running

KNOWN = named(CudaRequest)


def serve(channel, device):
    end_with_parent()
    request = channel.receive().value
    for call in range(1, 4):
        for step in request.program.steps:
            channel.send(Running(step.kernel, call))
    time.sleep(600)
