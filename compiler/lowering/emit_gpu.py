"""gpu: thread and block numbers and the barrier, as each vendor's intrinsics."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.dialects import gpu
from xdsl.ir import Operation

from compiler.lowering.emitter import Emitter

_NVIDIA = {"thread_id": "tid", "block_id": "ctaid", "block_dim": "ntid", "grid_dim": "nctaid"}
_AMD = {"thread_id": "workitem.id", "block_id": "workgroup.id"}
_AXES = "xyz"


def _number(e: Emitter, op: Operation, stem: str, what: str) -> str:
    """Read an i32 from an intrinsic and widen it; returns the widened name."""
    name = e.define(op.results[0], stem)
    e.declare(what, "i32", "")
    e.lines += (f"  {name}.i32 = call i32 {what}()", f"  {name} = zext nneg i32 {name}.i32 to i64")
    return name


def _place(kind: str, stem: str):
    def emit(e: Emitter, op: Operation) -> None:
        axis = op.properties["dimension"].data.value  # pyright: ignore[reportAttributeAccessIssue]
        if e.target.is_nvidia:
            _number(e, op, stem, f"@llvm.nvvm.read.ptx.sreg.{_NVIDIA[kind]}.{axis}")
        elif e.target.is_amd and kind in _AMD:
            _number(e, op, stem, f"@llvm.amdgcn.{_AMD[kind]}.{axis}")
        elif e.target.is_amd:
            _amd_size(e, op, kind, stem, _AXES.index(axis))
        else:
            raise e.fail(op, f"{op.name} has no meaning on {e.target.name}: it is for GPU targets")

    return emit


def _amd_size(e: Emitter, op: Operation, kind: str, stem: str, axis: int) -> None:
    """Sizes come from the dispatch packet: block sizes as u16 at byte 4, grid sizes (in threads) as u32 at byte 12."""
    e.declare("@llvm.amdgcn.dispatch.ptr", "ptr addrspace(4)", "")
    name = e.define(op.results[0], stem)
    block = name if kind == "block_dim" else f"{name}.block"
    e.lines += (
        f"  {name}.packet = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()",
        f"  {name}.at = getelementptr inbounds i8, ptr addrspace(4) {name}.packet, i64 {4 + 2 * axis}",
        f"  {name}.u16 = load i16, ptr addrspace(4) {name}.at, align 2, !invariant.load !{e.metadata.empty()}",
        f"  {block} = zext i16 {name}.u16 to i64",
    )
    if kind == "grid_dim":
        e.lines += (
            f"  {name}.at2 = getelementptr inbounds i8, ptr addrspace(4) {name}.packet, i64 {12 + 4 * axis}",
            f"  {name}.u32 = load i32, ptr addrspace(4) {name}.at2, align 4, !invariant.load !{e.metadata.empty()}",
            f"  {name}.threads = zext i32 {name}.u32 to i64",
            f"  {name} = udiv i64 {name}.threads, {block}",
        )


def _barrier(e: Emitter, op: Operation) -> None:
    e.has_barrier = True
    if e.target.is_nvidia:
        e.declare("@llvm.nvvm.barrier.cta.sync.aligned.all", "void", "i32")
        e.lines.append("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)")
    elif e.target.is_amd:
        e.declare("@llvm.amdgcn.s.barrier", "void", "")
        e.lines += (
            '  fence syncscope("workgroup") release',
            "  call void @llvm.amdgcn.s.barrier()",
            '  fence syncscope("workgroup") acquire',
        )
    else:
        raise e.fail(op, "gpu.barrier has no meaning on a CPU: call kg_barrier")


def _lane(e: Emitter, op: Operation) -> None:
    if e.target.is_nvidia:
        _number(e, op, "lane", "@llvm.nvvm.read.ptx.sreg.laneid")
    elif e.target.is_amd:
        name = e.define(op.results[0], "lane")
        e.declare("@llvm.amdgcn.mbcnt.lo", "i32", "i32, i32")
        e.declare("@llvm.amdgcn.mbcnt.hi", "i32", "i32, i32")
        last = "lo" if e.target.warp_size == 32 else "hi"
        e.lines.append(f"  {name}.lo = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)")
        if last == "hi":
            e.lines.append(f"  {name}.hi = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 {name}.lo)")
        e.lines.append(f"  {name} = zext nneg i32 {name}.{last} to i64")
    else:
        raise e.fail(op, "gpu.lane_id has no meaning on a CPU")


def _subgroup_size(e: Emitter, op: Operation) -> None:
    e.names[id(op.results[0])] = str(e.target.warp_size)


EMITTERS = {
    gpu.ThreadIdOp: _place("thread_id", "thread"),
    gpu.BlockIdOp: _place("block_id", "block"),
    gpu.BlockDimOp: _place("block_dim", "blockdim"),
    gpu.GridDimOp: _place("grid_dim", "griddim"),
    gpu.BarrierOp: _barrier,
    gpu.LaneIdOp: _lane,
    gpu.SubgroupSizeOp: _subgroup_size,
}
