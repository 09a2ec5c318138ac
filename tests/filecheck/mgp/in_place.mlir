// RUN: mgp:unfused
// Each result takes the place of the one before: a single buffer serves the chain.
builtin.module {
  mo.graph @g(%x: !mo.tensor<[16], f32>) -> (!mo.tensor<[16], f32>) {
    %a = mo.exp(%x) : (!mo.tensor<[16], f32>) -> !mo.tensor<[16], f32>
    %b = mo.relu(%a) : (!mo.tensor<[16], f32>) -> !mo.tensor<[16], f32>
    %c = mo.tanh(%b) : (!mo.tensor<[16], f32>) -> !mo.tensor<[16], f32>
    mo.output %c : !mo.tensor<[16], f32>
  }
}
// CHECK:      mgp.program @g(%x : !mo.tensor<[16], f32>) -> (%c : !mo.tensor<[16], f32>) {
// CHECK-NEXT:   %a = mgp.alloc {bytes = 64, first = 0, last = 1, offset = 0} : !mo.tensor<[16], f32>
// CHECK-NEXT:   mgp.call @exp_kernel(%x) -> (%a)
// CHECK-NEXT:   %b = mgp.alloc {bytes = 64, first = 1, last = 2, offset = 0, reuses = "a"} : !mo.tensor<[16], f32>
// CHECK-NEXT:   mgp.call @relu_kernel(%a) -> (%b)
// CHECK-NEXT:   mgp.release %a
// CHECK-NEXT:   mgp.call @tanh_kernel(%b) -> (%c)
// CHECK-NEXT:   mgp.release %b
