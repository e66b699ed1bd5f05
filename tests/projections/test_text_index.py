"""One text index: what it finds, in which order, and what it says of itself."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from worlddb.projections.indexes import text_snapshot
from worlddb.projections.indexes.analysis import query_terms
from worlddb.projections.indexes.fields import Marker, Nodes, TextDocument, rank_key
from worlddb.projections.indexes.text_index import TextIndex
from worlddb.projections.indexes.text_snapshot import IndexUnwritable, TextSearch, TextView

CONSONANTS, VOWELS = "bdgklmnprstvz", "aeiou"


def marker(seq: int) -> Marker:
    return Marker(b"store", seq, b"chain%d" % seq)


def document(node: int, content: str, name: str = "", *, version: int = 1, seq: int = 0) -> TextDocument:
    return TextDocument(node, version, seq or node, name, content)


def word(number: int) -> str:
    """Made-up words that no stemmer and no stop word list knows, five hundred of them."""
    return "".join(CONSONANTS[number // 5**place % 13] + VOWELS[number // 7**place % 5] for place in range(3)) + "x"


def tied_documents(count: int) -> list[TextDocument]:
    """Documents of few different texts, so that scores tie; some are long enough to round."""
    return [
        document(
            at,
            " ".join(word(at * step % 97) for step in range(1, 4 + at % 5 + 90 * (at % 11 == 0))),
            word(at % 13),
        )
        for at in range(1, count + 1)
    ]


def index_of(*documents: TextDocument) -> TextIndex:
    index = TextIndex.in_memory()
    index.apply(documents, marker(max((each.seq for each in documents), default=0)))
    return index


def nodes(index: TextIndex, text: str, limit: int = 10) -> list[int]:
    return [hit.node for hit in index.search(text, limit=limit)]


@pytest.mark.parametrize("kept", ["memory", "disk"])
@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("She moved to Boston last spring", "Where is she moving?"),
        ("我昨天去了北京大学看朋友", "北京大学"),
        ("我昨天去了北京大学看朋友", "北京"),
        ("東京タワーに行きました", "タワー"),
        ("저는 서울에서 살아요", "서울"),
        ("ผมชอบกินข้าวผัด", "ข้าวผัด"),
        ("ذهبت إلى المدرسة صباحا", "مدرسة"),
        ("Мы переехали в Москву", "Москва"),
        ("हम किताब पढ़ते हैं", "किताब"),
        ("Das Café in der Straße", "cafe strasse"),
        ("ＦＵＬＬ　ＷＩＤＴＨ", "full width"),
        ("Tôi sống ở Việt Nam", "viet nam"),
        ("the hash is " + "a1" * 32, "a1" * 32),
    ],
)
def test_a_text_of_any_language_is_found(kept: str, content: str, query: str, tmp_path: Path) -> None:
    index = TextIndex.in_memory() if kept == "memory" else TextIndex.open(tmp_path / "text")
    index.apply([document(1, "Something else entirely, другое, 別の物"), document(2, content)], marker(2))
    assert nodes(index, query) == [2]


def test_names_are_found_and_weigh_more_than_contents() -> None:
    index = index_of(document(1, "hiking with Melanie"), document(2, "hiking with friends", "Melanie"))
    assert nodes(index, "Melanie") == [2, 1]


def test_the_word_as_it_stands_comes_before_its_relatives() -> None:
    index = index_of(document(1, "painter at work"), document(2, "painting at work"), document(3, "paints at work"))
    assert nodes(index, "paints")[0] == 3
    assert set(nodes(index, "paints")) >= {2, 3}


@pytest.mark.parametrize(
    "query", ['moved" OR content:*', "+moved -boston", "moved~2", "(moved", "moved AND NOT boston", "/moved.*/"]
)
def test_query_syntax_has_no_effect(query: str) -> None:
    index = index_of(document(1, "she moved to Boston"), document(2, "unrelated words"))
    assert nodes(index, query) == [1]


@pytest.mark.parametrize("query", ["", " \n", "?!", "🙂", "\ud800"])
def test_a_query_without_words_finds_nothing(query: str) -> None:
    assert index_of(document(1, "she moved to Boston 🙂 ?!")).search(query, limit=5) == []


def test_an_empty_index_and_an_empty_limit_find_nothing(tmp_path: Path) -> None:
    assert TextIndex.in_memory().search("boston", limit=5) == []
    assert TextIndex.open(tmp_path / "none").search("boston", limit=5) == []
    assert index_of(document(1, "boston")).search("boston", limit=0) == []
    assert not (tmp_path / "none").exists()


def test_a_hit_says_where_it_comes_from() -> None:
    (hit,) = index_of(document(7, "boston", version=3, seq=2**40)).search("boston", limit=5)
    assert hit[:3] == (7, 3, 2**40)
    assert hit.score > 0


@pytest.mark.parametrize("kept", ["memory", "disk"])
def test_applying_again_adds_nothing_twice(kept: str, tmp_path: Path) -> None:
    index = TextIndex.in_memory() if kept == "memory" else TextIndex.open(tmp_path / "text")
    batch = [document(1, "boston"), document(1, "boston again", version=2, seq=2), document(3, "boston")]
    index.apply([*batch, batch[0]], marker(3))
    index.apply(batch, marker(3))
    index.apply([*batch[1:], document(4, "boston")], marker(4))
    assert index.count == 4
    assert sorted((hit.node, hit.version) for hit in index.search("boston", limit=9)) == [
        (1, 1),
        (1, 2),
        (3, 1),
        (4, 1),
    ]
    assert index.marker == marker(4)


def test_documents_and_marker_are_committed_together_or_not_at_all(tmp_path: Path) -> None:
    index = TextIndex.open(tmp_path / "text")
    index.apply([document(1, "boston")], marker(1))

    def broken() -> Iterator[TextDocument]:
        yield from (document(number, "boston") for number in range(2, 3000))
        raise OSError("the log could not be read")

    with pytest.raises(OSError, match="the log could not be read"):
        index.apply(broken(), marker(3000))
    for seen in (index, TextIndex.open(tmp_path / "text")):
        assert (seen.count, seen.marker) == (1, marker(1))
    index.apply([document(2, "boston")], marker(2))
    assert (index.count, index.marker) == (2, marker(2))


def test_a_marker_moves_without_documents_once_there_is_one(tmp_path: Path) -> None:
    index = TextIndex.open(tmp_path / "text")
    index.apply([], marker(5))
    assert (index.count, index.marker) == (0, None)
    index.apply([document(6, "boston")], marker(6))
    index.apply([], marker(7))
    index.apply([], marker(8))
    assert (index.count, index.marker) == (1, marker(8))
    assert nodes(index, "boston") == [6]


def test_another_handle_sees_a_commit_at_its_next_refresh(tmp_path: Path) -> None:
    writer, reader = TextIndex.open(tmp_path / "text"), TextIndex.open(tmp_path / "text")
    writer.apply([document(1, "boston")], marker(1))
    assert reader.search("boston", limit=3) == []
    reader.refresh()
    assert (nodes(reader, "boston"), reader.marker) == ([1], marker(1))


def test_a_view_stays_as_it_was(tmp_path: Path) -> None:
    for index in (TextIndex.in_memory(), TextIndex.open(tmp_path / "text")):
        index.apply([document(1, "boston")], marker(1))
        view = index.view
        index.apply([document(2, "boston")], marker(2))
        assert nodes(index, "boston") == [1, 2]
        assert isinstance(view, TextView)
        assert [hit.node for hit in view.find(TextSearch(query_terms("boston"), 5))] == [1]


def test_segments_do_not_pile_up(tmp_path: Path) -> None:
    index = TextIndex.open(tmp_path / "text")
    for number in range(1, 18):
        index.apply([document(number, "boston")], marker(number))
    assert len(list((tmp_path / "text").glob("*.idx"))) < 12
    assert len(nodes(index, "boston", limit=50)) == 17


def test_a_second_writer_is_told_to_come_back(tmp_path: Path) -> None:
    index = TextIndex.open(tmp_path / "text")
    other = TextIndex.open(tmp_path / "text")

    def meanwhile() -> Iterator[TextDocument]:
        with pytest.raises(IndexUnwritable, match="LockBusy"):
            other.apply([document(2, "boston")], marker(2))
        yield document(1, "boston")

    index.apply(meanwhile(), marker(1))
    other.apply([document(2, "boston")], marker(2))
    assert other.count == 2


def test_a_sequence_number_limits_what_is_found() -> None:
    index = index_of(*(document(number, "boston " * number, seq=10 * number) for number in range(1, 6)))
    for through, expected in ((0, 0), (9, 0), (10, 1), (29, 2), (30, 3), (50, 5), (2**50, 5)):
        hits = index.search("boston", limit=9, through=through)
        assert sorted(hit.seq for hit in hits) == [10 * number for number in range(1, expected + 1)]


def test_node_types_limit_the_hits() -> None:
    index = index_of(*tied_documents(3000))
    wanted = {number for number in range(1, 3000, 7)}
    query = word(11)
    every = index.search(query, limit=3000)
    assert index.search(query, limit=3000, nodes=wanted) == [hit for hit in every if hit.node in wanted]
    assert (
        index.search(query, limit=5, nodes=wanted, through=1500)
        == [hit for hit in every if hit.node in wanted and hit.seq <= 1500][:5]
    )
    assert index.search(query, limit=5, nodes=set()) == []
    assert index.search(query, limit=5, nodes=[10**9]) == []


@pytest.mark.parametrize("step", [1, 7, 1000, 4000])
def test_two_indexes_of_the_same_documents_agree_exactly(step: int) -> None:
    documents = tied_documents(4000 if step > 1 else 400)
    whole, stepwise = TextIndex.in_memory(), TextIndex.in_memory()
    whole.apply(documents, marker(len(documents)))
    for at in range(0, len(documents), step):
        stepwise.apply(documents[at : at + step], marker(at + step))
    assert whole.view is not None and stepwise.view is not None
    assert whole.view.segments == stepwise.view.segments == 1
    for query in (word(5), f"{word(3)} {word(8)} {word(50)}", "nothing of it"):
        for limit in (1, 10, 333):
            assert whole.search(query, limit=limit) == stepwise.search(query, limit=limit)


def test_ties_follow_the_log_and_a_lower_limit_gives_the_beginning_of_the_same_list(tmp_path: Path) -> None:
    documents = tied_documents(3000)
    exact = index_of(*documents)
    # Several segments, the later documents in the larger one, which Tantivy numbers first.
    pieces = TextIndex.open(tmp_path / "text")
    for start, end in ((0, 200), (200, 400), (400, 3000)):
        pieces.apply(documents[start:end], marker(end))
    for index in (exact, pieces):
        for query in (word(5), f"{word(3)} {word(8)}"):
            every = index.search(query, limit=3000)
            assert len(every) > 20
            assert every == sorted(every, key=lambda hit: (-hit.score, hit.seq))
            for limit in (1, 3, 20, 100):
                assert index.search(query, limit=limit) == every[:limit]
                assert index.view is not None
                more = index.view.find(TextSearch(query_terms(query), limit, or_more=True))
                assert len(more) >= min(limit, len(every)) and more == every[: len(more)]


def test_a_query_of_a_hundred_kilobytes_finds_its_document() -> None:
    documents = tied_documents(2000)
    query = " ".join(each.content for each in documents)[:100_000]
    assert index_of(*documents).search(query, limit=10)
    assert nodes(index_of(document(1, "東京" * 10_000), document(2, "京都")), "東京" * 25_000) == [1, 2]


def test_a_view_is_searched_by_several_threads_at_once(tmp_path: Path) -> None:
    index = TextIndex.open(tmp_path / "text")
    index.apply(tied_documents(2000), marker(2000))
    expected = index.search(word(5), limit=20)
    found: list[bool] = []

    def run() -> None:
        found.extend(index.search(word(5), limit=20) == expected for _ in range(20))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


def test_of_thousands_that_tie_the_earliest_are_found_and_few_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To put all of them in order took 65 ms of the processor where 50,000 texts have one word."""
    draw = random.Random(1)
    documents = [document(node, "harbour", seq=1 + node // 7) for node in range(1, 4_001)]
    documents += [document(node, "harbour harbour", seq=600) for node in range(4_001, 4_006)]
    draw.shuffle(documents)
    index = TextIndex.open(tmp_path / "text")
    for place in range(0, len(documents), 1_500):
        index.apply(documents[place : place + 1_500], marker(700 + place))
    assert index.view is not None and index.view.segments > 1
    in_order = [hit for hit in index.search("harbour", limit=5_000)]
    assert in_order == sorted(in_order, key=rank_key) and len(in_order) == 4_005
    asked: list[int] = []
    columns = text_snapshot._columns

    def counted(searcher: Any, found: list[Any], *names: str) -> list[list[int]]:
        asked.append(len(names) * len(found))
        return columns(searcher, found, *names)

    monkeypatch.setattr(text_snapshot, "_columns", counted)
    for limit in (1, 6, 19, 1_000):
        assert index.search("harbour", limit=limit) == in_order[:limit]
        assert index.search("harbour", limit=limit, nodes=Nodes(frozenset(range(1, 4_006)))) == in_order[:limit]
    asked.clear()
    index.search("harbour", limit=10)
    assert 0 < sum(asked) < 1.1 * 4_005
