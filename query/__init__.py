"""Reads: functions of a view and a specification. Nothing here writes or calls a model."""
