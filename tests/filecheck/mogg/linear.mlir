// RUN: mogg
builtin.module {
  mo.graph @g(%x: !mo.tensor<[M, 8], f32>, %w: !mo.tensor<[8, 4], f32>, %b: !mo.tensor<[4], f32>) -> (!mo.tensor<[M, 4], f32>) {
    %matmul_0 = mo.matmul(%x, %w) : (!mo.tensor<[M, 8], f32>, !mo.tensor<[8, 4], f32>) -> !mo.tensor<[M, 4], f32>
    %bias = mo.broadcast_to(%b) {shape = [M, 4]} : (!mo.tensor<[4], f32>) -> !mo.tensor<[M, 4], f32>
    %add_0 = mo.add(%matmul_0, %bias) : (!mo.tensor<[M, 4], f32>, !mo.tensor<[M, 4], f32>) -> !mo.tensor<[M, 4], f32>
    %relu_0 = mo.relu(%add_0) : (!mo.tensor<[M, 4], f32>) -> !mo.tensor<[M, 4], f32>
    mo.output %relu_0 : !mo.tensor<[M, 4], f32>
  }
}
// CHECK:      %relu_0.out = mogg.kernel @matmul_add_relu
// CHECK-SAME:   ins(%in0 = %x : !mo.tensor<[M, 8], f32>, %in1 = %w : !mo.tensor<[8, 4], f32>, %in2 = %b : !mo.tensor<[4], f32>)
// CHECK-SAME:   outs(%out0 : !mo.tensor<[M, 4], f32>) {
// CHECK-NEXT:   %matmul_0 = mo.matmul(%in0, %in1) attributes {role = "core"}
// CHECK-NEXT:   %bias = mo.broadcast_to(%in2) {shape = [M, 4]} attributes {role = "view"}
// CHECK-NEXT:   %add_0 = mo.add(%matmul_0, %bias) attributes {role = "epilogue"}
// CHECK-NEXT:   %relu_0 = mo.relu(%add_0) attributes {role = "epilogue"}
// CHECK-NEXT:   mogg.yield %relu_0
// CHECK:      mo.output %relu_0.out
