"""The story that ``worlddb demo`` tells: each step does what it says on real stores and reports what came of it.

``story`` lists the steps in their order, ``memory`` and ``forensics`` hold them, ``stage`` what they share.
"""

from __future__ import annotations

from worlddb.tools.demo.stage import Section, Shown, Stage
from worlddb.tools.demo.story import STEPS, tell

__all__ = ["STEPS", "Section", "Shown", "Stage", "tell"]
