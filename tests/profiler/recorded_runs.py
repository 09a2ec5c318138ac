"""Runs that are measured and kept as every command keeps them."""

from profiler.keeping import begin_together, give_up, keep
from profiler.measure.machine import machine_with
from profiler.measure.measuring import measure


def run_and_record(store, request, graph, arrays, **asked):
    """Measure in child processes and keep the run with its compilation, also a failed one; its number and outcome."""
    (begun,) = begin_together(store, [request], [machine_with(request.device)])
    try:
        outcome = measure(request, graph, arrays, **asked)
    except BaseException as error:
        give_up(begun, error)
        raise
    return keep(begun, outcome).run, outcome
