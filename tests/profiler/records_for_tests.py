"""Records made up for tests of the store, where a real compilation would only cost time."""

from compiler.trace import PassRecord
from profiler.records import (
    FINISHED,
    CompilationRecord,
    CompiledKernel,
    Counter,
    Decision,
    Launch,
    Machine,
    MeasuredRun,
    MeasureRequest,
)

MACHINE = Machine("feed", "a test bench", {"cores": 2})


def compilation(source="test", text="mo.graph @g() {}\n", **changes):
    fields = dict(
        source=source, graph_name="g", graph_text=text, target="cpu", flow="all-kernel", opt_level=3, debug="none",
        options={"jobs": None}, versions={"python": "3"}, seconds=0.5,
        passes=(PassRecord("fuse", "mogg", "", 0.0, 0.1), PassRecord("llvm", "machine", "k", 0.1, 0.4, -1, -1, 900)),
        kernels=(CompiledKernel("k", "key-k", ("add_0",), ("mo.add",), "@kernel('k')\ndef k(): ...\n"),),
        decisions=(Decision("a", "b", True, "epilogue", "applied", "4*M"),), stats={"kernels": 1},
    )  # fmt: skip
    return CompilationRecord(**fields | changes)


def request(source="test", **changes):
    return MeasureRequest(source=source, **changes)


def result(samples=(1000, 1010, 1020, 990, 1005, 1001), **changes):
    launch = Launch(0, "k", "key-k", ("add_0",), tuple(x - 100 for x in samples), (1e-6,), 10, 20, 3, 4, "exact")
    fields = dict(
        status=FINISHED, samples=tuple(samples), blocks=(len(samples),), launches=(launch,),
        counters=(Counter("page faults", 3, "faults"),), conditions={"load": [0, 0, 0]}, memory={"peak": 64},
        timeline=(((0, 10),),),
    )  # fmt: skip
    return MeasuredRun(**fields | changes)
