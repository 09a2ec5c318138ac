"""The lists of what may be asked, and of the stages: everything that names stages has them from one place."""

import pytest

from compiler import options
from compiler.errors import CompilerError
from compiler.options import CompileOptions, ir_stage
from compiler.targets import get_target


def test_the_stages_of_models_and_kernels_are_those_that_ir_documents():
    assert " ".join(options.IR_STAGES) == "mo mogg mgp kgen kernel llvm llvm-opt asm ptx sass"
    assert (*options.IR_STAGES, "object", "source") == options.EMITTED
    assert set(options.COMMON_STAGES) == set(options.KERNEL_STAGES) - {"ptx", "sass"}


def test_every_stage_is_looked_at_or_timed_or_part_of_one_that_is():
    for stage in options.STAGES:
        assert stage.text or stage.work or stage.within in options.TIMED_STAGES
        assert bool(stage.text) == bool(stage.title)
        assert not stage.same_as or stage.same_as in options.KERNEL_STAGES


def test_special_stages_are_those_that_some_targets_have_and_others_lack():
    offered = [set(get_target(name).emission.stages) for name in ("cpu", "sm_90a", "gfx942")]
    for stage in options.STAGES:
        if stage.special:
            assert {stage.name in stages for stages in offered} == {True, False}
    assert set.union(*offered) <= set(options.KERNEL_STAGES)


def test_a_stage_that_is_none_is_named_with_those_there_are():
    for name in ("source", "machine", "nothing"):
        with pytest.raises(CompilerError, match=f"unknown stage '{name}'; the stages are mo mogg mgp kgen"):
            ir_stage(name)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"flow": "fast"}, "unknown flow 'fast'; the flows are all-kernel per-kernel"),
        ({"debug": "full"}, "unknown debug level 'full'; the levels are none line-tables"),
        ({"opt_level": 4}, "unknown optimisation level 4; the levels are 0 1 2 3"),
        ({"opt_level": True}, "unknown optimisation level True"),
        ({"jobs": 0}, "jobs is a number of at least 1, not 0"),
    ],
)
def test_a_value_that_is_not_known_is_refused(given, message):
    with pytest.raises(CompilerError, match=message):
        CompileOptions(**given).check()
