"""The kernel language: Python syntax, parsed and never executed, elaborated into kgen."""
