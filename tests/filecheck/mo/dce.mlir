// RUN: dce
builtin.module {
  mo.graph @g(%m: !mo.buffer<[4], f32>, %x: !mo.tensor<[4], f32>) -> (!mo.tensor<[4], f32>) {
    %start = mo.chain() : () -> !mo.chain
    %old, %c1 = mo.buffer_load(%m, %start) : (!mo.buffer<[4], f32>, !mo.chain) -> (!mo.tensor<[4], f32>, !mo.chain)
    %dead = mo.exp(%old) : (!mo.tensor<[4], f32>) -> !mo.tensor<[4], f32>
    %c2 = mo.buffer_store(%m, %x, %c1) : (!mo.buffer<[4], f32>, !mo.tensor<[4], f32>, !mo.chain) -> !mo.chain
    mo.output %x : !mo.tensor<[4], f32>
  }
}
// CHECK:      %start = mo.chain()
// CHECK-NEXT: %c2 = mo.buffer_store(%m, %x, %start)
// CHECK-NEXT: mo.output %x
