"""What the figures of a run mean: work, traffic, roofline, statistics, verdicts, comparisons. Each fact once."""
