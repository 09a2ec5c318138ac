"""The two flows: the same results, shared work done once, and LLVM in several processes."""

import os
import signal
import threading

import numpy as np
import pytest

from app.inputs import graph_sizes, random_inputs
from app.sources import load_source
from compiler.backend import workers
from compiler.backend.split import Unit, bundles, only
from compiler.backend.tasks import Task
from compiler.backend.workers import Pool, Work, Worker
from compiler.errors import LoweringError
from compiler.flows import Flow
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from compiler.statistics import funnel_by_kernel, funnel_of
from compiler.targets import get_target

TEXT = """
define i64 @{name}(i64 %x) {{
entry:
  %y = add i64 %x, {number}
  ret i64 %y
}}
"""


def model_of(source, **options):
    return compile_graph(source.graph, CompileOptions(cache=False, **options))


def machine(model):
    return [record for record in model.trace.passes if record.stage == "machine"]


@pytest.mark.parametrize(
    "name", ["transformer-block", "many-kernels:5", "softmax", "conv-relu-pool", "reduce", "mandelbrot"]
)
@pytest.mark.parametrize("opt_level", [0, 3])
def test_both_flows_give_the_same_bits(name, opt_level):
    from compiler import load_library

    source = load_source(f"sample:{name}")
    inputs = random_inputs(source.graph, graph_sizes(source.graph, source.dims, {}), 3)
    library = load_library(*source.library_paths)
    results = []
    for flow in ("per-kernel", "all-kernel"):
        model = compile_graph(source.graph, CompileOptions(cache=False, flow=flow, opt_level=opt_level), library)
        results.append([y.tobytes() for y in model.execute(*[x.copy() for x in inputs])])
    assert results[0] == results[1]


@pytest.mark.parametrize("target", ["sm_90", "gfx942", "x86-64-v3"])
@pytest.mark.parametrize("flow", ["per-kernel", "all-kernel"])
def test_both_flows_serve_every_target(target, flow):
    model = model_of(load_source("sample:mlp"), target=target, flow=flow)
    assert {record.kernel for record in machine(model)} >= {kernel.name for kernel in model.kernels}


def test_shared_functions_are_elaborated_and_compiled_once():
    source = load_source("sample:many-kernels:6")
    apart, together = (model_of(source, flow=flow, jobs=1) for flow in ("per-kernel", "all-kernel"))
    assert len(machine(apart)) == len(apart.kernels)
    shared = [record for record in machine(together) if record.kernel.startswith("kg_shared_")]
    assert shared and len({record.kernel for record in shared}) == len(shared)
    for stage in ("kgen", "kernel"):
        sizes = [next(s.ops for s in funnel_of(model.trace.passes) if s.stage == stage) for model in (together, apart)]
        assert sizes[0] < sizes[1]


def test_equal_kernels_are_compiled_once_in_both_flows():
    source = load_source("sample:llama-32:2")
    for flow in ("per-kernel", "all-kernel"):
        model = model_of(source, flow=flow)
        names = [record.kernel for record in machine(model)]
        assert len(names) == len(set(names)) and len(model.kernels) < len(model.fusion.calls)


def test_two_jobs_give_the_same_bits_as_one():
    source = load_source("sample:transformer-block")
    inputs = random_inputs(source.graph, graph_sizes(source.graph, source.dims, {}), 3)
    one, two = (model_of(source, jobs=jobs).execute(*inputs) for jobs in (1, 2))
    assert [y.tobytes() for y in one] == [y.tobytes() for y in two]


def test_the_funnel_counts_every_stage_and_says_what_llvm_takes():
    model = model_of(load_source("sample:mlp"))
    steps = {step.stage: step for step in funnel_of(model.trace.passes)}
    assert list(steps) == ["mo", "mogg", "kgen", "kernel", "llvm", "machine", "link"]
    assert (
        steps["mo"].ops and steps["kgen"].ops and steps["kernel"].ops and steps["llvm"].bytes and steps["machine"].bytes
    )
    assert sum(step.share for step in steps.values()) == pytest.approx(1)
    assert model.stats["llvm_share"] == steps["machine"].share
    by_kernel = funnel_by_kernel(model.trace.passes)
    assert {kernel.name for kernel in model.kernels} <= set(by_kernel)
    assert sum(s.bytes for steps in by_kernel.values() for s in steps if s.stage == "llvm") == steps["llvm"].bytes


def test_llvms_passes_are_timed_when_asked_for():
    model = model_of(load_source("sample:softmax"), record_passes=True)
    assert any(record.stage == "llvm-pass" and record.seconds > 0 for record in model.trace.passes)
    assert "llvm-pass" not in model.stats["seconds"]


def test_an_edited_kernel_that_changes_its_name_is_refused():
    from compiler.errors import CompilerError

    source = load_source("sample:softmax")
    kernel = model_of(source).kernels[0]
    with pytest.raises(CompilerError, match="must define a kernel of that name"):
        model_of(source, sources=((kernel.name, kernel.source.replace(f"def {kernel.name}", "def another")),))


# Workers


def task(number=1, name="f"):
    return Task(name, (TEXT.format(name=name, number=number),), "cpu", 1)


@pytest.fixture
def pool(monkeypatch):
    monkeypatch.setattr(workers, "FORK_SECONDS", -1.0)  # workers always pay
    monkeypatch.setattr(workers, "SPAWN_SECONDS", -1.0)
    made = Pool()
    yield made
    made.close()


def test_workers_compile_and_stay(pool):
    tasks = [task(number, f"f{number}") for number in range(6)]
    done = pool.compile(tasks, 2)
    assert [d.unit.object for d in done] == [workers.run_task(t).unit.object for t in tasks]
    first = [worker.pid for worker in pool.workers]
    pool.compile(tasks, 2)
    assert [worker.pid for worker in pool.workers] == first and len(first) == 1


@pytest.mark.parametrize("forks", [True, False], ids=["fork", "fresh"])
def test_what_llvm_rejects_in_a_worker_is_raised_here(pool, monkeypatch, forks):
    monkeypatch.setattr(workers, "_can_fork", lambda: forks)
    worker = Worker(1, [])
    with pytest.raises(LoweringError):
        worker.ask(Task("bad", ("define void @f( {",), "cpu", 1))
    assert worker.ask(task()).unit.object
    worker.stop()


def test_a_dead_worker_is_replaced_and_its_work_done(pool):
    pool.compile([task(1, "a"), task(2, "b")], 2)
    dead = pool.workers[0].pid
    os.kill(dead, signal.SIGKILL)
    tasks = [task(number, f"f{number}") for number in range(4)]
    done = pool.compile(tasks, 2)
    assert len(done) == 4 and pool.workers[0].pid != dead


def test_work_that_kills_its_worker_twice_is_reported(pool, monkeypatch):
    pool.compile([task(1, "a"), task(2, "b")], 2)
    kill = Worker.ask

    def ask(self, work):
        os.kill(self.pid, signal.SIGKILL)
        return kill(self, work)

    monkeypatch.setattr(Worker, "ask", ask)
    ready = threading.Event()
    run = workers.run_task
    monkeypatch.setattr(workers, "run_task", lambda t: (ready.wait(30), run(t))[1])
    replace = Pool.replace
    monkeypatch.setattr(Pool, "replace", lambda self, position: (replace(self, position), ready.set())[0])
    with pytest.raises(LoweringError, match="died 2 times while compiling"):
        pool.compile([task(number, f"f{number}") for number in range(4)], 2)


def test_small_work_stays_in_this_process():
    pool = Pool()
    assert pool.useful_helpers(8 * task().cost, 2) == 0
    large = Task("large", ("x" * 2_000_000,), "cpu", 3)
    assert pool.useful_helpers(4 * large.cost, 2) == 1
    assert pool.useful_helpers(4 * large.cost, 1) == 0


def test_one_task_alone_stays_in_this_process(pool):
    assert pool.compile([task()], 4)[0].worker == 0 and not pool.workers


def test_workers_begin_before_all_is_there_and_this_process_helps_in_the_end(pool):
    first, second = (
        [task(number, f"f{number}") for number in range(3)],
        [task(number, f"g{number}") for number in range(3)],
    )
    told = []
    begun = threading.Event()
    with Work(pool, 2, lambda done: (told.append(done.name), begun.set())) as work:
        work.add(first, to_come=1.0)
        assert begun.wait(60)  # nothing of it was asked of this process yet
        work.add(second)
        done = work.finish()
    assert [d.unit.object for d in done] == [workers.run_task(t).unit.object for t in (*first, *second)]
    assert sorted(told) == sorted(t.name for t in (*first, *second)) and done[0].worker == 1
    assert pool.turn.acquire(blocking=False)
    pool.turn.release()


def test_what_llvm_rejects_early_is_raised_in_the_end(pool):
    with pytest.raises(LoweringError), Work(pool, 2) as work:
        work.add([Task("bad", ("define void @f( {",), "cpu", 1)], to_come=1.0)
        work.add([task(1, "a")])
        work.finish()
    assert len(pool.compile([task(1, "a"), task(2, "b")], 2)) == 2


@pytest.mark.parametrize("error", [LoweringError("made later"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_an_error_in_what_is_made_meanwhile_leaves_the_workers_to_the_next(pool, error):
    with pytest.raises(type(error)), Work(pool, 2) as work:
        work.add([task(number, f"f{number}") for number in range(4)], to_come=1.0)
        raise error
    assert len(pool.compile([task(1, "a"), task(2, "b")], 2)) == 2


def test_an_interrupt_while_workers_start_leaves_them_to_the_next(pool, monkeypatch):
    def interrupted(self, count):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Pool, "have", interrupted)
        pool.compile([task(1, "a"), task(2, "b")], 2)
    assert len(pool.compile([task(1, "a"), task(2, "b")], 2)) == 2


def test_workers_that_another_thread_has_are_not_waited_for(pool):
    with pool.turn, Work(pool, 2) as work:
        work.add([task(1, "a"), task(2, "b")], to_come=1.0)
        assert not pool.workers
        assert len(work.finish()) == 2


# Modules


def test_many_kernels_are_modules_of_which_each_is_twice_as_large():
    flow, kernels = Flow(together=True), [f"k{number}" for number in range(64)]
    assert [len(module) for module in flow.modules(kernels, 2)] == [8, 16, 40]
    assert [name for module in flow.modules(kernels, 2) for name in module] == kernels
    assert [len(module) for module in flow.modules(kernels[:15], 2)] == [15]
    assert [len(module) for module in flow.modules(kernels, 1)] == [64]
    assert flow.modules([], 2) == []


def test_llvm_begins_while_later_kernels_are_elaborated(pool, monkeypatch):
    monkeypatch.setattr(workers, "_pool", pool)
    source = load_source("sample:many-kernels:20")
    begun, elaborated = threading.Event(), []

    def watch(stage, name, kernel):
        if stage == "compiled":
            begun.set()
        elif name == "elaborate":
            elaborated.append(kernel)
            assert len(elaborated) < 20 or begun.wait(60)  # some of it was compiled before the last one is begun

    together = compile_graph(source.graph, CompileOptions(cache=False, jobs=2), watch=watch)
    alone = model_of(source, jobs=1)
    assert any(record.worker == 1 for record in machine(together))
    names = [record.kernel for record in machine(together)]
    assert len(names) == len(set(names)) and set(names) >= {kernel.name for kernel in together.kernels}
    # Whatever the number of modules, all of what passes leave is counted.
    few, one = ({s.stage: s.ops for s in funnel_of(model.trace.passes)} for model in (together, alone))
    assert few["kernel"] >= one["kernel"] and few["llvm"] == one["llvm"]
    assert together.stats["ops"]["dead-symbols"] == few["kernel"]
    inputs = random_inputs(source.graph, graph_sizes(source.graph, source.dims, {}), 3)
    assert [y.tobytes() for y in together.execute(*inputs)] == [y.tobytes() for y in alone.execute(*inputs)]


# Bundles


def test_as_many_bundles_are_made_as_processes_are_worth_having(monkeypatch):
    monkeypatch.setattr(workers, "_pool", Pool())
    assert workers.useful_jobs(10 << 10, 3, 4) == 1
    assert workers.useful_jobs(64 << 20, 3, 4) == 4
    workers._pool.workers.append(None)  # started before
    assert workers.useful_jobs(10 << 10, 3, 4) == 2
    with workers.elsewhere(lambda tasks, told: []):
        assert workers.useful_jobs(10 << 10, 3, 4) == 1


def test_a_few_short_loops_are_unrolled_before_they_meet_the_rest():
    short = f"""
define void @short(ptr %out) {get_target("neoverse-n1").emission.short_loops} {{
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %at = getelementptr inbounds i64, ptr %out, i64 %i
  store i64 7, ptr %at
  %next = add nsw i64 %i, 1
  %more = icmp slt i64 %next, 3
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""
    others = [TEXT.format(name=f"other{number}", number=number) for number in range(40)]
    for texts in ((short, *others), (*others, short), (short, others[0])):
        unit = workers.run_task(Task("bundle", texts, "neoverse-n1", 3, record_passes=True)).unit
        assert unit.llvm_opt.count("store i64 7") == 3
        assert unit.llvm_opt.count("define i64 @other") == len(texts) - 1
        names = [timed.name for timed in unit.pass_times]
        assert "LoopUnrollPass" in names and len(names) == len(set(names))


def test_bundles_hold_every_unit_once_and_are_bounded():
    units = [Unit(f"u{number}", "x" * (1000 + 997 * number)) for number in range(40)]
    groups = bundles(units, get_target("cpu"), 2)
    assert sorted(unit.name for group in groups for unit in group) == sorted(unit.name for unit in units)
    assert len(groups) < len(units) and all(sum(len(u.text) for u in g) <= 64 << 10 for g in groups if len(g) > 1)
    assert len(bundles(units, get_target("sm_90"), 2)) == len(units)


def test_what_only_a_kernel_without_use_calls_need_not_be_there():
    import ctypes

    from compiler.backend.jit import load_objects

    calling = TEXT.format(name="f", number=1).replace("add i64 %x, 1", "call i64 @kg_shared_x(i64 %x)")
    texts = (calling + "declare i64 @kg_shared_x(i64)\n", TEXT.format(name="g", number=2))
    image = workers.run_task(Task("both", texts, "cpu", 1)).unit.object
    code = load_objects([only(image, {"g"}, {"g"})], ["g"])
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("g"))(10) == 12


def test_an_object_can_be_made_to_offer_some_of_its_symbols_only():
    from compiler.backend.jit import load_objects, symbol_table
    from compiler.errors import CompilerError

    both = workers.run_task(Task("both", (TEXT.format(name="f", number=1), TEXT.format(name="g", number=2)), "cpu", 1))
    other = workers.run_task(task(3, "g"))
    image = both.unit.object
    assert symbol_table(image)[0] >= {"f", "g"}
    with pytest.raises(CompilerError):
        load_objects([image, other.unit.object], ["f", "g"])
    import ctypes

    code = load_objects([only(image, {"f"}), other.unit.object], ["f", "g"])
    call = [ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address(name))(10) for name in ("f", "g")]
    assert call == [11, 13]
    np.testing.assert_equal(len(only(image, {"f"})), len(image))
