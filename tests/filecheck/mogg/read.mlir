// RUN: read-mogg
builtin.module {
  mo.graph @g(%x: !mo.tensor<[M], f32>, %m: !mo.buffer<[M], f32>) -> (!mo.tensor<[M], f32>) {
    %y.out = mogg.kernel @exp_kernel ins(%in0 = %x : !mo.tensor<[M], f32>) outs(%out0 : !mo.tensor<[M], f32>, %out1 = %m : !mo.buffer<[M], f32>) {
      %y = mo.exp(%in0) attributes {role = "elementwise"} : (!mo.tensor<[M], f32>) -> !mo.tensor<[M], f32>
      mogg.yield %y, %y : !mo.tensor<[M], f32>, !mo.tensor<[M], f32>
    }
    mo.output %y.out : !mo.tensor<[M], f32>
  }
}
// CHECK:      %y.out = mogg.kernel @exp_kernel ins(%in0 = %x : !mo.tensor<[M], f32>) outs(%out0 : !mo.tensor<[M], f32>, %out1 = %m : !mo.buffer<[M], f32>) {
// CHECK-NEXT:   %y = mo.exp(%in0) attributes {role = "elementwise"}
// CHECK-NEXT:   mogg.yield %y, %y
