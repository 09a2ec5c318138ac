"""In a process of the window that loads this, runs that last as long as they may take a fifth of what they may take."""

from __future__ import annotations

from app.worker import measuring

measuring.BUDGET = 0.2
