"""Models of the packages ``sentence-transformers`` and ``fastembed``, as far as they are installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from worlddb.log.model.errors import ModelUnavailable
from worlddb.reconciler.embedders.adapting import Lazily, checked_model, dimension_of, imported, no_mean

if TYPE_CHECKING:
    from worlddb.reconciler.embedder import Vectors


class SentenceTransformersEmbedder:
    """A model of the package ``sentence-transformers``, by its name or the folder that it is in.

    Questions are embedded by ``encode_query`` and texts by ``encode_document`` where the package has them, so that a
    model's own prompts are used. Nothing is loaded before the first text; a model that is not on this machine is
    fetched by the package.

    Raises:
        InputError: the name is none.
    """

    def __init__(self, name: str) -> None:
        self._name = checked_model(name)
        self.model = f"sentence-transformers/{self._name.removeprefix('sentence-transformers/')}"
        self._loaded = Lazily(self._load)
        self._dimension = dimension_of(None, lambda texts: self.embed(texts, query=False), self.model)

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return self._dimension.get()

    def mean(self) -> Vectors:
        """Zeros."""
        return no_mean(self.dimension)

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        """One row for each text.

        Raises:
            ModelUnavailable: the package or the model is not there.
        """
        model = self._loaded.get()
        encode = getattr(model, "encode_query" if query else "encode_document", model.encode)
        return encode(list(texts), show_progress_bar=False, convert_to_numpy=True)

    def _load(self) -> Any:
        package = imported(
            lambda: import_module("sentence_transformers"),
            "sentence-transformers",
            "pip install sentence-transformers",
        )
        try:
            return package.SentenceTransformer(self._name)
        except Exception as error:
            raise _unloaded(self.model, error) from error


class FastembedEmbedder:
    """A model of the package ``fastembed``, by the name that the package has for it.

    Nothing is loaded before the first text; a model that is not on this machine is fetched by the package.

    Raises:
        InputError: the name is none.
    """

    def __init__(self, name: str) -> None:
        self._name = checked_model(name)
        self.model = f"fastembed/{self._name}"
        self._loaded = Lazily(self._load)
        self._dimension = dimension_of(None, lambda texts: self.embed(texts, query=False), self.model)

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return self._dimension.get()

    def mean(self) -> Vectors:
        """Zeros."""
        return no_mean(self.dimension)

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        """One row for each text.

        Raises:
            ModelUnavailable: the package or the model is not there.
        """
        model = self._loaded.get()
        return list(model.query_embed(list(texts)) if query else model.embed(list(texts)))

    def _load(self) -> Any:
        package = imported(lambda: import_module("fastembed"), "fastembed", "pip install fastembed")
        try:
            return package.TextEmbedding(model_name=self._name)
        except Exception as error:
            raise _unloaded(self.model, error) from error


def _unloaded(model: str, error: Exception) -> ModelUnavailable:
    return ModelUnavailable(
        f"The model {model!r:.80} cannot be loaded: {error}", "Check its name, and that it is on this machine"
    )
