"""Bisecting: a planted wrong rewrite and a planted slow one in a kernel pass are found, in few compilations."""

import json

import numpy as np
import pytest
from xdsl.dialects import arith

from app.cli.main import main
from compiler import Graph, TensorType, ops, reference
from compiler.errors import CompilerError
from compiler.options import CompileOptions
from compiler.passes.kernel import run as kernel_run
from compiler.pipeline import compile_graph, optional_passes
from profiler.bisecting import SLOW, WRONG, Subject, bisect, difference
from profiler.records import MeasureRequest

pytestmark = pytest.mark.usefixtures("measured_in_forks")


def graph(rows=8):
    made = Graph("bisected", inputs=[TensorType("f32", (rows, 256)), TensorType("f32", (rows, 256))])
    with made:
        x, y = made.inputs
        z = x
        for _ in range(6):
            z = z * y + x
        made.output(ops.relu(z), ops.softmax(z * y, axis=-1))
    return made


def subject(rows=8, **asked):
    made = graph(rows)
    rng = np.random.default_rng(0)
    arrays = [rng.random((rows, 256), np.float32) * np.float32(0.5) for _ in made.inputs]
    request = MeasureRequest("bisected", options=CompileOptions(cache=False), **({"threads": 1} | asked))
    return Subject(request, made, arrays, reference(made, *arrays), 1e-4)


def plant(monkeypatch, name, harm):
    """Have a kernel pass do harm after its own work."""

    def planted(census, run):
        removed = run(census)
        for function in census.functions.values():
            if harm(function):
                census.edits += 1
        return removed

    passes = tuple(
        (known, (lambda census, run=run: planted(census, run)) if known == name else run)
        for known, run in kernel_run.SHRINKING
    )
    monkeypatch.setattr(kernel_run, "SHRINKING", passes)


def wrong(function):
    """The first product becomes a sum."""
    for op in list(function.walk()):
        if isinstance(op, arith.MulfOp):
            new = arith.AddfOp(op.lhs, op.rhs)
            op.parent.insert_op_before(new, op)
            op.result.replace_all_uses_with(new.result)
            op.detach()
            op.erase()
            return True
    return False


def slow(function):
    """Every product is made by two divisions."""
    done = False
    for op in list(function.walk()):
        if isinstance(op, arith.MulfOp):
            last = op
            value = op.rhs
            for _ in range(8):  # the reciprocal of the reciprocal, again and again
                one = arith.DivfOp(value, value)
                last.parent.insert_op_before(one, op)
                value = arith.DivfOp(one.result, value)
                last.parent.insert_op_before(value, op)
                value = value.result
            op.operands[1] = value
            done = True
    return done


@pytest.mark.parametrize("name", ["inline", "mem2reg", "dead-symbols"])
def test_a_planted_wrong_rewrite_is_found(monkeypatch, name):
    plant(monkeypatch, name, wrong)
    *_, found = bisect(subject(), WRONG)
    assert [switch.name for switch in found.suspects] == [f"kernel:{name}"] and found.sure
    assert len(found.trials) <= 12
    assert f"kernel:{name} makes the results wrong" in found.words


@pytest.mark.slow
def test_a_planted_slow_rewrite_is_found(monkeypatch):
    plant(monkeypatch, "licm", slow)
    *_, found = bisect(subject(512), SLOW)
    assert [switch.name for switch in found.suspects] == ["kernel:licm"] and found.sure, found
    assert len(found.trials) <= 12


def test_what_is_known_can_be_had_at_any_time(monkeypatch):
    plant(monkeypatch, "cse", wrong)
    steps = bisect(subject(), WRONG)
    seen = [next(steps) for _ in range(4)]
    steps.close()
    left = [len(found.suspects) for found in seen]
    assert left == sorted(left, reverse=True) and left[-1] < left[0]
    assert all("kernel:cse" in {switch.name for switch in found.suspects} for found in seen)
    assert "makes the results wrong" in seen[-1].words


def test_right_results_have_nothing_to_find():
    *_, found = bisect(subject(), WRONG)
    assert not found.suspects and "nothing to find" in found.words and len(found.trials) == 1


def test_the_guilty_pass_is_shown_by_what_it_does(monkeypatch):
    plant(monkeypatch, "cse", wrong)
    one = subject()
    *_, found = bisect(one, WRONG)
    before, after, kernel = difference(one, found.suspects[0])
    assert kernel and before != after and after.count("arith.addf") == before.count("arith.addf") + 1


def test_every_pass_can_be_left_out_alone_and_all_of_them():
    options = CompileOptions(cache=False)
    made, names = graph(), optional_passes(options)
    assert {"kernel:licm", "llvm:loop-unroll", "llvm:sroa:2"} <= set(names)
    rng = np.random.default_rng(0)
    arrays = [rng.random((8, 256), np.float32) for _ in made.inputs]
    wanted = reference(made, *arrays)
    for left_out in (names, ["kernel:inline"], ["llvm:always-inliner"]):
        got = compile_graph(made, options, without=left_out).execute(*arrays)
        for mine, theirs in zip(got, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)


def test_a_compilation_that_leaves_passes_out_is_not_cached(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path))
    compile_graph(graph(), CompileOptions(), without=["kernel:licm"])
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "model" in path.parts]


def test_the_command_names_the_pass(tmp_path, monkeypatch, capsys):
    source = tmp_path / "g.py"
    source.write_text(
        "from compiler import Graph, TensorType, ops\n\n\ndef build():\n"
        "    g = Graph('g', inputs=[TensorType('f32', (8, 256)), TensorType('f32', (8, 256))])\n"
        "    with g:\n        x, y = g.inputs\n        g.output(ops.relu(x * y + x))\n    return g\n"
    )
    database = str(tmp_path / "t.db")
    run = ["run", str(source), "--repeat", "3", "--processes", "1", "--db", database]
    assert main(run) == main(run) == 0
    plant(monkeypatch, "cse", wrong)
    capsys.readouterr()
    assert main(["bisect", "1", "2", "--db", database, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["found"] == ["kernel:cse"] and found["sure"] and found["compilations"] <= 12
    assert found["before"] != found["after"]


def test_what_does_not_compile_without_some_says_nothing_of_them(monkeypatch):
    """Where one half cannot be left out, the other half is asked; nothing is concluded from a failure."""
    plant(monkeypatch, "cse", wrong)
    compiled = compile_graph

    def fails(made, options, library=None, *, without=()):
        if "kernel:licm" in without and len(without) > 1 and len(without) < len(optional_passes(options)):
            raise CompilerError("no way without it")
        return compiled(made, options, library, without=without)

    monkeypatch.setattr("compiler.pipeline.compile_graph", fails)
    *_, found = bisect(subject(), WRONG)
    assert any(trial.good is None and "does not compile" in trial.words for trial in found.trials)
    assert "kernel:cse" in {switch.name for switch in found.suspects}

    def always_fails(made, options, library=None, *, without=()):
        if without:
            raise CompilerError("no way without it")
        return compiled(made, options, library, without=without)

    monkeypatch.setattr("compiler.pipeline.compile_graph", always_fails)
    *_, found = bisect(subject(), WRONG)
    assert "cannot be told" in found.words and not found.suspects


def test_results_that_are_wrong_whatever_is_left_out_are_not_called_right(tmp_path, capsys):
    database = str(tmp_path / "t.db")
    run = ["run", "sample:softmax", "--repeat", "3", "--processes", "1", "--db", database]
    assert main(run) == main(run) == 0
    capsys.readouterr()
    assert main(["bisect", "1", "2", "--bound", "1e-30", "--db", database]) == 0
    assert "wrong whatever is left out" in capsys.readouterr().out
    assert main(["bisect", "1", "2", "--db", database]) == 2
    assert "gives right results now, and run 2 is not measurably slower than run 1" in capsys.readouterr().err


def test_runs_of_different_graphs_are_not_compared_for_speed(tmp_path, capsys):
    database = str(tmp_path / "t.db")
    for source in ("sample:softmax", "sample:mlp"):
        assert main(["run", source, "--repeat", "3", "--processes", "1", "--db", database]) == 0
    capsys.readouterr()
    assert main(["bisect", "1", "2", "--kind", "slow", "--db", database]) == 2
    assert "run 1 is of another graph than run 2" in capsys.readouterr().err


def test_unknown_runs_are_told_in_a_line(tmp_path, capsys):
    from profiler.store import open_store

    with open_store(tmp_path / "t.db"):
        pass
    assert main(["bisect", "1", "2", "--db", str(tmp_path / "t.db")]) == 2
    assert "there is no run 1" in capsys.readouterr().err
    assert issubclass(CompilerError, Exception)
