// RUN: mgp
builtin.module {
  mo.graph @g(%x: !mo.tensor<[M, 8], f32>, %w: !mo.tensor<[8, 8], f32>) -> (!mo.tensor<[M, 8], f32>) {
    %k = mo.constant() {value = #mo.array<[2], f32, [1.0, 2.0]>} : () -> !mo.tensor<[2], f32>
    %p = mo.matmul(%x, %w) : (!mo.tensor<[M, 8], f32>, !mo.tensor<[8, 8], f32>) -> !mo.tensor<[M, 8], f32>
    %s = mo.softmax(%p) {axis = 1} : (!mo.tensor<[M, 8], f32>) -> !mo.tensor<[M, 8], f32>
    mo.output %s : !mo.tensor<[M, 8], f32>
  }
}
// A constant that nobody reads is not part of the program.
// CHECK-NOT:  mgp.constant
// CHECK:      %p = mgp.alloc {bytes = 32*M, first = 0, last = 1} : !mo.tensor<[M, 8], f32>
// CHECK-NEXT: mgp.call @matmul_kernel(%x, %w) -> (%p)
// CHECK-NEXT: mgp.call @softmax_kernel(%p) -> (%s)
// CHECK-NEXT: mgp.release %p
