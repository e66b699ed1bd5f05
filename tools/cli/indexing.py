"""What follows a write of texts: their vectors, if there is a model."""

from __future__ import annotations

from worlddb import Database, Embedding, ModelUnavailable
from worlddb.tools.cli.output import Output


def embed_new(db: Database, out: Output) -> Embedding | None:
    """Give the new texts their vectors; ``None`` without a model, when they are found by their words alone."""
    try:
        return db.embed()
    except ModelUnavailable as error:
        out.hint(f"note: texts are found by their words, not by their meaning: {error}")
        return None
