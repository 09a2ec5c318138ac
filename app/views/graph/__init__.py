"""The graph: camera, painting, marks, menus, and the fusion ledger."""
