// RUN: mogg:unfused
builtin.module {
  mo.graph @g(%x: !mo.tensor<[M, 8], f32>) -> (!mo.tensor<[8, M], f32>) {
    %exp_0 = mo.exp(%x) : (!mo.tensor<[M, 8], f32>) -> !mo.tensor<[M, 8], f32>
    %t = mo.transpose(%exp_0) {perm = [1, 0]} : (!mo.tensor<[M, 8], f32>) -> !mo.tensor<[8, M], f32>
    mo.output %t : !mo.tensor<[8, M], f32>
  }
}
// CHECK: %exp_0.out = mogg.kernel @exp_kernel ins(%in0 = %x
// CHECK: %t.out = mogg.kernel @transpose_kernel ins(%in0 = %exp_0.out
