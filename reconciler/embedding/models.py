"""The embedding models of an open store, each with the embedding spaces that it fills.

Also finds embedders by the names that the command line and ``open`` take.
"""

from functools import cache
from typing import Final

from worlddb.log.model.errors import InputError, ModelUnavailable, shown
from worlddb.log.store import environment, log
from worlddb.projections.tables.reads.asof import OpenSpace
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.embedding import static_embedder, vectors_of_texts
from worlddb.reconciler.embedding.embedder import Embedder, checked_embedder

DEFAULT_EMBEDDER: Final = static_embedder.StaticEmbedder()
"""One for the process, so that its weights are loaded once; nothing is loaded before the first text."""


@cache
def minilm_embedder() -> Embedder:
    """The stronger model for English: one for the process, as the default is."""
    from worlddb.reconciler.embedding.minilm import MiniLMEmbedder

    return MiniLMEmbedder()


@cache
def multilingual_embedder() -> Embedder:
    """The model for many languages: one for the process, as the default is."""
    from worlddb.reconciler.embedding.multilingual import MultilingualEmbedder

    return MultilingualEmbedder()


def shipped_embedder(model: str) -> Embedder | None:
    """The model of a name that a space has recorded, if it can be run again without being told more of it.

    Others might be fetched from elsewhere, or ask somebody, and are only used when they are named.
    """
    if model == static_embedder.MODEL:
        return DEFAULT_EMBEDDER
    from worlddb.reconciler.embedding import minilm, multilingual

    makers = {minilm.MODEL: minilm_embedder, multilingual.MODEL: multilingual_embedder}
    return makers[model]() if model in makers else None


class Models:
    """The models of a handle.

    ``given`` is the caller's; without one, each space is filled by the model that made it. Several threads may use it.
    """

    def __init__(self, given: Embedder | None, *, shipped: bool) -> None:
        self._given = given
        self._shipped = shipped
        self._known: dict[str, Embedder] = {} if given is None else {given.model: given}
        self._trusted: set[int] = set()

    @property
    def any(self) -> bool:
        """True if there may be a model; without one, nothing is embedded."""
        return self._given is not None or self._shipped

    def add(self, embedder: Embedder) -> None:
        """Add a model that the store was moved to after it was opened."""
        self._known[embedder.model] = embedder

    def trust(self, space: int) -> None:
        """Record that the vectors of a space come from this process's model."""
        self._trusted.add(space)

    def to_fill(self, space: OpenSpace | None) -> Embedder:
        """The model that embeds texts for a space, or for the first one of a store.

        Raises:
            InputError: the space was made by another model than the caller's.
            ModelUnavailable: there is none, or none that made the space.
        """
        if self._given is None and not self._shipped:
            raise ModelUnavailable("The store was opened without an embedder", "Open it with embedder=...")
        if space is None:
            return DEFAULT_EMBEDDER if self._given is None else self._given
        known = self._known.get(space.model)
        if known is None and self._given is not None:
            vectors_of_texts.check_model(space, self._given)
        return self._models_of_space(space)

    def query_embedder(self, space: OpenSpace) -> Embedder:
        """The model that embeds questions to a space.

        Raises:
            ModelUnavailable: this process does not have it.
        """
        if self._given is None and not self._shipped:
            raise ModelUnavailable("the store was opened without an embedder")
        return self._models_of_space(space)

    def require_same_model(self, env: environment.Environment, space: OpenSpace, embedder: Embedder) -> None:
        """Compare a stored vector of the space with the model's vector of today, once.

        See :func:`refuse_changed`.

        Raises:
            InputError: it is another model under the same name.
            ModelUnavailable: the model is not there, or failed.
        """
        if space.number in self._trusted:
            return
        with env.read() as txn:
            kept = vectors_of_texts.stored_sample(log.LmdbLog(txn), Tables(txn), space)
        vectors_of_texts.refuse_changed(space, embedder, kept)
        self._trusted.add(space.number)

    def _models_of_space(self, space: OpenSpace) -> Embedder:
        found = self._known.get(space.model) or shipped_embedder(space.model)
        if found is None:
            raise ModelUnavailable(
                f"The embedding space {shown(space.name)} was made by {shown(space.model)}, which this process lacks",
                "Open the store with that embedder, or move to another: `reembed`",
            )
        vectors_of_texts.check_model(space, found)
        return found


AUTO: Final = "auto"
"""As an embedder: the one that belongs to the space in use, among those that this release ships."""


def models_of(embedder: Embedder | str | None) -> Models:
    """The models of a handle, by the embedder that it was opened with.

    Raises:
        InputError: it is no embedder.
    """
    if embedder is None or embedder == AUTO:
        return Models(None, shipped=embedder is not None)
    return Models(given_embedder(embedder), shipped=True)


def given_embedder(given: Embedder | str) -> Embedder:
    """The embedder that a caller gave, itself or by its name.

    Raises:
        InputError: it is none.
    """
    return checked_embedder(embedder_named(given) if isinstance(given, str) else given)


NAMES: Final = {
    "static": "static word vectors, part of every installation",
    "minilm": "all-MiniLM-L6-v2, offline, from the extra `embed`",
    "multilingual": "two multilingual models side by side, offline, from the extra `languages`",
    "sentence-transformers:NAME": "a model of that package",
    "fastembed:NAME": "a model of that package",
    "endpoint:MODEL@URL": "a model behind an endpoint with OpenAI's protocol; the URL does not include /embeddings",
}
"""What :func:`embedder_named` takes, and what it means."""


def embedder_named(name: str, *, key: str | None = None) -> Embedder:
    """The embedder of a name; ``key`` is for an endpoint. Nothing is loaded or requested yet.

    Raises:
        InputError: the name stands for none.
    """
    if not isinstance(name, str):
        raise InputError(f"The name of an embedder is {type(name).__name__}", f"Name one of: {', '.join(NAMES)}")
    kind, colon, rest = name.partition(":")
    if name == "static":
        return DEFAULT_EMBEDDER
    if name == "minilm":
        return minilm_embedder()
    if name == "multilingual":
        return multilingual_embedder()
    from worlddb.reconciler.embedding import adapter

    if kind in ("sentence-transformers", "fastembed") and rest:
        if kind == "fastembed":
            return adapter.FastembedEmbedder(rest)
        return adapter.SentenceTransformersEmbedder(rest)
    model, at, url = rest.rpartition("@")
    if kind == "endpoint" and colon and at and model and url:
        return adapter.EndpointEmbedder(url, model, key=key)
    raise InputError(f"The embedder {shown(name)} is unknown", f"Name one of: {', '.join(NAMES)}")
