"""mo.matmul: batched matrix products of any rank from 2 on, through panels; one row or one column has its own way."""

from kernels.few_rows_product import are_few, few_rows_product
from kernels.gemm import gemm, pack_panel, pack_panels, reads_in_place
from kernels.gpu_matmul import gpu_matmul
from kernels.gpu_register_tiles import computes_often, register_matmul
from kernels.gpu_tensor_cores import has_tensor_cores, tensor_core_matmul
from kernels.gpu_vectors import vector_product
from kernels.gpu_warpgroup_matmul import warpgroup_matmul
from kernels.gpu_warpgroup_tiles import fits_warpgroups, is_turned, lays_out_sooner
from kernels.gpu_warpgroups import has_warpgroups
from kernels.indexing import delinearise, fix_leading, matrix_at, product
from kernels.language import *
from kernels.one_row_product import row_product
from kernels.rows import vectors, widths_for

# Rows or columns of one operand from which on 16-bit floats are not computed while the other one is packed.
OFTEN = 1024


@inline
def product_dtype(dt):
    """The type products are summed in: bools are counted."""
    if dt.name == "bool":
        return i32
    return dt.acc


@kernel("mo.matmul")
def matmul(out: FusedOutput, a: FusedInput, b: FusedInput):
    """out[..., i, j] is the sum over k of a[..., i, k] * b[..., k, j]."""
    swapped = tuple(range(out.rank - 2)) + (out.rank - 1, out.rank - 2)
    dt = product_dtype(out.dtype)
    one_row = is_static(out.shape[-2]) and out.shape[-2] == 1
    if target.is_nvidia and one_row and out.dtype.is_float:
        vector_product(out, a, b, dt)
    elif target.is_nvidia and is_static(out.shape[-1]) and out.shape[-1] == 1 and out.dtype.is_float:
        vector_product(out.permute(swapped), b.permute(swapped), a.permute(swapped), dt)
    elif target.is_gpu and fits_warpgroups(out, a, b):
        if is_turned(out):
            warpgroup_matmul(out.permute(swapped), b.permute(swapped), a.permute(swapped))
        else:
            warpgroup_matmul(out, a, b)
    elif target.is_gpu and has_tensor_cores(a, b):
        tensor_core_matmul(out, a, b)
    elif target.is_nvidia:
        register_matmul(out, a, b, dt)
    elif target.is_gpu:
        gpu_matmul(out, a, b, dt)
    elif one_row:
        row_product(out, a, b, dt, turned=False)
    elif is_static(out.shape[-1]) and out.shape[-1] == 1:
        row_product(out.permute(swapped), b.permute(swapped), a.permute(swapped), dt, turned=True)
    elif b.is_contiguous(b.rank - 1) and are_few(out.shape[-2]):
        few_rows_product(out, a, b, dt)
    else:
        panel_product(out, a, b, dt)


@stored("mo.matmul")
def operands_of_matmul(a, b, *, computed):
    """Where a card has what is computed on an operand stored first, or would compute it again for every tile; and where
    a processor would round an element to 16 bits again and again."""
    m, n = a.shape[-2], b.shape[-1]
    one = (is_static(m) and m == 1) or (is_static(n) and n == 1)
    if one or not a.dtype.is_float or (target.is_gpu and not target.is_nvidia):
        return False
    if not target.is_gpu:
        return a.dtype.bits == 16 and packs_often(n), a.dtype.bits == 16 and packs_often(m)
    if has_warpgroups(a.dtype):
        return not lays_out_sooner(a, b, computed)
    if has_tensor_cores(a, b):
        return True
    along = not a.is_contiguous(-2) and not b.is_contiguous(-2)
    return along and computes_often(n), along and computes_often(m)


@inline
def packs_often(size):
    """Whether an operand is packed so often, for so many rows or columns of the other, that what is computed on it is
    sooner stored."""
    return is_static(size) and size >= OFTEN


@inline
def panel_product(out, a, b, dt):
    """The general case."""
    m, n, depth = out.shape[-2], out.shape[-1], a.shape[-1]
    batch = out.shape[:-2]

    def pack_a(group, panel, i, rows, k0, count):
        source = fix_leading(a, delinearise(group, batch)).permute((1, 0))
        pack_panel(panel, 0, source, k0, count, i, rows, along=0)

    def copy_rows(group, panel, i, rows, k0, count, pitch):
        source = fix_leading(a, delinearise(group, batch))
        for r in range(rows):

            def part(k, w):
                panel.store(source[position((i + r, k0 + k), width=w, axis=1)].cast(dt), r * pitch + k)

            vectors(0, count, (target.simd(dt) * 2, 1), part)

    def pack_b(group, panels, j, columns, k0, count, width):
        source = fix_leading(b, delinearise(group, batch))
        pack_panels(panels, source, k0, count, j, columns, width, along=1)

    widths = widths_for(n, target.simd(dt) * 2)

    def store(group, i, j, columns, tile, start):
        lead = delinearise(group, batch) + (i,)

        def part(x, w):
            out[position(lead + (j + x,), width=w, axis=out.rank - 1)] = tile.load(start + x, width=w).cast(out.dtype)

        vectors(0, columns, widths, part)

    def rows_of_a(group):
        return matrix_at(a, delinearise(group, batch))

    gemm(
        m, n, depth, product(batch), dt, pack_a, pack_b, store,
        rows_of_a=rows_of_a if reads_in_place(a, dt) else None,
        copy_rows=copy_rows if a.is_contiguous(a.rank - 1) else None,
    )  # fmt: skip
