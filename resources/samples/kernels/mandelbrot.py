"""How long z = z*z + c stays near the origin, in the kernel language."""

from kernels.language import *


@elementwise("mandelbrot")
def mandelbrot(re, im, *, steps):
    """Steps, at most `steps`, for which |z| <= 2. A group of lanes stops as soon as its last one has left."""
    x = zeros(re.dtype, re.width)
    y = zeros(re.dtype, re.width)
    count = zeros(i32, re.width)
    inside = x == y
    step = index(0)
    while inside.any() and step < steps:
        x, y = x * x - y * y + re, 2 * x * y + im
        inside = inside & (x * x + y * y <= 4)
        count = count + inside.cast(i32)
        step = step + 1
    return count
