"""That kernels of these tests are really watched: one access outside a buffer fails its run, and none inside does."""

import numpy as np
import pytest

from tests.kernels.checked import CheckedKernel

SOURCE = """@kernel
def kernel(out0: Tensor[f32, (8,)], tensor0: Tensor[f32, (8,)]):
    kept = stack(f32, 8)
    kept.store(tensor0.load(index({loaded}), width=4), index({kept}))
    out0.store(kept.load(index(0), width=4), index({stored}))
"""


def run(opt_level, loaded=0, kept=0, stored=0):
    """In the middle of larger arrays, so that what lies outside is nobody else's."""
    out, given = np.zeros(24, np.float32), np.arange(24, dtype=np.float32)
    kernel = CheckedKernel(SOURCE.format(loaded=loaded, kept=kept, stored=stored), opt_level)
    kernel.call([out[8:16], given[8:16]], {}, 1)
    return out


@pytest.mark.parametrize("opt_level", [0, 3])
def test_accesses_up_to_both_ends_are_inside(opt_level):
    assert run(opt_level, loaded=4, stored=4)[12:16].tolist() == [12, 13, 14, 15]
    run(opt_level, kept=4)


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize(
    ("outside", "line"),
    [
        ({"loaded": 5}, 4),
        ({"loaded": -1}, 4),
        ({"kept": 5}, 4),
        ({"stored": 5}, 5),
        ({"stored": -1}, 5),
        ({"stored": 9}, 5),
    ],
)
def test_one_element_outside_is_found_with_its_line(outside, line, opt_level):
    with pytest.raises(AssertionError, match=f"outside its buffer, from kernel line {line}"):
        run(opt_level, **outside)
