"""The graph as it is drawn: folding, heat, scene, layers, layout."""
