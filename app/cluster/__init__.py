"""Work on other machines: Dask's scheduler and workers do it, and nothing of Dask is imported before it is asked for.

`joining` finds a scheduler or starts one here, `fingerprint` is what a worker says of its machine, `preload` has it say
so, `jobs` hands work out to whoever is free and `errands` to one of them, who keeps what it is sent (`holding`) and
takes `turns` with others on its machine. On these stand `farm` (LLVM's tasks of one compilation), `devices` (runs on a
worker's processor or card; `device_work` is the worker's side) and `plan` (what more workers would bring, simulated).

What travels are parcels, typed records as bytes that are checked when they are opened. Dask itself carries them, with
pickle: a scheduler and its workers are trusted code (docs/cluster.md).
"""
