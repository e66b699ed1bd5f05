"""What is wrong with the installation. Importing this needs no library, so that a missing one can be told."""

from __future__ import annotations

from worlddb.reconciler.diagnostics.installation import CHECKS
from worlddb.reconciler.diagnostics.symptom import Symptom


def installation_symptoms() -> list[Symptom]:
    """As :func:`worlddb.diagnose` without a path, where the engine itself cannot be imported."""
    return [symptom for _, look in CHECKS for symptom in look()]
