"""PTX to loaded kernels: the driver compiles each text once, and what it says about it is kept.

Texts that are new are linked to one module: the driver compiles the kernels of one module on all processors, but
modules one after the other, whatever threads ask for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compiler.backend.device_code import kernels_in, link_ptx
from compiler.errors import CompilerError, UnavailableError
from profiler.measure.cuda.device import Device
from profiler.measure.cuda.driver import call, driver

_LOG = 64 << 10
_EVERY_PROCESSOR = 0


class PtxError(CompilerError):
    """PTX that the driver refuses; `log` holds all it said."""

    def __init__(self, name: str, log: str) -> None:
        words = " | ".join(line.strip() for line in log.splitlines() if line.strip())
        super().__init__(f"the driver refuses this PTX: {words or name}")
        self.name = name
        self.log = log


@dataclass(frozen=True)
class Function:
    """A loaded kernel and what the driver's compiler used for it."""

    name: str
    handle: Any
    registers: int
    shared_bytes: int
    local_bytes: int


@dataclass(frozen=True)
class _Module:
    """A module of the driver and what it said while compiling it."""

    handle: Any
    log: str


@dataclass(frozen=True)
class Loaded:
    """The kernels of some PTX texts by name."""

    functions: dict[str, Function]
    log: str


_CACHE: dict[tuple[int, bytes], _Module] = {}  # modules stay loaded: unloading waits for the device


def load(device: Device, texts: Sequence[bytes], names: Sequence[str]) -> Loaded:
    """Load PTX texts, as one module as far as they are new, and find the kernels called `names` in them.

    The driver keeps compiled code on disk, in its own compute cache, keyed by the text.
    """
    device.activate()
    new = [text for text in dict.fromkeys(texts) if (device.index, text) not in _CACHE]
    if new:
        module = _linked(device, new)
        _CACHE.update({(device.index, text): module for text in new})
    homes = {name: _CACHE[device.index, text] for text in texts for name in kernels_in(text)}
    functions: dict[str, Function] = {}
    for name in names:
        if name not in homes:
            raise CompilerError(f"no PTX of the model has a kernel {name!r}")
        functions[name] = _function(homes[name].handle, name)
    logs = dict.fromkeys(_CACHE[device.index, text].log for text in texts)
    return Loaded(functions, "\n".join(filter(None, logs)))


def load_cubins(device: Device, cubins: Sequence[bytes], names: Sequence[str]) -> Loaded:
    """Load machine code as it is, and find the kernels called `names` in it."""
    device.activate()
    modules = [call(driver().cuModuleLoadData, cubin) for cubin in cubins]
    functions: dict[str, Function] = {}
    for name in names:
        for module in modules:
            status, _ = driver().cuModuleGetFunction(module, name.encode())
            if status.value == 0:
                functions[name] = _function(module, name)
                break
        else:
            raise CompilerError(f"no machine code of the model has a kernel {name!r}")
    return Loaded(functions, "")


def _linked(device: Device, texts: Sequence[bytes]) -> _Module:
    if len(texts) == 1:
        return _compile(device, texts[0])
    try:
        return _compile(device, link_ptx([text.decode() for text in texts]).encode())
    except PtxError:
        for text in texts:  # which one it is, and on which of its own lines
            _compile(device, text)
        raise


def _compile(device: Device, ptx: bytes) -> _Module:
    split = getattr(driver().CUjit_option, "CU_JIT_SPLIT_COMPILE", None)
    if split is not None:
        try:
            return _compile_with(device, ptx, {split: _EVERY_PROCESSOR})
        except PtxError as refused:
            if refused.name != "CUDA_ERROR_INVALID_VALUE":  # a driver that does not know the option
                raise
    return _compile_with(device, ptx, {})


def _compile_with(device: Device, ptx: bytes, more: dict[Any, Any]) -> _Module:
    api = driver()
    device.activate()
    kinds = api.CUjit_option
    info, errors = bytearray(_LOG), bytearray(_LOG)
    options = {
        kinds.CU_JIT_INFO_LOG_BUFFER: info,
        kinds.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: _LOG,
        kinds.CU_JIT_ERROR_LOG_BUFFER: errors,
        kinds.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: _LOG,
        kinds.CU_JIT_LOG_VERBOSE: 1,
        **more,
    }
    status, module = api.cuModuleLoadDataEx(ptx + b"\0", len(options), list(options), list(options.values()))
    if status.value == 0:
        return _Module(module, _text(info))
    name = status.name
    if name == "CUDA_ERROR_NO_BINARY_FOR_GPU":
        raise UnavailableError(f"the PTX is for another chip than cuda:{device.index} (sm_{device.capability})")
    if name == "CUDA_ERROR_UNSUPPORTED_PTX_VERSION":
        raise UnavailableError(f"the driver ({device.record.driver}) is too old for this PTX: {_text(errors)}")
    raise PtxError(name, _text(errors) or name)


def _text(buffer: bytearray) -> str:
    return bytes(buffer).split(b"\0", 1)[0].decode(errors="replace").strip()


def _function(module: Any, name: str) -> Function:
    api = driver()
    handle = call(api.cuModuleGetFunction, module, name.encode())
    kinds = api.CUfunction_attribute
    registers, shared, local = (
        call(api.cuFuncGetAttribute, kind, handle)
        for kind in (
            kinds.CU_FUNC_ATTRIBUTE_NUM_REGS,
            kinds.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            kinds.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
        )
    )
    return Function(name, handle, registers, shared, local)
