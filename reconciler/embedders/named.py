"""Embedders by name, as the command line and ``open`` take them."""

from __future__ import annotations

from typing import Final

from worlddb.log.model.errors import InputError
from worlddb.reconciler.embedder import Embedder
from worlddb.reconciler.embedders.endpoint import EndpointEmbedder
from worlddb.reconciler.embedders.packages import FastembedEmbedder, SentenceTransformersEmbedder
from worlddb.reconciler.models import DEFAULT_EMBEDDER, MINILM

NAMES: Final = {
    "static": "static word vectors, which every installation has",
    "minilm": "all-MiniLM-L6-v2, offline, of the extra `embed`",
    "sentence-transformers:NAME": "a model of that package",
    "fastembed:NAME": "a model of that package",
    "endpoint:MODEL@URL": "a model behind an endpoint that speaks OpenAI's protocol; the URL ends before /embeddings",
}
"""What :func:`embedder_named` takes, and what it means."""


def embedder_named(name: str, *, key: str | None = None) -> Embedder:
    """The embedder that a name stands for; ``key`` is for an endpoint. Nothing is loaded, and nobody asked, by that.

    Raises:
        InputError: the name stands for none.
    """
    kind, colon, rest = name.partition(":")
    if name == "static":
        return DEFAULT_EMBEDDER
    if name == "minilm":
        return MINILM
    if kind == "sentence-transformers" and rest:
        return SentenceTransformersEmbedder(rest)
    if kind == "fastembed" and rest:
        return FastembedEmbedder(rest)
    model, at, url = rest.rpartition("@")
    if kind == "endpoint" and colon and at and model and url:
        return EndpointEmbedder(url, model, key=key)
    raise InputError(f"There is no embedder {name!r:.80}", f"Name one of: {', '.join(NAMES)}")
