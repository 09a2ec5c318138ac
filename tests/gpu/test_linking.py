"""A model's device code is one module on the device: linked, compiled once, and only what is new the next time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.sources import load_source
from compiler.errors import CompilerError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from profiler.measure.cuda import module as cuda_module

pytestmark = pytest.mark.gpu
_KERNEL = """.version 8.0
.target {target}
.address_size 64
.global .align 4 .b8 table[16] = {{{number}, 0, 0, 0}};
.func (.param .b32 r) own(.param .b32 x)
{{
.reg .b32 %r<3>; .reg .b64 %a;
ld.param.b32 %r1, [x];
mov.u64 %a, table;
ld.global.u32 %r2, [%a];
add.u32 %r1, %r1, %r2;
st.param.b32 [r], %r1;
ret;
}}
.visible .entry {name}(.param .u64 o)
{{
.reg .b64 %a; .reg .b32 %r<3>;
ld.param.u64 %a, [o];
mov.u32 %r1, 100;
{{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call (q), own, (p); ld.param.b32 %r2, [q]; }}
st.global.u32 [%a], %r2;
ret;
}}
"""


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The texts that the driver is given to compile."""
    seen: list[bytes] = []
    compiled = cuda_module._compile

    def noted(device: Any, ptx: bytes) -> Any:
        seen.append(ptx)
        return compiled(device, ptx)

    monkeypatch.setattr(cuda_module, "_compile", noted)
    monkeypatch.setattr(cuda_module, "_CACHE", {})
    return seen


def _text(device: Any, name: str, number: int) -> bytes:
    return _KERNEL.format(target=f"sm_{device.capability}", name=name, number=number).encode()


def _launch(device: Any, function: Any) -> int:
    from profiler.measure.cuda.driver import call, driver
    from profiler.measure.cuda.program import Packed

    api = driver()
    memory = call(api.cuMemAlloc, 4)
    packed = Packed([int(memory)], [])
    call(api.cuLaunchKernel, function.handle, 1, 1, 1, 1, 1, 1, 0, 0, packed.address, 0)
    call(api.cuCtxSynchronize)
    result = np.zeros(1, np.int32)
    call(api.cuMemcpyDtoH, result.ctypes.data, memory, 4)
    call(api.cuMemFree, memory)
    return int(result[0])


def test_units_that_name_things_alike_run_in_one_module(device: Any, loads: list[bytes]) -> None:
    texts = [_text(device, "a", 1), _text(device, "b", 2), _text(device, "c", 3)]
    loaded = cuda_module.load(device, texts, ["a", "b", "c"])
    assert len(loads) == 1
    assert [_launch(device, loaded.functions[name]) for name in "abc"] == [101, 102, 103]


def test_only_what_is_new_is_compiled_and_names_mean_the_newest(device: Any, loads: list[bytes]) -> None:
    cuda_module.load(device, [_text(device, "a", 1), _text(device, "b", 2)], ["a", "b"])
    edited = cuda_module.load(device, [_text(device, "a", 1), _text(device, "b", 7)], ["a", "b"])
    assert loads[1:] == [_text(device, "b", 7)]
    assert [_launch(device, edited.functions[name]) for name in "ab"] == [101, 107]
    before = cuda_module.load(device, [_text(device, "a", 1), _text(device, "b", 2)], ["a", "b"])
    assert len(loads) == 2
    assert _launch(device, before.functions["b"]) == 102


def test_a_unit_that_the_driver_refuses_is_named_by_its_own_lines(device: Any, loads: list[bytes]) -> None:
    wrong = _text(device, "b", 2).replace(b"mov.u32 %r1, 100", b"mov.u33 %r1, 100")
    line = wrong[: wrong.index(b"u33")].count(b"\n") + 1
    with pytest.raises(CompilerError, match=rf"line {line}; .*u33"):
        cuda_module.load(device, [_text(device, "a", 1), wrong], ["a", "b"])


def test_linked_kernels_use_what_they_use_alone(device: Any, loads: list[bytes]) -> None:
    model = compile_graph(
        load_source("sample:transformer-block").graph, CompileOptions(target=device.target, cache=False)
    )
    texts, names = [unit.code for unit in model.device_code()], [kernel.name for kernel in model.kernels]
    linked = cuda_module.load(device, texts, names).functions
    assert len(loads) == 1
    cuda_module._CACHE.clear()
    alone = {unit.name: cuda_module.load(device, [unit.code], [unit.name]) for unit in model.device_code()}
    for name in names:
        one = alone[name].functions[name]
        both = [(f.registers, f.shared_bytes, f.local_bytes) for f in (linked[name], one)]
        assert both[0] == both[1]
