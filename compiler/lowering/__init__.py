"""Kernel stage (standard dialects) -> LLVM IR text."""

from __future__ import annotations
