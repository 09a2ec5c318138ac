"""Texts of stages: documents, panes, folding, differences, passes, edits."""
