"""What the GPU tests share: the device, a worker process that runs kernels, and cases compiled ahead on all cores.

Kernels run in the worker, so that one that faults fails its own test and no other. No Qt, no plugin is needed here.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else JAX takes most of the card at once
sys.path.insert(0, str(Path(__file__).parent.parent / "profiler"))  # runs are recorded here as there

from compiler.errors import UnavailableError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

HERE = Path(__file__).parent
_SECONDS = 300.0


def load_beside(path: Path) -> ModuleType:
    """A file of the tests as a module: test folders are not packages, as xDSL's wheel has a `tests` of its own."""
    name = f"kg_{path.parent.name}_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a case and dtype."""
    if "variant" in metafunc.fixturenames:
        variants = load_beside(HERE / "cases.py").variants()
        metafunc.parametrize("variant", [f"{case.name}[{dtype}]" for case, dtype in variants])


@pytest.fixture(autouse=True)
def share_of_the_card(request: pytest.FixtureRequest) -> Iterator[None]:
    """Counters and samples are of the whole card: files that say ALONE have it to themselves, whatever tests run in
    other processes; the others share it."""
    with open(Path(tempfile.gettempdir()) / f"kernelglass-card-{os.getuid()}.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if getattr(request.module, "ALONE", False) else fcntl.LOCK_SH)
        yield


@pytest.fixture(scope="session")
def device() -> Any:
    from profiler.measure.cuda.device import open_device

    try:
        return open_device(0)
    except UnavailableError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def worker(device: Any) -> Iterator[Any]:
    from profiler.measure.cuda.worker import CudaWorker

    with CudaWorker(0) as worker:
        yield worker


@pytest.fixture(scope="session")
def run(device: Any, worker: Any) -> Any:
    """run(model or graph, arrays) -> CudaResponse, in the worker; a failure there fails the test with its words."""
    from compiler.graph.binding import bind
    from profiler.measure.cuda.messages import FINISHED, CudaRequest
    from profiler.measure.cuda.program import program_of

    def run(source: Any, arrays: list[np.ndarray], **more: Any) -> Any:
        compiled = hasattr(source, "fusion")
        model = source if compiled else compile_graph(source, CompileOptions(target=device.target, cache=False))
        graph = model.graph
        program = program_of(model, bind(graph.input_types, arrays, graph.input_names))
        response = worker.run(CudaRequest(program, tuple(arrays), poison=True, **more), time_limit=60.0)
        if response.status != FINISHED:
            pytest.fail(f"{response.failure} in {response.kernel or '?'}: {response.error}", pytrace=False)
        return response

    return run


@pytest.fixture(scope="session")
def prepared(device: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """prepared(variant) -> path of its compiled request and expected results, made by processes on every core."""
    folder = tmp_path_factory.mktemp("prepared")
    wanted = [item.callspec.params["variant"] for item in request.session.items if _is_variant(item)]  # type: ignore[attr-defined]
    (folder / "wanted.txt").write_text("\n".join(wanted))
    count = max(1, min(len(wanted), len(os.sched_getaffinity(0)) - 2))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    environment |= {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [sys.executable, str(HERE / "compiling.py"), str(folder), device.target, str(count)]
    processes = [subprocess.Popen([*command, str(k)], env=environment) for k in range(count)]

    def prepared(variant: str) -> Path:
        path = folder / f"{variant}.pickle"
        failed = folder / f"{variant}.error"
        deadline = time.monotonic() + _SECONDS
        while not path.exists():
            if failed.exists():
                pytest.fail(failed.read_text(), pytrace=False)
            if time.monotonic() > deadline or all(process.poll() is not None for process in processes):
                if path.exists() or failed.exists():
                    continue
                pytest.fail("it was never compiled", pytrace=False)
            time.sleep(0.02)
        return path

    yield prepared
    for process in processes:
        process.kill()
        process.wait()


def _is_variant(item: pytest.Item) -> bool:
    return "variant" in getattr(getattr(item, "callspec", None), "params", {})


def distance(result: np.ndarray, truth: np.ndarray) -> float:
    """||result - truth|| / ||truth|| in f64; infinite where NaN or infinity stand in other places."""
    a, b = result.astype(np.float64).reshape(-1), truth.astype(np.float64).reshape(-1)
    odd = ~np.isfinite(b)
    if not np.array_equal(a[odd], b[odd], equal_nan=True) or not np.isfinite(a[~odd]).all():
        return float("inf")
    norm = float(np.linalg.norm(b[~odd]))
    error = float(np.linalg.norm(a[~odd] - b[~odd]))
    return error / norm if norm else error


@pytest.fixture(scope="session")
def apart() -> Any:
    return distance
