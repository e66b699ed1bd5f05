"""Importers: turn files of conversations and documents into worlds of a store.

``input_files`` opens files, one module a format reads them, ``detect`` holds the ordered tuple of formats, and ``run``
drives the façade. Everything but ``run`` and ``documents.write`` is pure reading.
"""

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
