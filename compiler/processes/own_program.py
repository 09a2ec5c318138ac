"""What programs of ours do in their own way, and whoever uses the compiler as a library does not."""

from __future__ import annotations

formats_later = False
"""Whether a compilation has xDSL's formats of operations parsed as they are needed (`compiler/dialects/formats.py`)."""
