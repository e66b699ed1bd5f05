"""Lanes: each proposes candidates for a recall, in its own order."""
