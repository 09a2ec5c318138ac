"""Two stored runs as they are made again, in turns: for the command line and for the window's worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from compiler.errors import ExecutionError, UnavailableError

if TYPE_CHECKING:
    from app.sweep.places import Place
    from profiler.measure.in_turns import Contender
    from profiler.store import Store


@contextmanager
def contenders(store: Store, runs: Sequence[int]) -> Iterator[tuple[Contender, Contender]]:
    """Both sides, for the time of the block: each is measured where its run was made."""
    from app.cluster.places import is_elsewhere
    from app.sweep.places import place_of
    from profiler.store import queries

    rows = [queries.run_row(store, run) for run in runs]
    names = [str(row["conditions"].get("remote") or row["device"]) for row in rows]  # as a device is asked for
    with ExitStack() as stack:
        places = {name: stack.enter_context(place_of(name)) for name in dict.fromkeys(names)}
        if len({place.device for place in places.values()}) > 1:
            raise ExecutionError("these runs are of different devices, which cannot take turns")
        # Two runs of one worker would wait for each other: it does one thing at a time.
        by_rounds = sum(is_elsewhere(name) for name in names) < 2
        first, second = (
            _contender(store, run, name, places[name], by_rounds) for run, name in zip(runs, names, strict=True)
        )
        yield first, second


def _contender(store: Store, run: int, name: str, place: Place, by_rounds: bool) -> Contender:
    from app.cluster.places import is_elsewhere
    from app.inputs import graph_sizes, random_inputs
    from profiler.measure.in_turns import Contender, stored_contender
    from profiler.store import queries

    request, graph = stored_contender(store, run)
    if is_elsewhere(name) and place.target != request.options.target:
        raise UnavailableError(f"run {run} is compiled for {request.options.target}; {name} is {place.target} now")
    arrays = random_inputs(graph, graph_sizes(graph, request.dims, {}), request.seed, request.libraries)
    commit = queries.run_row(store, run)["conditions"].get("commit", "")
    return Contender(request, graph, arrays, commit, place.machine, place.measure_once, by_rounds)
