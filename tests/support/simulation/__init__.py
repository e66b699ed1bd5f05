"""Simulate the whole engine: one seed decides all actions and failures."""
