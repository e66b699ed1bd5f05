"""Reads: functions of (view, specification). Nothing here writes, and no model is called."""
