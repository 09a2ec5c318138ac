"""What several frameworks have as one op and the graph as a few: written once, with the graph's own builders."""
