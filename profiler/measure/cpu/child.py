"""Where a process that measures begins: with all that every request takes, which is a hundred modules full of records.

Python compiles the methods of a record each time anew; these come from the cache (`compiler/processes/
record_methods.py`), and no collection looks for rubbish among what has only been loaded. Nobody but the process itself
imports this; what both sides of the conversation know is in `answering.py`.
"""

from __future__ import annotations

from compiler.collector_pauses import rare_collection
from compiler.processes.record_methods import RecordMethods

_methods = RecordMethods(__name__)  # before the first record is made

with rare_collection():
    import compiler.loading
    import compiler.pipeline
    import compiler.program.execution  # noqa: F401
    import profiler.analysis.memory
    import profiler.measure.counters
    import profiler.measure.cpu.native
    import profiler.measure.cpu.pinning
    import profiler.measure.cpu.timing
    import profiler.measure.machine
    import profiler.model_records  # noqa: F401
    from profiler.measure.cpu.answering import KNOWN as KNOWN
    from profiler.measure.cpu.answering import serve as serve

_methods.keep()  # not those of a compilation, xDSL's: most processes find theirs in the cache and never need them
