// RUN: simplify dce
// x + 0.0 turns -0.0 into 0.0, so it stays; x - 0.0 changes nothing, so it goes.
builtin.module {
  mo.graph @g(%x: !mo.tensor<[M], f32>) -> (!mo.tensor<[M], f32>, !mo.tensor<[M], f32>) {
    %zero = mo.constant() {value = #mo.array<[], f32, [0.0]>} : () -> !mo.tensor<[], f32>
    %zeros = mo.broadcast_to(%zero) {shape = [M]} : (!mo.tensor<[], f32>) -> !mo.tensor<[M], f32>
    %a = mo.add(%x, %zeros) : (!mo.tensor<[M], f32>, !mo.tensor<[M], f32>) -> !mo.tensor<[M], f32>
    %s = mo.sub(%x, %zeros) : (!mo.tensor<[M], f32>, !mo.tensor<[M], f32>) -> !mo.tensor<[M], f32>
    mo.output %a, %s : !mo.tensor<[M], f32>, !mo.tensor<[M], f32>
  }
}
// CHECK:     %a = mo.add
// CHECK-NOT: mo.sub
// CHECK:     mo.output %a, %x
