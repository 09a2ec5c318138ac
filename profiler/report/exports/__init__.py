"""Files other programs read: CSV, JSON, Perfetto traces, scripts that make a run again. See docs/trace-schema.md."""
