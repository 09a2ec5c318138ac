"""A random-number state: what is drawn is a function of the seed and of how many numbers were drawn before."""

GOLDEN = 0x9E3779B97F4A7C15


@opaque("rng")
def rng():
    return struct(seed=i64, drawn=i64)


@inline
def mixed(z):
    z = (z ^ lshr(z, i64(30))) * 0xBF58476D1CE4E5B9
    z = (z ^ lshr(z, i64(27))) * 0x94D049BB133111EB
    return z ^ lshr(z, i64(31))


@kernel("rng_seed")
def rng_seed(state: Opaque["rng"], seed: FusedInput):
    state.seed = seed[()]
    state.drawn = 0


@kernel("rng_uniform")
def rng_uniform(out: FusedOutput, after: Opaque["rng"], before: Opaque["rng"]):
    """Numbers from 0 to 1, and the state behind them."""
    first = before.drawn
    for i in range(*split(out.shape[0])):
        bits = mixed(before.seed + (first + i64(i) + 1) * GOLDEN)
        out[i] = f32(lshr(bits, i64(40))) * (1 / (1 << 24))
    after.seed = before.seed
    after.drawn = first + i64(out.shape[0])


@kernel("rng_next")
def rng_next(out: FusedOutput, state: Opaque["rng"]):
    """As rng_uniform, with the state changed where it lies."""
    if target.is_gpu:
        launch(blocks=1, threads=128)
    seed, first = state.seed, state.drawn
    barrier()  # all have read it
    for i in range(thread_index(), out.shape[0], thread_count()):
        bits = mixed(seed + (first + i64(i) + 1) * GOLDEN)
        out[i] = f32(lshr(bits, i64(40))) * (1 / (1 << 24))
    if thread_index() == 0:
        state.drawn += i64(out.shape[0])
