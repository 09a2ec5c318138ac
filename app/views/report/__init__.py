"""The report with its preview."""
