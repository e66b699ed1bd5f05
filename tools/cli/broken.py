"""What is said when the engine cannot be loaded: which library is missing, and what to type. Needs none of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Final

UNAVAILABLE: Final = 5


def tell(error: ImportError, arguments: Sequence[str]) -> int:
    """Say what is wrong with the installation, as ``worlddb doctor`` would; the exit code.

    Raises:
        ImportError: nothing is, so this is a defect of ours.
    """
    from worlddb.installation import installation_symptoms

    found = [symptom for symptom in installation_symptoms() if symptom.wrong]
    if not found:
        raise error
    sys.stderr.write(f"error[installation]: WorldDB cannot start: {error}\n")
    if "--json" in arguments:
        told = {"code": "installation", "message": str(error), "remedy": found[0].command}
        sys.stdout.write(json.dumps({"error": told, "symptoms": [each._asdict() for each in found]}, indent=2) + "\n")
    for symptom in found:
        sys.stderr.write(f"  {symptom.what}\n    {symptom.command}\n")
    return UNAVAILABLE
