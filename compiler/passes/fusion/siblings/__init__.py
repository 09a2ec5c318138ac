"""What several kernels read: done by one of them after the other (`sequence`), or computed in each (`recompute`)."""
