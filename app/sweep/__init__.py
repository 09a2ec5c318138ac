"""Sweeps: many compilations and runs from one small file, each a record in the store.

`spec` makes cells of the file, `engine` has them done, `child` is the process that compiles some of them, `timed`
measures others at their `places`, `outcomes` finds what the store has of them, and `tables` shows it. A sweep has no
state of its own: what is done is what the store holds, so that one that was killed goes on where it was.
"""
