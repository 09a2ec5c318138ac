// RUN: fold-constants dce
builtin.module {
  mo.graph @g(%x: !mo.tensor<[M, 2], f32>) -> (!mo.tensor<[M, 2], f32>) {
    %a = mo.constant() {value = #mo.array<[2], f32, [1.0, 2.0]>} : () -> !mo.tensor<[2], f32>
    %b = mo.square(%a) : (!mo.tensor<[2], f32>) -> !mo.tensor<[2], f32>
    %c = mo.broadcast_to(%b) {shape = [M, 2]} : (!mo.tensor<[2], f32>) -> !mo.tensor<[M, 2], f32>
    %d = mo.add(%x, %c) : (!mo.tensor<[M, 2], f32>, !mo.tensor<[M, 2], f32>) -> !mo.tensor<[M, 2], f32>
    mo.output %d : !mo.tensor<[M, 2], f32>
  }
}
// CHECK:      %b = mo.constant() {value = #mo.array<[2], f32, [1.0, 4.0]>}
// CHECK-NEXT: %c = mo.broadcast_to(%b)
// CHECK-NEXT: %d = mo.add(%x, %c)
