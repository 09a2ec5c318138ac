// RUN: ledger
builtin.module {
  mo.graph @g(%x: !mo.tensor<[M, 8], f32>, %w: !mo.tensor<[8, 8], f32>) -> (!mo.tensor<[M, 8], f32>) {
    %exp_0 = mo.exp(%x) : (!mo.tensor<[M, 8], f32>) -> !mo.tensor<[M, 8], f32>
    %p = mo.matmul(%exp_0, %w) : (!mo.tensor<[M, 8], f32>, !mo.tensor<[8, 8], f32>) -> !mo.tensor<[M, 8], f32>
    %r = mo.relu(%p) : (!mo.tensor<[M, 8], f32>) -> !mo.tensor<[M, 8], f32>
    %q = mo.matmul(%exp_0, %w) : (!mo.tensor<[M, 8], f32>, !mo.tensor<[8, 8], f32>) -> !mo.tensor<[M, 8], f32>
    %s = mo.add(%r, %q) : (!mo.tensor<[M, 8], f32>, !mo.tensor<[M, 8], f32>) -> !mo.tensor<[M, 8], f32>
    mo.output %s : !mo.tensor<[M, 8], f32>
  }
}
// CHECK: exp_0 -> p: no, prologue, other users, 0
// CHECK: p -> r: yes, epilogue, applied to the result before it is stored, 64*M
// CHECK: exp_0 -> q: no, prologue, other users, 0
// CHECK: r -> s: no, elementwise-chain, already in the kernel of p, 0
// CHECK: q -> s: yes, epilogue
