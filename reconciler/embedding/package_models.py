"""Embedders from ``sentence-transformers`` and ``fastembed``, where they are installed."""

from abc import abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from worlddb.log.model.errors import ModelUnavailable, shown
from worlddb.reconciler.embedding.adapter import Adapter, Lazy, checked_model, imported


class _PackagedModel(Adapter):
    """A model that a package loads by its name, when the first text is embedded."""

    def __init__(self, package: str, name: str) -> None:
        self._name = checked_model(name)
        super().__init__(f"{package}/{self._name.removeprefix(f'{package}/')}")
        self._package = package
        self._loaded = Lazy(self._load)

    def _load(self) -> Any:
        module = imported(self._imported, self._package, f"pip install {self._package}")
        try:
            return self._made(module)
        except Exception as error:
            raise ModelUnavailable(
                f"The model {shown(self.model)} cannot be loaded: {error}",
                "Check its name, and that it is on this machine",
            ) from error

    @abstractmethod
    def _imported(self) -> Any:
        """The package's module."""

    @abstractmethod
    def _made(self, module: Any) -> Any:
        """The model, as the package has it."""


class SentenceTransformersEmbedder(_PackagedModel):
    """A model of the package ``sentence-transformers``, by its name or the folder that it is in.

    Questions are embedded by ``encode_query`` and texts by ``encode_document`` where the package has them, so that a
    model's own prompts are used. Nothing is loaded before the first text; a model that is not on this machine is
    fetched by the package.

    Raises:
        InputError: the name is none.
    """

    def __init__(self, name: str) -> None:
        super().__init__("sentence-transformers", name)

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        """One row for each text.

        Raises:
            ModelUnavailable: the package or the model is not there.
        """
        model = self._loaded.get()
        encode = getattr(model, "encode_query" if query else "encode_document", model.encode)
        return encode(list(texts), show_progress_bar=False, convert_to_numpy=True)

    def _imported(self) -> Any:
        return import_module("sentence_transformers")

    def _made(self, module: Any) -> Any:
        return module.SentenceTransformer(self._name)


class FastembedEmbedder(_PackagedModel):
    """A model of the package ``fastembed``, by the name that the package has for it.

    Nothing is loaded before the first text; a model that is not on this machine is fetched by the package.

    Raises:
        InputError: the name is none.
    """

    def __init__(self, name: str) -> None:
        super().__init__("fastembed", name)

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        """One row for each text.

        Raises:
            ModelUnavailable: the package or the model is not there.
        """
        model = self._loaded.get()
        return list(model.query_embed(list(texts)) if query else model.embed(list(texts)))

    def _imported(self) -> Any:
        return import_module("fastembed")

    def _made(self, module: Any) -> Any:
        return module.TextEmbedding(model_name=self._name)
