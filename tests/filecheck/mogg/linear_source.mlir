// RUN: source
builtin.module {
  mo.graph @g(%x: !mo.tensor<[M, 8], f32>, %w: !mo.tensor<[8, 4], f32>, %b: !mo.tensor<[4], f32>) -> (!mo.tensor<[M, 4], f32>) {
    %matmul_0 = mo.matmul(%x, %w) : (!mo.tensor<[M, 8], f32>, !mo.tensor<[8, 4], f32>) -> !mo.tensor<[M, 4], f32>
    %bias = mo.broadcast_to(%b) {shape = [M, 4]} : (!mo.tensor<[4], f32>) -> !mo.tensor<[M, 4], f32>
    %add_0 = mo.add(%matmul_0, %bias) : (!mo.tensor<[M, 4], f32>, !mo.tensor<[M, 4], f32>) -> !mo.tensor<[M, 4], f32>
    %relu_0 = mo.relu(%add_0) : (!mo.tensor<[M, 4], f32>) -> !mo.tensor<[M, 4], f32>
    mo.output %relu_0 : !mo.tensor<[M, 4], f32>
  }
}
// CHECK:      @kernel("matmul_add_relu")
// CHECK:      view0 = broadcast_to(in2, shape=(M, 4))
// CHECK-NEXT: def epilogue(at, v0):
// CHECK-NEXT:   v1 = add(v0, view0[at])
// CHECK-NEXT:   v2 = relu(v1)
// CHECK-NEXT:   out0[at] = v2
// CHECK-NEXT: matmul(FusedOutput(epilogue, f32, (M, 4)), in0, in1)
