"""Importers: files of conversations, read into plain values and handed to the façade's ``ingest``.

``files`` opens what is on disk, one module a format turns it into portions of conversations, ``detect`` holds
the ordered tuple of formats, and ``run`` drives the façade. Everything but ``run`` is a pure reading: it
writes nothing.
"""

from __future__ import annotations

from worlddb.tools.importers.conversation import Conversation, Portion, Session, Source
from worlddb.tools.importers.detect import FORMATS, Format, format_of
from worlddb.tools.importers.run import Ingests, IngestSummary, ingest_files

__all__ = [
    "FORMATS",
    "Conversation",
    "Format",
    "IngestSummary",
    "Ingests",
    "Portion",
    "Session",
    "Source",
    "format_of",
    "ingest_files",
]
