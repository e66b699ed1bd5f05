"""What a handler may do beside writing its own edge, tried with an edge type that is not in the default ontology."""

from __future__ import annotations

from pathlib import Path

import worlddb
from worlddb.reconciler.context import Context
from worlddb.reconciler.handler import Edge, Insert, PlainHandler


class LivesIn(PlainHandler):
    """A functional relation: nobody lives in two places, so a second one is a conflict of the two places."""

    name = "lives_in"

    def on_insert(self, ctx: Context, edge: Edge) -> Insert:
        for _, row in ctx.live_edges(edge.source, self.name):
            ctx.conflict(edge.target, row.target)
        return super().on_insert(ctx, edge)


def test_a_handler_records_a_conflict_in_the_commit_of_its_edge_and_reads_show_it(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db._writer.handlers["lives_in"] = LivesIn()
        ann, lisbon, porto = (db.create("Entity", name) for name in ("Ann", "Lisbon", "Porto"))
        assert db.link(ann, "lives_in", lisbon).events == 1
        assert db.view().conflicts(lisbon) == []
        assert db.link(ann, "lives_in", porto).events == 2
        view = db.view()
        for place, other in ((lisbon, porto), (porto, lisbon)):
            seen = view.get(place)
            assert seen is not None and seen.conflicts == (other.ref,)
        assert [edge.type for edge in view.edges(ann, direction="out")] == ["lives_in", "lives_in"]
        assert db.verify(deep=True).ok
    with worlddb.open(tmp_path / "store") as db:
        # Without the handler everything is read and rebuilt, and only new writes of the type are refused.
        assert [edge.type for edge in db.view().edges(ann, type="lives_in")] == ["lives_in", "lives_in"]
        assert db.rebuild("tables").root == db.head().root
