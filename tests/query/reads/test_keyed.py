"""Looking a world up by the key that its caller gave it."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from worlddb import InputError


def test_a_world_is_found_by_its_key_as_its_moment_and_its_place_know_it(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        mine, theirs = db.create("Tenant", "mine").ref, db.create("Tenant", "theirs").ref
        before = db.view()
        first = db.create("Note", "n", content="one", key="k", world=mine).ref
        within = db.create("Note", "n", content="two", key="k", key_within=theirs, world=theirs).ref
        for view, ref in ((db.view(), first), (db.view(world=mine), first), (db.view(world=theirs), within)):
            found = view.keyed("k")
            assert found is not None and found.ref == ref
        assert before.keyed("k") is None and db.view().keyed("another") is None
        db.retire(first, at="2020-01-01")
        ended = db.view().keyed("k")
        assert ended is not None and ended.ref == first and ended.closed
        again = db.create("Note", "n", content="three", key="k", world=mine, anew=True).ref
        latest = db.view().keyed("k")
        assert latest is not None and latest.ref == again != first
        db.erase(again, reason="r")
        gone = db.view().keyed("k")
        assert gone is not None and gone.erased
        for wrong in ("", 7, None):
            with pytest.raises(InputError):
                db.view().keyed(wrong)  # type: ignore[arg-type]
