"""The sample conversation of ``worlddb demo``: fourteen months of Mara and her agent Sol.

It holds what a memory has to get right: a home that moved, a corrected date, two people whose names differ by one
letter, two statements that contradict each other for good, and a sum of money. Four other people appear.
"""

from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Final

LANDMARKS: Final = MappingProxyType(
    {
        "lives in Lisbon": ("Spring in Lisbon", 0),
        "the colleague John Okafor": ("The new job", 1),
        "the landlord Jon Okafor": ("The flat on Rua das Taipas", 1),
        "the deposit": ("The flat on Rua das Taipas", 5),
        "moved to Porto": ("Porto", 0),
        "pets are not allowed": ("Porto", 4),
        "pets are allowed": ("Porto", 5),
        "the appointment, as first told": ("A knee in March", 2),
        "the appointment, corrected": ("Setting things straight", 0),
    }
)
"""Turns on which the story depends: (session, position in it)."""


def sample_path() -> Path:
    """Return the path of the JSON Lines file of turns."""
    return Path(str(files(__name__) / "conversation.jsonl"))
