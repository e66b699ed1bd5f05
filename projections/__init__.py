"""Projections: everything that is derived from the log and can be thrown away."""
