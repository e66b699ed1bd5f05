"""Recorded commands decided again: over the same history, or over one that never was."""
