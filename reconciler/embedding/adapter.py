"""The base class of embedding adapters, and adapters of functions, of models that packages load, and of endpoints.

An adapter loads its model once and determines its dimension. :class:`CallableEmbedder` wraps a plain function; others
wrap models that ``sentence-transformers`` and ``fastembed`` load by name, if these are installed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar

import msgspec

from worlddb.log.model import errors, limits
from worlddb.reconciler.embedding.embedder import call_model
from worlddb.reconciler.model_endpoints import endpoint

if TYPE_CHECKING:
    from worlddb.reconciler.embedding.embedder import Vectors


DIMENSION_PROBE: Final = "dimension"
"""The text that is embedded to find out a model's dimension."""

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value that is made once, on first use, even if several threads ask."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: list[T] = []

    def get(self) -> T:
        """The value. An error while it is made is raised, and the next call tries again."""
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


def checked_model(name: object) -> str:
    """A model's name, checked, as it is recorded.

    Raises:
        InputError: it is no text, empty or too long.
    """
    return limits.checked_text(name, "the name of the embedding model", limits.MAX_NAME_BYTES, empty=False)


class Adapter(ABC):
    """An embedder that learns its dimension from the model's first vector and subtracts no mean.

    Raises:
        InputError: ``model`` is no name, or ``dimension`` no number from 1 to 8,192.
    """

    def __init__(self, model: str, dimension: int | None = None) -> None:
        self.model = checked_model(model)
        self._dimension = _dimension_of(dimension, self._probe, self.model)

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return self._dimension.get()

    def mean(self) -> Vectors:
        """Zeros."""
        import numpy as np

        return np.zeros(self.dimension, dtype=np.float32)

    @abstractmethod
    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        """One row for each text."""

    def _probe(self, texts: Sequence[str]) -> Any:
        """Embed texts while the dimension is still unknown."""
        return self.embed(texts, query=False)


def _dimension_of(given: int | None, embed: Callable[[Sequence[str]], Any], model: str) -> Lazy[int]:
    """The dimension of a model's vectors: as given, else that of the first vector.

    Raises:
        InputError: what was given is no number from 1 to 8,192; later, what the model gave is no vector.
        ModelUnavailable: later, the model raised an error.
    """
    if given is not None:
        limits.checked_number(given, "dimension", 1, limits.MAX_DIMENSION)
        return Lazy(lambda: given)

    def probe_dimension() -> int:
        import numpy as np

        shape = call_model(model, lambda: np.shape(embed([DIMENSION_PROBE])))
        if len(shape) != 2 or shape[0] != 1 or not 1 <= shape[1] <= limits.MAX_DIMENSION:
            raise errors.InputError(
                f"The embedder {errors.shown(model)} returned an array of shape {shape} for one text",
                f"Return one row of 1 to {limits.MAX_DIMENSION:,} numbers for each text",
            )
        return int(shape[1])

    return Lazy(probe_dimension)


def import_optional(load: Callable[[], Any], package: str, install: str) -> Any:
    """Import an optional package with ``load``.

    Raises:
        ModelUnavailable: it is not installed, or cannot be imported.
    """
    try:
        return load()
    except ImportError as error:
        raise errors.ModelUnavailable(f"The package {package} is missing: {error}", f"Install it: {install}") from error
    except Exception as error:  # A package may raise anything while it is imported.
        raise errors.ModelUnavailable(
            f"The package {package} cannot be imported: {error}", f"Reinstall it: {install}"
        ) from error


class CallableEmbedder(Adapter):
    """A function from a list of texts to a row of numbers for each, as an embedder.

    ``model`` names it with its version. ``queries`` is another function for questions, for models that tell them from
    what is to be found. Without a ``dimension`` the function is asked once.

    Raises:
        InputError: the function cannot be called, or the name or the dimension is none.
    """

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        model: str,
        *,
        dimension: int | None = None,
        queries: Callable[[list[str]], Any] | None = None,
    ) -> None:
        for given in (function, function if queries is None else queries):
            if not callable(given):
                raise errors.InputError(f"The embedder's function is {type(given).__name__}", "Give a function")
        super().__init__(model, dimension)
        self._function = function
        self._queries = function if queries is None else queries

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        """Embed texts with the function."""
        return (self._queries if query else self._function)(list(texts))


class _PackagedModel(Adapter):
    """A model that a package loads by its name, when the first text is embedded."""

    def __init__(self, package: str, name: str) -> None:
        self._name = checked_model(name)
        super().__init__(f"{package}/{self._name.removeprefix(f'{package}/')}")
        self._package = package
        self._loaded = Lazy(self._load)

    def _load(self) -> Any:
        module = import_optional(self._import_package, self._package, f"pip install {self._package}")
        try:
            return self._load_from_package(module)
        except Exception as error:
            raise errors.ModelUnavailable(
                f"The model {errors.shown(self.model)} cannot be loaded: {error}",
                "Check its name, and whether this machine has it",
            ) from error

    @abstractmethod
    def _import_package(self) -> Any:
        """The package's module."""

    @abstractmethod
    def _load_from_package(self, module: Any) -> Any:
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

    def _import_package(self) -> Any:
        return import_module("sentence_transformers")

    def _load_from_package(self, module: Any) -> Any:
        return module.SentenceTransformer(self._name)


class FastembedEmbedder(_PackagedModel):
    """A model of the package ``fastembed``, by its name there.

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

    def _import_package(self) -> Any:
        return import_module("fastembed")

    def _load_from_package(self, module: Any) -> Any:
        return module.TextEmbedding(model_name=self._name)


MAX_BATCH_TEXTS: Final = 2_048
MAX_CHARACTERS: Final = 24_000
"""How much of a text is sent; models read no more."""
_BYTES_A_NUMBER: Final = 40


class _Row(msgspec.Struct):
    index: int
    embedding: list[float]


class _Answer(msgspec.Struct):
    data: list[_Row]


class EndpointEmbedder(Adapter):
    """A model behind ``POST <url>/embeddings``, as OpenAI and most local servers have it.

    ``url`` ends before ``/embeddings``, such as ``http://localhost:11434/v1``. ``key`` is sent as a bearer token and is
    recorded nowhere. An attempt takes ``timeout_seconds`` at most; one that failed and may succeed later is repeated up
    to ``retries`` times. ``batch_texts`` go into one request. Without a ``dimension`` the endpoint is asked once.

    Raises:
        InputError: an argument is not what it should be.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        dimension: int | None = None,
        timeout_seconds: float = endpoint.TIMEOUT_SECONDS,
        retries: int = 2,
        batch_texts: int = 64,
    ) -> None:
        self._endpoint = endpoint.Endpoint(url, model, key=key, timeout_seconds=timeout_seconds, retries=retries)
        self._name = self._endpoint.model
        super().__init__(f"endpoint/{self._name}", dimension)
        self._batch = limits.checked_number(batch_texts, "batch_texts", 1, MAX_BATCH_TEXTS)
        self._given = dimension

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """One row for each text; zeros for one that is blank, which endpoints refuse.

        Raises:
            ModelUnavailable: the endpoint was not reached, did not answer in time, refused, or answered with something
                else than an embedding of each text.
        """
        import numpy as np

        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        said = [place for place, text in enumerate(texts) if text.strip()]
        for first in range(0, len(said), self._batch):
            places = said[first : first + self._batch]
            rows = self._embed_batch([texts[place] for place in places])
            if len(rows[0]) != self.dimension:
                raise errors.InputError(
                    f"The endpoint returned {len(rows[0])} numbers for a text with the model "
                    f"{self._name!r:.80}, not {self.dimension}",
                    "Name the dimension of the model, or the intended model",
                )
            with np.errstate(over="ignore"):  # Too large numbers become infinite, and are reported later.
                found[places] = rows
        return found

    def __repr__(self) -> str:
        return f"<EndpointEmbedder {self._name!r} at {self._endpoint.address.host}>"

    def _probe(self, texts: Sequence[str]) -> list[list[float]]:
        return self._embed_batch(texts)

    def _embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        body = msgspec.json.encode({"model": self._name, "input": [text[:MAX_CHARACTERS] for text in texts]})
        most = len(texts) * (limits.MAX_DIMENSION if self._given is None else self._given) * _BYTES_A_NUMBER + 65_536
        return self._rows(self._endpoint.post("/embeddings", body, most), len(texts))

    def _rows(self, body: bytes, count: int) -> list[list[float]]:
        try:
            rows = {row.index: row.embedding for row in msgspec.json.decode(body, type=_Answer).data}
        except (msgspec.DecodeError, ValueError) as error:
            self._unexpected_answer(str(error))
        if set(rows) != set(range(count)):
            self._unexpected_answer(f"it has embeddings for {len(rows)} texts, not for {count}")
        if len({len(row) for row in rows.values()}) != 1 or not rows[0]:
            self._unexpected_answer("its embeddings differ in length")
        return [rows[place] for place in range(count)]

    def _unexpected_answer(self, why: str) -> NoReturn:
        raise errors.ModelUnavailable(
            f"The endpoint at {self._endpoint.address.host} did not answer with embeddings: {why}",
            "Check that its URL does not include /embeddings",
        )
