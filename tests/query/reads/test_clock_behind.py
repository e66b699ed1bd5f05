"""While the clock is behind the last commit, a confined view's time tells nothing of others' commits."""

from __future__ import annotations

import anyio

from tests.support.model.stores import new_store
from worlddb import ManualClock
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.session import Session

DAY = 86_400_000_000


def test_the_time_of_a_confined_view_does_not_count_the_commits_of_others_while_the_clock_is_behind() -> None:
    clock = ManualClock()
    with new_store(clock=clock, embedder=None) as db:
        mine, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
        own = db.create("Note", "", content="tea", world=mine)
        clock.value -= DAY
        before = db.view(world=mine)
        assert before.valid == own.ingest_time and before.get(own) is not None
        for number in range(5):
            db.create("Note", "", content=f"secret {number}", world=theirs)
            assert db.view(world=mine).valid == before.valid
        assert db.view().valid == db.view(world=theirs).valid > before.valid
        later = db.create("Note", "", content="coffee", world=mine)
        assert db.view(world=mine).valid == later.ingest_time
        assert db.view(world=mine).get(later) is not None
        ended = db.retire(later)
        assert db.view(world=mine).get(later) is None
        clock.value -= DAY
        assert db.view(world=mine).get(later) is None
        assert db.view(world=mine).valid == ended.ingest_time
        clock.value += 3 * DAY
        assert db.view(world=mine).valid == clock.value == db.view().valid


def test_a_plain_answer_of_a_confined_server_is_the_same_however_much_others_write_meanwhile() -> None:
    clock = ManualClock()
    with new_store(clock=clock, embedder=None) as db:
        mine, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
        db.create("Note", "", content="tea", world=mine)
        clock.value -= DAY
        server = MemoryServer(Session(db, mine))

        async def asked() -> list[str]:
            answers = []
            for _ in range(3):
                found = await server.call_tool("memory_recall", {"query": "tea", "detail": "full"})
                answers.append(repr(found.structured_content))
                db.create("Note", "", content="secret", world=theirs)
            return answers

        assert len(set(anyio.run(asked))) == 1


def test_what_moves_into_the_world_while_the_clock_is_behind_is_seen_at_once() -> None:
    clock = ManualClock()
    with new_store(clock=clock, embedder=None) as db:
        mine, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
        clock.value -= DAY
        note = db.create("Note", "", content="tea", world=theirs).ref
        assert db.view(world=mine).find() == []
        db.link(mine, "contains", note)
        assert [world.ref for world in db.view(world=mine).find()] == [note]
        db.unlink(next(each.ref for each in db.view().edges(note, direction="in") if each.source == mine))
        assert db.view(world=mine).find() == []
        edge = db.link(mine, "contains", note).ref
        assert [world.ref for world in db.view(world=mine).find()] == [note]
        db.retire(edge)
        assert db.view(world=mine).find() == []
