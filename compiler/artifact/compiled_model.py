"""What a compilation comes to: what the model is made of, what the cache keeps."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.language.kernel_record import ElaboratedKernel
from compiler.passes.fusion.records import FusionResult
from compiler.program.host_program import HostProgram


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """What was fused, what elaboration found out about each kernel, how it is run, and the code."""

    fusion: FusionResult
    records: dict[str, ElaboratedKernel]
    host: HostProgram
    objects: list[bytes]
