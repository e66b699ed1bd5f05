"""A text that was forbidden comes back by no command, in no field, and with nothing that a command brings along.

Only names, contents and aliases were looked at: the same text went in as a type, a reason, a source, a property, a
bookmark or the words of another speaker, and the bytes were in the file again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import worlddb
from tests.reconciler.embedding.test_spaces import Letters
from tests.support.faults.traces import find_traces
from tests.support.model.stores import new_store, refusal
from worlddb import Database, HandledEdge, HandlerContext, Insert, PlainHandler, Refused, RefusedError, Thresholds
from worlddb.reconciler.commands import commands as cmd

SAID: Final = "Ines has a knee operation on Friday"


class Small(NamedTuple):
    """A store in which a text is forbidden, with what commands need to be about."""

    db: Database
    one: str
    two: str
    waiting: list[str]
    accepted: str
    ended: str


@pytest.fixture(scope="module")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """The store, closed."""
    with worlddb.open(tmp_path_factory.mktemp("small_store") / "store", author="ada", background=False) as db:
        gone = db.create("Note", "n", content=SAID).ref
        one, two = db.create("Note", "one", content="1").ref, db.create("Note", "two", content="2").ref
        waiting = [db.link(one, "same_as", db.create("Note", f"like {number}").ref).ref for number in range(3)]
        db.accept(waiting[2]).raise_if_refused()
        ended = db.create("Note", "ended", content="3").ref
        db.retire(ended)
        db.erase(gone, reason="request 1", forbid=True)
        assert find_traces(db.path, [SAID]) == []
        return Small(db, one, two, waiting[:2], waiting[2], ended)


@pytest.fixture
def small(small_store: Small, tmp_path: Path) -> Iterator[Small]:
    """A copy of it, opened."""
    shutil.copytree(small_store.db.path, tmp_path / "store")
    with worlddb.open(tmp_path / "store", author="ada", background=False) as db:
        yield small_store._replace(db=db)


def believed_atom(on: Small) -> worlddb.Atom:
    """What is believed of a world, and can be believed no longer."""
    return worlddb.Atom(on.one, "fact", "x")


IRI: Final = worlddb.Iri("https://a.example/it")


def state_literal(on: Small, text: str, **more: Any) -> Any:
    return on.db.state(on.one, [(IRI, IRI, worlddb.Literal(text))], **more)


class _Said(NamedTuple):
    outcome: Any


def refused_change(change: Callable[[], object]) -> _Said:
    """What accounts raise, as the outcome of a command."""
    with pytest.raises(RefusedError) as refused:
        change()
    return _Said(Refused(refused.value.details["reason"], str(refused.value)))


def handler_named(name: str) -> PlainHandler:
    handler = PlainHandler()
    handler.name = name
    return handler


DOORS: Final[dict[str, Callable[[Small], Any]]] = {
    "create.type": lambda on: on.db.create(SAID, "m"),
    "create.name": lambda on: on.db.create("Note", SAID),
    "create.content": lambda on: on.db.create("Note", "m", content=SAID),
    "create.aliases": lambda on: on.db.create("Note", "m", aliases=["m2", SAID]),
    "create.why": lambda on: on.db.create("Note", "m", why=SAID),
    "create.properties": lambda on: on.db.create("Note", "m", properties={"a": [{"b": SAID}]}),
    "revise.properties": lambda on: on.db.revise(on.one, properties={SAID: 1}),
    "create.source": lambda on: on.db.create("Note", "m", source={"a": [{"b": SAID}]}),
    "create.source, in a name": lambda on: on.db.create("Note", "m", source={"a": {SAID: 1}}),
    "create.key": lambda on: on.db.create("Note", "m", key=SAID),
    "revise.type": lambda on: on.db.revise(on.one, type=SAID),
    "revise.name": lambda on: on.db.revise(on.one, name=SAID),
    "revise.content": lambda on: on.db.revise(on.one, content=SAID),
    "revise.why": lambda on: on.db.revise(on.one, content="5", why=SAID),
    "revise.source": lambda on: on.db.revise(on.one, content="5", source={SAID: 5}),
    "retire.why": lambda on: on.db.retire(on.one, why=SAID),
    "reassert.content": lambda on: on.db.reassert(on.ended, content=SAID),
    "reassert.why": lambda on: on.db.reassert(on.ended, why=SAID),
    "link.why": lambda on: on.db.link(on.one, "refers_to", on.two, why=SAID),
    "link.properties": lambda on: on.db.link(on.one, "refers_to", on.two, properties={"a": SAID}),
    "link.properties, of a proposal": lambda on: on.db.link(on.one, "same_as", on.two, properties={"a": SAID}),
    "link.key": lambda on: on.db.link(on.one, "refers_to", on.two, key=SAID),
    "link.context": lambda on: on.db.link(on.one, "supports", on.two, context={"evidence": [SAID]}),
    "link_versions.why": lambda on: on.db.link(on.one, "refers_to", on.two, versions=(1, 1), why=SAID),
    "link_versions.properties": lambda on: on.db.link(
        on.one, "refers_to", on.two, versions=(1, 1), properties={SAID: 1}
    ),
    "link_versions.key": lambda on: on.db.link(on.one, "refers_to", on.two, versions=(1, 1), key=SAID),
    "unlink.why": lambda on: on.db.unlink(on.db.link(on.one, "refers_to", on.two).ref, why=SAID),
    "move.why": lambda on: on.db.move(on.one, on.two, why=SAID),
    "alias.aliases": lambda on: on.db.alias(on.one, SAID),
    "alias.why": lambda on: on.db.alias(on.one, "uno", why=SAID),
    "restate.source": lambda on: on.db.restate(on.one, source={"said": [SAID]}),
    "restate.why": lambda on: on.db.restate(on.one, why=SAID),
    "expire.why": lambda on: on.db.expire(on.one, ttl=5, why=SAID),
    "sweep.why": lambda on: (on.db.expire(on.one, expires_at="2020-01-01"), on.db.sweep(on.one, why=SAID))[1],
    "label.labels": lambda on: on.db.label(on.one, SAID),
    "label.why": lambda on: on.db.label(on.one, "uno", why=SAID),
    "unlabel.why": lambda on: (on.db.label(on.one, "uno"), on.db.unlabel(on.one, "uno", why=SAID))[1],
    "pin.why": lambda on: on.db.pin(on.one, why=SAID),
    "tag.labels": lambda on: on.db.tag(on.one, SAID),
    "tag.why": lambda on: on.db.tag(on.one, "uno", why=SAID),
    "untag.why": lambda on: (on.db.tag(on.one, "uno"), on.db.untag(on.one, "uno", why=SAID))[1],
    "deprecate.why": lambda on: on.db.deprecate(on.one, why=SAID),
    "believe.properties": lambda on: on.db.believe(on.one, {"fact": SAID}),
    "believe.source": lambda on: on.db.believe(on.one, {"fact": "x"}, source={"a": SAID}),
    "believe.why": lambda on: on.db.believe(on.one, {"fact": "x"}, why=SAID),
    "contract.why": lambda on: (on.db.believe(on.one, {"fact": "x"}), on.db.contract(believed_atom(on), why=SAID))[1],
    "rollback.why": lambda on: (on.db.revise(on.one, content="5"), on.db.rollback(on.one, 1, why=SAID))[1],
    "take_back.why": lambda on: on.db.undo(on.db.believe(on.one, {"fact": "x"}), why=SAID),
    "set_beliefs.named": lambda on: on.db.set_beliefs(single=[SAID]),
    "set_beliefs.why": lambda on: on.db.set_beliefs(single=["status"], why=SAID),
    "unalias.why": lambda on: (on.db.alias(on.one, "uno"), on.db.unalias(on.one, "uno", why=SAID))[1],
    "erase.why": lambda on: on.db.erase(on.two, reason=SAID),
    "erase_literal.why": lambda on: (state_literal(on, "x"), on.db.erase_literal(on.one, '"x"', reason=SAID))[1],
    "accept.why": lambda on: on.db.accept(on.waiting[0], why=SAID),
    "reject.why": lambda on: on.db.reject(on.waiting[1], why=SAID),
    "undo.why": lambda on: on.db.undo(on.accepted, why=SAID),
    "bookmark.name": lambda on: on.db.bookmark(SAID),
    "bookmark.why": lambda on: on.db.bookmark("b", why=SAID),
    "register.type": lambda on: on.db.register(handler_named(SAID)),
    "register.type, declared": lambda on: on.db.define_relation(SAID),
    "register.digest, an inverse": lambda on: on.db.define_relation("sees", inverse=SAID),
    "set_profile.profile": lambda on: on.db.set_profile(None, SAID, node_types=["a"]),
    "set_profile.node_types": lambda on: on.db.set_profile(None, node_types=[SAID]),
    "set_profile.relations": lambda on: on.db.set_profile(None, node_types=["a"], relations=[SAID]),
    "set_profile.why": lambda on: on.db.set_profile(None, "arbiter", why=SAID),
    "register.why": lambda on: on.db.register(handler_named("proposes"), why=SAID),
    "unregister.why": lambda on: (on.db.register(handler_named("p")), on.db.unregister("p", why=SAID))[1],
    "tune.type": lambda on: on.db.tune(Thresholds(), type=SAID),
    "tune.why": lambda on: on.db.tune(Thresholds(), why=SAID),
    "untune.why": lambda on: (on.db.tune(Thresholds(), type="T"), on.db.untune(type="T", why=SAID))[1],
    "guard.why": lambda on: on.db.guard(personal="warn", why=SAID),
    "trust.name": lambda on: on.db.trust("low", author=SAID),
    "trust.type": lambda on: on.db.trust("low", source={SAID: "x"}),
    "trust.why": lambda on: on.db.trust("low", author="ada", why=SAID),
    "state.aliases": lambda on: state_literal(on, SAID),
    "state.source": lambda on: state_literal(on, "x", source={"a": SAID}),
    "set_plan.plan": lambda on: refused_change(lambda: on.db.accounts.define_plan(SAID)),
    "set_plan.features": lambda on: refused_change(lambda: on.db.accounts.define_plan("p", features=[SAID])),
    "set_plan.why": lambda on: refused_change(lambda: on.db.accounts.define_plan("p", why=SAID)),
    "set_account.name": lambda on: refused_change(lambda: on.db.accounts.create_account(SAID)),
    "set_account.why": lambda on: refused_change(lambda: on.db.accounts.create_account("a", why=SAID)),
    "make_key.content": lambda on: refused_change(lambda: on.db.accounts.create_key("k", user=SAID)),
    "make_key.why": lambda on: refused_change(lambda: on.db.accounts.create_key("k", why=SAID)),
    "end_key.why": lambda on: refused_change(
        lambda: on.db.accounts.end_key(on.db.accounts.create_key("k").key.id, why=SAID)
    ),
    "ingest, another speaker": lambda on: on.db.ingest([{"speaker": "Bob", "text": SAID}], conversation="c"),
    "ingest, nobody": lambda on: on.db.ingest([{"text": SAID}], conversation="c"),
    "ingest, a speaker's name": lambda on: on.db.ingest([{"speaker": SAID, "text": "hello"}], conversation="c"),
    "ingest, a session": lambda on: on.db.ingest([{"text": "hello", "session": SAID}], conversation="c"),
    "ingest, a conversation": lambda on: on.db.ingest([{"text": "hello"}], conversation=SAID),
    "ingest, a source": lambda on: on.db.ingest([{"text": "hello", "source": {"f": SAID}}], conversation="c"),
}
"""Every place in which a caller can put a text, by the command and its field."""


TEXTS: Final = {
    *("type", "name", "content", "aliases", "labels", "why", "source", "properties", "key", "named"),
    *("profile", "node_types", "relations", "plan", "features"),
}
NO_TEXTS: Final = {
    *("ref", "refs", "edge", "proposal", "source_ref", "target_ref", "home", "world", "scope", "to", "out_of", "into"),
    *("valid_from", "valid_to", "at", "until", "replace_later", "members"),
    *("seq", "resolve", "revive", "anew", "judged", "evidence", "move", "level", "of"),
    *("turns", "everywhere", "forbid", "derived", "bundle", "handler_version", "digest", "digest_of", "rewrites"),
    *("functional", "fuzzy", "phonetic", "embedding", "margin", "most", "model", "mean", "dimension", "after"),
    *("through", "items", "space", "lasts", "is_pinned", "version", "versions", "is_deprecated"),
    *("what", "how", "whole", "among", "expects", "commit", "credentials", "personal", "origins", "copies"),
    *("quads", "account", "key_id", "right", "is_open", "expires_at", "limits", "literal"),
}
ELSEWHERE: Final = {
    "link.type": "only a type that is registered can be linked by",
    "link_versions.type": "only a type that is registered can be linked by",
    "unalias.aliases": "takes back what stands here: see below",
    "unlabel.labels": "takes back what stands here, as unalias does",
    "untag.labels": "takes back what stands here, as unalias does",
    "refresh.why": "nobody is asked for a reason",
    "unregister.type": "only what is registered can be taken back",
    "untune.type": "only what was tuned can be taken back",
    "use_space.name": "only a space that is there can answer",
    "drop_space.name": "only a space that is there can be dropped",
    "import.why": "see the test of bundles",
    "use_space.why": "see the test of spaces",
    "drop_space.why": "see the test of spaces",
    "contract.properties": "takes back what stands here, as unalias does",
    "keep_receipt.properties": "a receipt holds digests and no text",
    "keep_receipt.why": "nobody is asked for a reason",
    "fork.aliases": "see the tests of forks",
    "fork.why": "see the tests of forks",
    "merge.why": "see the tests of forks",
    "state.why": "nobody is asked for a reason",
    "unstate.why": "nobody is asked for a reason",
    "unstate.aliases": "takes back what stands here, as unalias does",
    "make_key.name": "a name of letters, digits, dots, underscores and hyphens",
    "set_account.plan": "only a plan that is there can be had",
    "access.why": "nobody is asked for a reason",
    "embed.why": "the engine's own",
    "recluster.why": "the engine's own",
}


IN_EVENTS: Final = ("register.", "tune.", "set_beliefs.", "set_profile.", "set_plan.")
"""Doors to events that hold a text themselves, where no look at the blobs of a commit finds it."""


def test_every_text_of_every_command_has_a_door_here() -> None:
    known = {(kind.CODE, name) for kind in cmd.ALL for name in kind.__struct_fields__}
    assert {name for _, name in known} == TEXTS | NO_TEXTS, "say of a new field whether it holds text"
    told = {door.partition(",")[0] for door in DOORS} | ELSEWHERE.keys()
    assert {f"{code}.{name}" for code, name in known if name in TEXTS} <= told


@pytest.mark.parametrize(
    "door", [each if each.startswith(IN_EVENTS) else pytest.param(each, marks=pytest.mark.soak) for each in DOORS]
)
def test_a_credential_is_refused_at_every_door_too(small: Small, door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key alone may be one: of that only a hash is kept."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    monkeypatch.setitem(globals(), "SAID", token)
    outcome = DOORS[door](small).outcome
    assert getattr(outcome, "code", "") == "credential_rejected" or "key" in door
    assert find_traces(small.db.path, [token]) == []


@pytest.mark.parametrize("door", DOORS)
def test_a_forbidden_text_is_refused_at_every_door(small: Small, door: str) -> None:
    outcome = DOORS[door](small).outcome
    assert isinstance(outcome, Refused) and outcome.code == "forbidden_text"
    assert find_traces(small.db.path, [SAID]) == []
    assert small.db.verify(deep=True).findings == ()


def test_the_words_of_an_erased_turn_are_nobody_elses_either(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", background=False) as db:
        db.ingest([{"speaker": "Ines", "text": SAID}, {"speaker": "Bob", "text": "Oh."}], conversation="ward")
        [turn] = [each for each in db.view().find(type="Turn") if SAID in each.content]
        plan = db.erasure_plan(turn.ref, forbid=True)
        db.erase(turn.ref, reason="request 1", forbid=True)
        assert plan.contents_forbidden == 1
        for call in (
            lambda: db.ingest([{"speaker": "Bob", "text": SAID}], conversation="other"),
            lambda: db.ingest([{"speaker": "Ines", "text": SAID}], conversation="other"),
            lambda: db.ingest([{"text": SAID}], conversation="other"),
            lambda: db.create("Note", "", content=SAID),
        ):
            assert refusal(call()) == "forbidden_text"
        assert db.ingest([{"speaker": "Bob", "text": f"{SAID}, I hear."}], conversation="other").events
        again = db.ingest([{"speaker": "Ines", "text": SAID}, {"speaker": "Bob", "text": "Oh."}], conversation="ward")
        assert [note.code for note in again.notes] == ["not_restored"], "the same file again leaves out what was erased"


def test_in_a_batch_the_command_is_named_and_nothing_is_written(small: Small) -> None:
    before = small.db.head()
    with pytest.raises(RefusedError) as refused, small.db.batch() as tx:
        for number in range(20):
            tx.create("Note", f"number {number}")
        tx.link(small.one, "refers_to", small.two, properties={"a": SAID})
        tx.create("Note", "after")
    assert refused.value.details == {"reason": "forbidden_text", "command": 20}
    assert small.db.head() == before


def test_a_reason_may_not_hold_what_its_own_erasure_forbids(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", background=False) as db:
        gone = db.create("Person", "Ines").ref
        assert refusal(db.erase(gone, reason="Ines", forbid=True)) == "forbidden_text"
        assert db.view().get(gone) is not None
        assert db.erase(gone, reason="request 7", forbid=True).events


def test_a_bundle_brings_it_in_no_field(tmp_path: Path) -> None:
    fields: dict[str, Callable[[Database, str], object]] = {
        "content": lambda db, box: db.create("Note", "q", content=SAID, world=box),
        "name": lambda db, box: db.create("Note", SAID, world=box),
        "type": lambda db, box: db.create(SAID, "q", world=box),
        "alias": lambda db, box: db.create("Note", "q", aliases=[SAID], world=box),
        "why": lambda db, box: db.create("Note", "q", why=SAID, world=box),
        "source": lambda db, box: db.create("Note", "q", source={"s": SAID}, world=box),
        "property": lambda db, box: db.link(
            db.create("Note", "q", world=box).ref,
            "refers_to",
            db.create("Note", "r", world=box).ref,
            properties={"x": SAID},
        ),
        "evidence": lambda db, box: db.link(
            db.create("Note", "q", world=box).ref,
            "same_as",
            db.create("Note", "r", world=box).ref,
            properties={"x": SAID},
        ),
        "decision": lambda db, box: db.reject(
            db.link(db.create("Note", "q", world=box).ref, "same_as", db.create("Note", "r", world=box).ref).ref,
            why=SAID,
        ),
        "end": lambda db, box: db.retire(db.create("Note", "q", world=box).ref, why=SAID),
        "tuning": lambda db, box: db.tune(Thresholds(), world=box, why=SAID),
    }
    for field, write in fields.items():
        with worlddb.open(tmp_path / field, author="z", background=False) as other:
            box = other.create("Topic", "pack").ref
            write(other, box)
            other.export(box, tmp_path / f"{field}.bundle")
    with worlddb.open(tmp_path / "store", author="ada", background=False) as db:
        db.erase(db.create("Note", "n", content=SAID).ref, reason="request 1", forbid=True)
        for field in fields:
            assert refusal(db.import_bundle(tmp_path / f"{field}.bundle")) == "forbidden_text", field
            refused = db.import_plan(tmp_path / f"{field}.bundle").refused
            assert refused is not None and refused[0] == "forbidden_text", field
        assert find_traces(db.path, [SAID]) == []
        with new_store() as clean:
            box = clean.create("Topic", "pack").ref
            clean.export(box, tmp_path / "clean.bundle")
        assert refusal(db.import_bundle(tmp_path / "clean.bundle", why=SAID)) == "forbidden_text"


def test_what_stands_elsewhere_can_still_be_taken_back_moved_and_compared(tmp_path: Path) -> None:
    """To forbid a name is not to lock up what has it already: another world of that name was not erased."""
    with worlddb.open(tmp_path / "store", background=False) as db:
        box, other = db.create("Box", "box").ref, db.create("Box", "other").ref
        kept = db.create("Person", "Kept", aliases=["Robert Smith"], world=box).ref
        friend = db.create("Person", "Friend", world=box).ref
        db.link(kept, "refers_to", friend, properties={"known as": "Robert Smith"}, home=box)
        db.trust("low", author="Robert Smith")
        db.erase(db.create("Person", "Robert Smith", resolve=False).ref, reason="request 1", forbid=True)
        new = db.create("Person", "Robert Smyth", world=box, resolve="all")
        assert new.proposals, "the evidence repeats the name that stands here"
        assert db.move([kept, friend], other).events
        assert db.trust(None, author="Robert Smith").events
        assert db.unalias(kept, "Robert Smith").events
        assert refusal(db.alias(kept, "Robert Smith")) == "forbidden_text"
        assert db.verify(deep=True).findings == ()


def test_a_handler_brings_it_in_no_way(tmp_path: Path) -> None:
    ways: dict[str, Callable[[HandlerContext, HandledEdge], object]] = {
        "content": lambda ctx, edge: ctx.create("Note", "n", content=SAID),
        "alias": lambda ctx, edge: ctx.create("Note", "n", aliases=[SAID]),
        "source": lambda ctx, edge: ctx.create("Note", "n", source={"s": SAID}),
        "property": lambda ctx, edge: ctx.link(edge.source, "refers_to", edge.target, properties={"p": SAID}),
        "evidence": lambda ctx, edge: ctx.stage(edge.source, edge.target, evidence={"e": SAID}),
    }

    class Brings(PlainHandler):
        name = "brings"
        way = "content"

        def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
            ways[self.way](ctx, edge)
            return Insert.WRITE

    handler = Brings()
    with worlddb.open(tmp_path / "store", background=False) as db:
        db.register(handler)
        one, two = db.create("Note", "one").ref, db.create("Note", "two").ref
        db.erase(db.create("Note", "n", content=SAID).ref, reason="request 1", forbid=True)
        for way in ways:
            handler.way = way
            assert refusal(db.link(one, "brings", two)) == "forbidden_text", way
        assert find_traces(db.path, [SAID]) == []


def test_an_embedding_space_is_not_called_so(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=Letters(), background=False) as db:
        db.create("Note", "n", content="aaa")
        assert db.embed().embedded
        db.erase(db.create("Person", "Ines").ref, reason="request 1", forbid=True)
        db.erase(db.create("Person", "default").ref, reason="request 2", forbid=True)
        with pytest.raises(RefusedError, match="may not be written"):
            db.reembed(Letters("abc"), space="Ines")
        assert db.reembed(Letters("abc"), space="new").in_use
        assert db.use_space("default").events, "what is called so already can be named"
        for call in (lambda: db.use_space("new", why="Ines"), lambda: db.drop_space("new", why="Ines")):
            assert refusal(call()) == "forbidden_text"
