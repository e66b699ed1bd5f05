"""Calls with one wrong value each, by what is wrong about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.support.model.stores import day, worlds
from worlddb import (
    Database,
    Extraction,
    Node,
)
from worlddb.log.model.limits import (
    MAX_ALIASES,
    MAX_CONTENT_BYTES,
    MAX_KEY_BYTES,
    MAX_LABEL_BYTES,
    MAX_LABELS,
    MAX_NAME_BYTES,
    MAX_REASON_BYTES,
    MAX_RECORD_BYTES,
    MAX_TYPE_BYTES,
)


class Store:
    """An open store with two worlds and an edge, and whether anything was written since."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.one, self.other = worlds(db, 2)
        self.edge = db.link(self.one, "implies", self.other).ref
        self.head = db.head()

    def is_untouched(self) -> bool:
        return self.db.head() == self.head


def long(limit: int) -> str:
    return "x" * (limit + 1)


WRONG: Any = ["n"]

Call = Callable[[Any], Any]
NAIVE = datetime(2025, 1, 1)

TIMES: dict[str, Call] = {
    "create": lambda s: s.db.create("Thing", "t", valid_from=NAIVE),
    "create to": lambda s: s.db.create("Thing", "t", valid_to="2025-01-01T09:00:00"),
    "revise": lambda s: s.db.revise(s.one, content="c", valid_from="soon"),
    "retire": lambda s: s.db.retire(s.one, at=NAIVE),
    "retire an edge": lambda s: s.db.retire(s.edge, at=1.5),
    "reassert": lambda s: s.db.reassert(s.one, valid_to=True),
    "link": lambda s: s.db.link(s.one, "implies", s.other, valid_from=2**80),
    "move": lambda s: s.db.move(s.one, s.other, valid_from=b"2025-01-01"),
    "ingest": lambda s: s.db.ingest([{"text": "hello"}], at=NAIVE),
    "a turn": lambda s: s.db.ingest([{"text": "hello", "at": "2025-01-01T09:00"}]),
    "an extraction": lambda s: s.db.ingest(
        [{"text": "hello"}],
        extractor=lambda turns: Extraction(nodes=[Node(label="n", type="Fact", name="n", at=NAIVE)]),
    ),
    "a view": lambda s: s.db.view(valid=NAIVE),
    "a view's other axis": lambda s: s.db.view(ingested="yesterday"),
    "a replay": lambda s: s.db.replay("nowhere", until=NAIVE),
    "a bookmark": lambda s: s.db.bookmark("b", at=NAIVE),
}

INTERVALS: dict[str, Call] = {
    "create": lambda s: s.db.create("Thing", "t", valid_from=day(2), valid_to=day(1)),
    "create that ends before now": lambda s: s.db.create("Thing", "t", valid_to=day(-1)),
    "revise": lambda s: s.db.revise(s.one, valid_from=day(2), valid_to=day(1)),
    "link": lambda s: s.db.link(s.one, "implies", s.other, valid_from=day(2), valid_to=day(1)),
    "link that ends before its source begins": lambda s: s.db.link(s.one, "implies", s.other, valid_to=day(-1)),
    "reassert": lambda s: s.db.reassert(s.one, valid_from=day(2), valid_to=day(1)),
}

REFERENCES: dict[str, Call] = {
    "revise": lambda s: s.db.revise("00000bad"),
    "retire": lambda s: s.db.retire("00" * 16),
    "retire by a name": lambda s: s.db.retire("nobody's name"),
    "retire by three digits": lambda s: s.db.retire("abc"),
    "link from": lambda s: s.db.link("00000bad", "implies", s.one),
    "link to": lambda s: s.db.link(s.one, "implies", bytes(16)),
    "link in": lambda s: s.db.link(s.one, "implies", s.other, home="00000bad"),
    "unlink": lambda s: s.db.unlink("00" * 32),
    "unlink a world": lambda s: s.db.unlink(s.one),
    "revise an edge": lambda s: s.db.revise(s.edge),
    "move": lambda s: s.db.move([s.one, "00000bad"], s.other),
    "move to": lambda s: s.db.move(s.one, "00000bad"),
    "move out of": lambda s: s.db.move(s.one, s.other, out_of="00000bad"),
    "alias": lambda s: s.db.alias("00000bad", "a"),
    "unalias": lambda s: s.db.unalias(s.one, "never given"),
    "expire": lambda s: s.db.expire("00000bad", ttl=5),
    "refresh": lambda s: s.db.refresh(["00000bad"]),
    "sweep": lambda s: s.db.sweep(["00000bad"]),
    "label": lambda s: s.db.label("00000bad", "home"),
    "unlabel": lambda s: s.db.unlabel(s.one, "never put on"),
    "pin": lambda s: s.db.pin("00000bad"),
    "tag": lambda s: s.db.tag("00000bad", "published"),
    "untag": lambda s: s.db.untag(s.one, "never set"),
    "deprecate": lambda s: s.db.deprecate("00000bad"),
    "accessed": lambda s: s.db.accessed("00000bad"),
    "fork": lambda s: s.db.fork("00000bad"),
    "merge": lambda s: s.db.merge("00000bad"),
    "forks": lambda s: s.db.view().forks("00000bad"),
    "forked from": lambda s: s.db.view().forked_from("00000bad"),
    "retention": lambda s: s.db.view().retention("00000bad"),
    "receipts of": lambda s: s.db.view().receipts_of("00000bad"),
    "withdrawal": lambda s: s.db.view().withdrawal("00000bad"),
    "marks": lambda s: s.db.view().marks("00000bad"),
    "accept": lambda s: s.db.accept("00000bad"),
    "accept an edge": lambda s: s.db.accept(s.edge),
    "reject": lambda s: s.db.reject(s.one),
    "undo": lambda s: s.db.undo("00" * 32),
    "reassert": lambda s: s.db.reassert("00000bad"),
    "create in": lambda s: s.db.create("Thing", "t", world="00000bad"),
    "ingest into": lambda s: s.db.ingest([{"text": "hello"}], into="00000bad"),
    "get": lambda s: s.db.view().get("00000bad"),
    "children": lambda s: list(s.db.view().children("00000bad")),
    "edges": lambda s: s.db.view().edges("00000bad"),
    "edge": lambda s: s.db.view().edge(s.one),
    "history": lambda s: s.db.view().history("00000bad"),
    "hash": lambda s: s.db.view().hash("00000bad"),
    "find": lambda s: s.db.view().find(world="00000bad"),
    "recall": lambda s: s.db.view().recall("thing", world="00000bad"),
    "log": lambda s: list(s.db.log(ref="00000bad")),
}

NO_REFERENCES: dict[str, Call] = {
    "a number": lambda s: s.db.retire(0),
    "a truth": lambda s: s.db.retire(True),
    "nothing": lambda s: s.db.retire(None),
    "one byte": lambda s: s.db.retire(b"\x00"),
    "no bytes": lambda s: s.db.view().get(b""),
    "many bytes": lambda s: s.db.view().get(bytes(33)),
    "no digits in an erasure": lambda s: s.db.erase("not hex", reason="r"),
    "a list": lambda s: s.db.revise([s.one]),
    "a list in a list": lambda s: s.db.move([[s.one]], s.other),
    "a set": lambda s: s.db.move({s.one}, s.other),
    "nothing to move": lambda s: s.db.move([], s.other),
    "a number as world": lambda s: s.db.create("Thing", "t", world=0),
    "an object": lambda s: s.db.link(object(), "implies", s.one),
}

TEXTS: dict[str, Call] = {
    "no name": lambda s: s.db.create("Thing", None),
    "a number as name": lambda s: s.db.create("Thing", 5),
    "bytes as name": lambda s: s.db.create("Thing", b"name"),
    "a surrogate in the name": lambda s: s.db.create("Thing", "half \ud83d"),
    "a surrogate in the type": lambda s: s.db.create("\udfff", "t"),
    "a surrogate in the content": lambda s: s.db.create("Thing", "t", content="\ud800"),
    "a surrogate in an alias": lambda s: s.db.create("Thing", "t", aliases=["ok", "\ud800"]),
    "a surrogate in the key": lambda s: s.db.create("Thing", "t", key="\ud800"),
    "a surrogate in the reason": lambda s: s.db.retire(s.one, why="\ud800"),
    "a surrogate in the provenance": lambda s: s.db.create("Thing", "t", source={"file": "\udcff"}),
    "a surrogate in the idempotency key": lambda s: s.db.create("Thing", "t", idempotency_key="\ud800"),
    "no type": lambda s: s.db.create("", "t"),
    "an empty alias": lambda s: s.db.alias(s.one, " "),
    "an empty key": lambda s: s.db.create("Thing", "t", key=""),
    "an empty idempotency key": lambda s: s.db.create("Thing", "t", idempotency_key=""),
    "a number as content": lambda s: s.db.revise(s.one, content=7),
    "a number as type": lambda s: s.db.revise(s.one, type=7),
    "a number as reason": lambda s: s.db.link(s.one, "implies", s.other, why=7),
    "a number as alias": lambda s: s.db.alias(s.one, 7),
    "a number as idempotency key": lambda s: s.db.retire(s.one, idempotency_key=7),
    "a number as label": lambda s: s.db.label(s.one, 7),
    "a number as tag": lambda s: s.db.tag(s.one, 7),
    "a blank label": lambda s: s.db.label(s.one, " "),
    "a surrogate in a label": lambda s: s.db.create("Thing", "t", labels=["\ud800"]),
    "no edge type": lambda s: s.db.link(s.one, None, s.other),
    "a list as edge type": lambda s: s.db.link(s.one, ["implies"], s.other),
    "a number as speech": lambda s: s.db.ingest([{"text": 5, "speaker": "Ada"}]),
    "a list as speaker": lambda s: s.db.ingest([{"text": "hello", "speaker": ["Ada"]}]),
    "a number as conversation": lambda s: s.db.ingest([{"text": "hello"}], conversation=5),
    "a number as session": lambda s: s.db.ingest([{"text": "hello"}], session=5),
    "a number as format": lambda s: s.db.ingest([{"text": "hello"}], format=5),
    "a number as name to find": lambda s: s.db.view().find(name=5),
    "a list as type to find": lambda s: s.db.view().find(type=["Thing"]),
    "a number as type of edges": lambda s: s.db.view().edges(s.one, type=5),
    "a surrogate as type of edges": lambda s: s.db.view().edges(s.one, type="\ud800"),
}

LIMITS: dict[str, Call] = {
    "name": lambda s: s.db.create("Thing", long(MAX_NAME_BYTES)),
    "name in bytes": lambda s: s.db.create("Thing", "€" * (MAX_NAME_BYTES // 3 + 1)),
    "type": lambda s: s.db.create(long(MAX_TYPE_BYTES), "t"),
    "content": lambda s: s.db.create("Thing", "t", content=long(MAX_CONTENT_BYTES)),
    "alias": lambda s: s.db.alias(s.one, long(MAX_NAME_BYTES)),
    "aliases": lambda s: s.db.create("Thing", "t", aliases=["a"] * (MAX_ALIASES + 1)),
    "label": lambda s: s.db.label(s.one, long(MAX_LABEL_BYTES)),
    "tag": lambda s: s.db.tag(s.one, long(MAX_LABEL_BYTES)),
    "labels": lambda s: s.db.create("Thing", "t", labels=["a"] * (MAX_LABELS + 1)),
    "reason": lambda s: s.db.retire(s.one, why=long(MAX_REASON_BYTES)),
    "key": lambda s: s.db.create("Thing", "t", key=long(MAX_KEY_BYTES)),
    "edge key": lambda s: s.db.link(s.one, "implies", s.other, key=long(MAX_KEY_BYTES)),
    "idempotency key": lambda s: s.db.create("Thing", "t", idempotency_key=long(MAX_KEY_BYTES)),
    "properties": lambda s: s.db.link(s.one, "implies", s.other, properties={"p": long(MAX_RECORD_BYTES)}),
    "provenance": lambda s: s.db.create("Thing", "t", source={"p": ["x" * 1000] * 300}),
    "edge type": lambda s: s.db.link(s.one, long(MAX_TYPE_BYTES), s.other),
    "edge type to read": lambda s: s.db.view().edges(s.one, type=long(600)),
    "conversation": lambda s: s.db.ingest([{"text": "hello"}], conversation=long(MAX_NAME_BYTES)),
}

RECURSIVE: dict[str, Any] = {}
RECURSIVE["itself"] = RECURSIVE

VALUES: dict[str, Call] = {
    "a tag that is derived": lambda s: s.db.tag(s.one, "Current"),
    "a text as version of a tag": lambda s: s.db.tag(s.one, "published", version="2"),
    "properties with a number as key": lambda s: s.db.link(s.one, "implies", s.other, properties={1: 2}),
    "properties with an object": lambda s: s.db.link(s.one, "implies", s.other, properties={"a": object()}),
    "properties with bytes": lambda s: s.db.link(s.one, "implies", s.other, properties={"a": b"x"}),
    "properties that are not a number": lambda s: s.db.link(s.one, "implies", s.other, properties={"a": math.nan}),
    "properties without end": lambda s: s.db.link(s.one, "implies", s.other, properties={"a": math.inf}),
    "properties that hold themselves": lambda s: s.db.link(s.one, "implies", s.other, properties=RECURSIVE),
    "a list of properties": lambda s: s.db.link(s.one, "implies", s.other, properties=[]),
    "a text as provenance": lambda s: s.db.create("Thing", "t", source="a file"),
    "provenance with a date": lambda s: s.db.create("Thing", "t", source={"at": NAIVE}),
    "one text as aliases": lambda s: s.db.create("Thing", "t", aliases="Ada"),
    "a number as aliases": lambda s: s.db.create("Thing", "t", aliases=5),
    "a text as a truth": lambda s: s.db.create("Thing", "t", resolve="yes"),
    "no turns": lambda s: s.db.ingest(None),
    "a text as turns": lambda s: s.db.ingest("hello"),
    "a number as turn": lambda s: s.db.ingest([5]),
    "a turn with another field": lambda s: s.db.ingest([{"text": "hello", 5: 6}]),
    "a turn without text": lambda s: s.db.ingest([{"speaker": "Ada"}]),
    "a start before the first": lambda s: s.db.ingest([{"text": "hello"}], start=-1),
    "a text as start": lambda s: s.db.ingest([{"text": "hello"}], start="0"),
    "a number as extractor": lambda s: s.db.ingest([{"text": "hello"}], extractor=5),
    "an extractor that gives nothing": lambda s: s.db.ingest([{"text": "hello"}], extractor=lambda turns: None),
    "an extractor that gives texts": lambda s: s.db.ingest(
        [{"text": "hello"}], extractor=lambda turns: Extraction(nodes=WRONG)
    ),
    "an extractor that labels with a list": lambda s: s.db.ingest(
        [{"text": "hello"}], extractor=lambda turns: Extraction(nodes=[Node(label=WRONG, type="Fact", name="n")])
    ),
    "an extractor that labels twice": lambda s: s.db.ingest(
        [{"text": "hello"}], extractor=lambda turns: Extraction(nodes=[Node(label="n", type="Fact", name="n")] * 2)
    ),
    "both axes by two names": lambda s: s.db.view(ingested="2030-01-01", seq=1),
    "a commit that is not there": lambda s: s.db.view(seq=99),
    "a text as commit": lambda s: s.db.view(seq="1"),
    "a fraction as commit": lambda s: s.db.view(seq=1.0),
    "a text as first commit": lambda s: list(s.db.log("1")),
    "a text as last commit": lambda s: list(s.db.log(1, "2")),
    "a direction": lambda s: s.db.view().edges(s.one, direction="sideways"),
    "a list as direction": lambda s: s.db.view().edges(s.one, direction=[]),
    "a status": lambda s: s.db.proposals(status="maybe"),
    "a list as status": lambda s: s.db.proposals(status=[]),
    "a limit below nothing": lambda s: s.db.view().find(limit=-1),
    "a text as limit": lambda s: s.db.view().find(limit="5"),
    "no hits": lambda s: s.db.view().recall("thing", k=0),
    "a text as number of hits": lambda s: s.db.view().recall("thing", k="5"),
    "less than no neighbours": lambda s: s.db.view().recall("thing", neighbours=-1),
    "groups without hits": lambda s: s.db.view().recall("thing", group=0),
    "a number to recall": lambda s: s.db.view().recall(5),
    "a projection": lambda s: s.db.rebuild("everything"),
    "a list as projection": lambda s: s.db.rebuild([]),
    "a number as directory": lambda s: s.db.replay(5),
    "a replay of nothing": lambda s: s.db.replay("nowhere", until="1999-01-01"),
    "an idempotency key inside a batch": lambda s: s.db.batch().create("Thing", "t", idempotency_key="k"),
}
