"""Explain why WorldDB cannot be imported.

This module needs no library, so that it can name a missing one.
"""

from worlddb.reconciler.diagnostics.installation import CHECKS, Symptom


def installation_symptoms() -> list[Symptom]:
    """As :func:`worlddb.diagnose` without a path, where the engine itself cannot be imported."""
    return [symptom for _, look in CHECKS for symptom in look()]
