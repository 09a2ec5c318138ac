"""Row kernels: `join` says which ops go together, `plan` and `walks` what is done when, `text` how it is written."""
