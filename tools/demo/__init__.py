"""The story of ``worlddb demo``: each step works on real stores and reports its result."""

from worlddb.tools.demo.story import STEPS, Section, Shown, Stage, tell

__all__ = ["STEPS", "Section", "Shown", "Stage", "tell"]
