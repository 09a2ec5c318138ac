"""Texts: IR panes, the source pane, the text view under both, and the passes."""
