"""Device code: kept by the model as it was compiled, and linked to one PTX text in which every kernel is unchanged."""

import re

import pytest

from app.sources import load_source
from compiler import Graph, TensorType, compile, ops
from compiler.backend import llvm
from compiler.backend.device_code import kernels_in, link_ptx
from compiler.backend.llvm import compile_llvm
from compiler.backend.sass import find_tool, resources_of
from compiler.errors import CompilerError, LoweringError, UnavailableError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from compiler.targets import get_target

HEAD = 'target datalayout = "{layout}"\ntarget triple = "nvptx64-nvidia-cuda"\n'
# A function and a table that the unit keeps to itself, under names that another unit has as well.
UNIT = """
@table = internal addrspace(4) constant [4 x i32] [i32 {number}, i32 2, i32 3, i32 4]
@scratch = internal addrspace(3) global [64 x i32] poison
define internal i32 @helper(i32 %x) noinline {{
  %at = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %x
  %v = load i32, ptr addrspace(4) %at
  %s = getelementptr [64 x i32], ptr addrspace(3) @scratch, i32 0, i32 %x
  store volatile i32 %v, ptr addrspace(3) %s
  %w = load volatile i32, ptr addrspace(3) %s
  ret i32 %w
}}
define ptx_kernel void @{name}(ptr addrspace(1) %p) {{
  %x = load i32, ptr addrspace(1) %p
  store volatile i32 %x, ptr addrspace(3) @scratch
  %y = call i32 @helper(i32 %x)
  store i32 %y, ptr addrspace(1) %p
  ret void
}}
"""


@pytest.fixture
def ptxas():
    try:
        return find_tool("ptxas")
    except UnavailableError as missing:
        pytest.skip(str(missing))


def unit(name, number):
    target = get_target("sm_90a")
    text = HEAD.format(layout=target.data_layout) + UNIT.format(name=name, number=number)
    return compile_llvm(text, target).object.decode()


def model_of(source, **options):
    return compile_graph(load_source(source).graph, CompileOptions(**{"target": "sm_90a", "cache": False, **options}))


@pytest.mark.parametrize("flow", ["per-kernel", "all-kernel"])
@pytest.mark.parametrize("target", ["sm_90a", "gfx942"])
def test_a_model_keeps_the_code_of_every_kernel(target, flow):
    model = model_of("sample:mlp", target=target, flow=flow)
    units = model.device_code()
    assert sorted(name for unit in units for name in unit.kernels) == sorted(k.name for k in model.kernels)
    assert sum(len(unit.code) for unit in units) == model.stats["bytes"]["machine"]


def test_nothing_is_compiled_again_for_ptx_that_is_there(monkeypatch):
    from profiler.measure.cuda.program import ptx_of

    model = model_of("sample:mlp")
    monkeypatch.setattr(llvm, "optimise", lambda *_, **__: pytest.fail("LLVM runs again"))
    assert ptx_of(model) == tuple(unit.code for unit in model.device_code())
    assert model.kernels[0].ir("ptx").encode() == model.kernels[0].device_unit.code


def test_device_code_comes_from_every_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path))
    cold = model_of("sample:mlp", cache=True)
    whole = model_of("sample:mlp", cache=True)
    assert whole.device_code() == cold.device_code()
    kernel = cold.kernels[-1]
    edited = model_of("sample:mlp", cache=True, sources=((kernel.name, kernel.source + "\n# edited\n"),))
    assert {unit.name: unit.code for unit in edited.device_code()} == {u.name: u.code for u in cold.device_code()}


def test_a_kernel_is_the_same_code_in_both_flows():
    flows = [model_of("sample:transformer-block", flow=flow) for flow in ("per-kernel", "all-kernel")]
    codes = [{unit.name: unit.code for unit in model.device_code()} for model in flows]
    assert codes[0] == codes[1]


def test_the_cpu_has_no_device_code():
    model = model_of("sample:softmax", target="cpu")
    with pytest.raises(CompilerError, match="no device code"):
        model.device_code()
    with pytest.raises(CompilerError, match="no PTX"):
        model.device_module()


@pytest.mark.parametrize("debug", ["none", "line-tables"])
def test_linked_kernels_are_the_same_machine_code(debug, ptxas):
    model = model_of("sample:transformer-block", debug=debug)
    alone = {entry.name: entry for unit in model.device_code() for entry in resources_of(unit.code, "sm_90a")}
    linked = {entry.name: entry for entry in resources_of(model.device_module(), "sm_90a")}
    assert linked == alone and len(linked) == len(model.kernels) > 1


def test_what_units_keep_to_themselves_does_not_clash(ptxas):
    texts = [unit("first", 1), unit("second", 5), unit("third", 9)]
    assert all("helper" in text and "table" in text for text in texts)
    linked = link_ptx(texts)
    assert kernels_in(linked.encode()) == ("first", "second", "third")
    assert {entry.name for entry in resources_of(linked.encode(), "sm_90a")} == {"first", "second", "third"}
    for name in ("helper", "table", "scratch"):
        assert set(re.findall(rf"\b{name}(?:__\d)?\b", linked)) == {f"{name}__{number}" for number in range(3)}


def test_line_tables_name_the_same_files_after_linking():
    model = model_of("sample:mlp", debug="line-tables")

    def places(text, kernel):
        files, found = {}, []
        for line in text.splitlines():
            words = line.split(maxsplit=2)
            if words[:1] == [".file"]:
                files[words[1]] = words[2]
        body = text.split(f".entry {kernel}(")[1].split("\n}")[0]
        for line in body.splitlines():
            words = line.split()
            if words[:1] == [".loc"]:
                found.append((files[words[1]], *words[2:]))
        return found

    linked = model.device_module().decode()
    for kernel in model.kernels:
        assert places(linked, kernel.name) == places(kernel.device_unit.ptx, kernel.name) != []


def test_one_text_stays_as_it_is_and_different_targets_do_not_link():
    text = unit("first", 1)
    assert link_ptx([text]) is text
    with pytest.raises(LoweringError, match="sm_80, sm_90a"):
        link_ptx([text, text.replace(".target sm_90a", ".target sm_80")])


def test_the_newest_version_of_ptx_is_asked_for():
    texts = [unit("first", 1).replace(".version 8.3", ".version 9.0"), unit("second", 1)]
    assert link_ptx(texts).startswith(".version 9.0\n.target sm_90a\n.address_size 64\n")


def test_halves_are_added_one_by_one_as_ptxas_forgets_a_constant_otherwise() -> None:
    """`VIADD.16x2 R0, R4, 0x0` is what ptxas 13.0 makes of `add.s16x2` with 254, where one half of the sum is used."""
    with Graph("less", inputs=[TensorType("u8", (1,))]) as graph:
        twice = ops.tile(graph.inputs[0], (2,)) - 2
        graph.output(ops.tril(ops.concat([twice[None]] * 3, 0))[:, ::-1])
    (kernel,) = compile(graph, target="sm_90a", cache=False).kernels
    text = kernel.ir("ptx")
    assert "16x2" not in text and text.encode() == kernel.unit.object
    added = re.findall(r"mov\.b32 \{a, b\}, %r\d+; mov\.b32 \{c, d\}, %r\d+; add\.s16 a, a, c; add\.s16 b, b, d;", text)
    assert len(added) == 3
