// RUN: read-mgp
builtin.module {
  mgp.program @g(%x : !mo.tensor<[4], f32>) -> (%y : !mo.tensor<[4], f32>) {
    %c = mgp.constant {node = "c"} : !mo.tensor<[4], f32>
    %t = mgp.alloc {bytes = 16, first = 0, last = 1} : !mo.tensor<[4], f32>
    mgp.call @add_kernel(%x, %c) -> (%t) : (!mo.tensor<[4], f32>, !mo.tensor<[4], f32>) -> (!mo.tensor<[4], f32>)
    mgp.call @exp_kernel(%t) -> (%y) : (!mo.tensor<[4], f32>) -> (!mo.tensor<[4], f32>)
    mgp.release %t : !mo.tensor<[4], f32>
  }
}
// CHECK:      mgp.program @g(%x : !mo.tensor<[4], f32>) -> (%y : !mo.tensor<[4], f32>) {
// CHECK-NEXT:   %c = mgp.constant {node = "c"} : !mo.tensor<[4], f32>
// CHECK-NEXT:   %t = mgp.alloc {bytes = 16, first = 0, last = 1} : !mo.tensor<[4], f32>
// CHECK-NEXT:   mgp.call @add_kernel(%x, %c) -> (%t) : (!mo.tensor<[4], f32>, !mo.tensor<[4], f32>) -> (!mo.tensor<[4], f32>)
// CHECK-NEXT:   mgp.call @exp_kernel(%t) -> (%y)
// CHECK-NEXT:   mgp.release %t
