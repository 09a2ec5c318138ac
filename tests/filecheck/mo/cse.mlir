// RUN: cse
builtin.module {
  mo.graph @g(%x: !mo.tensor<[M], f32>, %y: !mo.tensor<[M], f32>) -> (!mo.tensor<[M], f32>) {
    %add_0 = mo.add(%x, %y) : (!mo.tensor<[M], f32>, !mo.tensor<[M], f32>) -> !mo.tensor<[M], f32>
    %add_1 = mo.add(%y, %x) : (!mo.tensor<[M], f32>, !mo.tensor<[M], f32>) -> !mo.tensor<[M], f32>
    %sub_0 = mo.sub(%add_0, %add_1) : (!mo.tensor<[M], f32>, !mo.tensor<[M], f32>) -> !mo.tensor<[M], f32>
    mo.output %sub_0 : !mo.tensor<[M], f32>
  }
}
// CHECK:      %add_0 = mo.add(%x, %y)
// CHECK-NEXT: %sub_0 = mo.sub(%add_0, %add_0)
