// RUN: source
// A transposed result is stored through the view: no second kernel.
builtin.module {
  mo.graph @g(%x: !mo.tensor<[M, 8], f32>, %w: !mo.tensor<[8, 4], f32>) -> (!mo.tensor<[4, M], f32>) {
    %p = mo.matmul(%x, %w) : (!mo.tensor<[M, 8], f32>, !mo.tensor<[8, 4], f32>) -> !mo.tensor<[M, 4], f32>
    %t = mo.transpose(%p) {perm = [1, 0]} : (!mo.tensor<[M, 4], f32>) -> !mo.tensor<[4, M], f32>
    mo.output %t : !mo.tensor<[4, M], f32>
  }
}
// CHECK:      def matmul_kernel(out0: Tensor[f32, (4, M)], in0: Tensor[f32, (M, 8)], in1: Tensor[f32, (8, 4)]):
// CHECK-NEXT:   matmul(out0.permute((1, 0)), in0, in1)
// CHECK-NOT:  @kernel
