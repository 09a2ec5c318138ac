"""Fusion: a graph becomes kernels, decided by the signatures of the kernel library and nothing else.

In order: `analysis` reads the graph, `epilogue` grows kernels forwards, `pull` places the rest backwards (by the moves
of `placement`, within the user's `choices`), `emit` writes each group as kernel-language source (`expressions` in
`pieces`, which `assemble` prints), `ledger` says what was decided and why, `module` shows it all as `mogg` IR.
`fuse` is the table of contents; those who read a fused model need only `records`. `rows` and `siblings` are rooms of
their own. Large because a step is a file, and the steps hand each other what they found.
"""
