"""What programs of ours do in their own way, and whoever uses the compiler as a library does not."""

from __future__ import annotations

operations_later = False
"""Whether a compilation has xDSL's operations defined as they are needed (`compiler/dialects/later.py`)."""
