"""Graphs: types, symbolic dims, values and the op builders. Each name is imported from the module that has it."""
