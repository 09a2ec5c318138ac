"""Child processes: how they are started and ended, and how one talks with them."""
