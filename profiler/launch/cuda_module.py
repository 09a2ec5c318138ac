"""PTX to loaded kernels: the driver compiles each text once, and what it says about it is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from compiler.errors import CompilerError, UnavailableError
from profiler.launch.cuda import Device
from profiler.launch.cuda_driver import call, driver

_LOG = 64 << 10
_LOADERS = 8


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
    max_threads: int


@dataclass(frozen=True)
class Loaded:
    """The kernels of some PTX texts by name."""

    functions: dict[str, Function]
    log: str
    seconds: float


_CACHE: dict[tuple[int, str], tuple[Any, str]] = {}  # modules stay loaded: unloading waits for the device


def load(device: Device, texts: Sequence[bytes], names: Sequence[str]) -> Loaded:
    """Load PTX texts (several at a time) and find the kernels called `names` in them.

    The driver keeps compiled code on disk, in its own compute cache, keyed by the text.
    """
    start = perf_counter()
    device.activate()
    if len(texts) > 1:
        with ThreadPoolExecutor(min(_LOADERS, len(texts))) as pool:
            modules = list(pool.map(lambda text: _module(device, text), texts))
    else:
        modules = [_module(device, text) for text in texts]
    functions: dict[str, Function] = {}
    for name in names:
        functions[name] = _function([module for module, _ in modules], name)
    log = "\n".join(text for _, text in modules if text)
    return Loaded(functions, log, perf_counter() - start)


def _module(device: Device, ptx: bytes) -> tuple[Any, str]:
    key = (device.index, hashlib.sha256(ptx).hexdigest())
    found = _CACHE.get(key)
    if found is None:
        found = _CACHE[key] = _compile(device, ptx)
    return found


def _compile(device: Device, ptx: bytes) -> tuple[Any, str]:
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
    }
    status, module = api.cuModuleLoadDataEx(ptx + b"\0", len(options), list(options), list(options.values()))
    if status.value == 0:
        return module, _text(info)
    name = status.name
    if name == "CUDA_ERROR_NO_BINARY_FOR_GPU":
        raise UnavailableError(f"the PTX is for another chip than cuda:{device.index} (sm_{device.capability})")
    if name == "CUDA_ERROR_UNSUPPORTED_PTX_VERSION":
        raise UnavailableError(f"the driver ({device.record.driver}) is too old for this PTX: {_text(errors)}")
    raise PtxError(name, _text(errors) or name)


def _text(buffer: bytearray) -> str:
    return bytes(buffer).split(b"\0", 1)[0].decode(errors="replace").strip()


def _function(modules: Sequence[Any], name: str) -> Function:
    api = driver()
    for module in modules:
        status, handle = api.cuModuleGetFunction(module, name.encode())
        if status.value == 0:
            kinds = api.CUfunction_attribute
            registers, shared, local, threads = (
                call(api.cuFuncGetAttribute, kind, handle)
                for kind in (
                    kinds.CU_FUNC_ATTRIBUTE_NUM_REGS,
                    kinds.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                    kinds.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
                    kinds.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                )
            )
            return Function(name, handle, registers, shared, local, threads)
        if status.name != "CUDA_ERROR_NOT_FOUND":
            raise CompilerError(f"cuModuleGetFunction: {status.name} for kernel {name}")
    raise CompilerError(f"no PTX of the model has a kernel {name!r}")
