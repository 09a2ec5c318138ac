// RUN: simplify dce
builtin.module {
  mo.graph @g(%x: !mo.tensor<[M, 4], f32>) -> (!mo.tensor<[M, 4], f32>) {
    %one = mo.constant() {value = #mo.array<[], f32, [1.0]>} : () -> !mo.tensor<[], f32>
    %ones = mo.broadcast_to(%one) {shape = [M, 4]} : (!mo.tensor<[], f32>) -> !mo.tensor<[M, 4], f32>
    %exp_0 = mo.exp(%x) : (!mo.tensor<[M, 4], f32>) -> !mo.tensor<[M, 4], f32>
    %mul_0 = mo.mul(%exp_0, %ones) : (!mo.tensor<[M, 4], f32>, !mo.tensor<[M, 4], f32>) -> !mo.tensor<[M, 4], f32>
    %t0 = mo.transpose(%mul_0) {perm = [1, 0]} : (!mo.tensor<[M, 4], f32>) -> !mo.tensor<[4, M], f32>
    %t1 = mo.transpose(%t0) {perm = [1, 0]} : (!mo.tensor<[4, M], f32>) -> !mo.tensor<[M, 4], f32>
    mo.output %t1 : !mo.tensor<[M, 4], f32>
  }
}
// The survivor answers for the nodes that went away.
// CHECK:      mo.graph @g
// CHECK-NEXT:   %exp_0 = mo.exp(%x) : (!mo.tensor<[M, 4], f32>) -> !mo.tensor<[M, 4], f32> loc(fused["exp_0", "mul_0"
// CHECK-NEXT:   mo.output %exp_0
