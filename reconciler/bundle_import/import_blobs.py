"""The blobs of an import: stored under the ids that they came with.

Their origin is stored beside each text.
"""

from collections.abc import Iterable
from typing import Any, Final

from worlddb.log.model import blobs, codec, errors, events, limits, times
from worlddb.log.store.bundle_contents import BundledWorld, Contents
from worlddb.reconciler.transaction.draft import Draft


class IncomingBlobs:
    """Assigns blobs of a bundle to positions in the commit, one for each world or edge that needs the blob.

    A world and its fork say the same in the same blobs. Here each has its own, or an erasure of one would take what the
    other says. ``absent`` are those without bytes.
    """

    def __init__(self, draft: Draft, contents: Contents) -> None:
        self._draft = draft
        self._contents = contents
        self._as_they_are: dict[tuple[bytes, bytes], int] = {}
        self._told: dict[tuple[bytes, bytes], int] = {}
        self._of_statements: dict[tuple[bytes, bytes, int], int] = {}
        self._struck: dict[tuple[bytes, bytes], set[int]] = {}
        self._worlds: dict[bytes, BundledWorld] = {}
        for world in contents.worlds:
            if world.own:
                said = (
                    world.frame.lineage,
                    *(each.edge for each in world.edges),
                    *(p.proposal for p in world.proposals),
                )
                self._worlds.update(dict.fromkeys(said, world))
        self.absent: list[int] = []

    def position(self, blob: bytes, of: bytes) -> int:
        """The position of a blob of a world or edge under the id that it came with; :data:`NONE` for no blob."""
        if not blob:
            return events.NONE
        found = self._as_they_are.get((of, blob))
        if found is None:
            stored = self.text(blob, of)
            if stored is not None and self._struck.get((of, blob)):
                stored = codec.strike_texts(stored, self._struck[of, blob], 0)
            found = self._add(blob, stored)
            self._as_they_are[of, blob] = found
        return found

    def strike(self, blob: bytes, places: Iterable[int], of: bytes) -> None:
        """Leave out the texts at some places of a world's blob, before it gets a position."""
        self._struck.setdefault((of, blob), set()).update(places)

    def left_of(self, position: int) -> tuple[list[int], bytes] | None:
        """The places of the missing texts of a blob, and the hash of the rest; ``None`` if it is complete."""
        stored = self._draft.blobs.stored[position]
        struck = None if stored is None else codec.struck_in(stored)
        if stored is None or struck is None:
            return None
        details = codec.decode_blob(stored, 0)
        aliases = details.aliases if isinstance(details, blobs.Details) else []
        return [place for place, text in enumerate(aliases) if not text], struck.hash

    def missing_position(self, blob: bytes, of: bytes) -> int:
        """The position of a blob whose id alone arrived."""
        found = self._as_they_are.get((of, blob))
        if found is None:
            found = self._as_they_are[of, blob] = self._add(blob, None)
        return found

    def text(self, blob: bytes, of: bytes) -> bytes | None:
        """The bytes that arrived under an id of a world or edge."""
        world = self._worlds.get(of)
        return self._contents.blobs.get(blob) if world is None else self._contents.blob(blob, world)

    def is_any_told(self, blob: bytes) -> bool:
        """Whether bytes came for an id, of whatever world."""
        told = (self._contents.blobs, *(world.own for world in self._worlds.values()))
        return any(each.get(blob) is not None for each in told)

    def naming(self, blob: bytes, of: bytes) -> int:
        """The position of the details that hold an alias: those of a version, if they have it."""
        found = self._told.get((of, blob))
        return self.position(blob, of) if found is None else found

    def of_version(self, details: bytes, seq: int, of: bytes) -> int:
        """The position of the details of a version, with the origin added to the source.

        The origin names the store, commit, time and author.

        They get an id of their own, which nothing is made of. A version that was imported before says that, too.
        """
        stored = self.text(details, of) if details else None
        found = codec.decode_blob(stored, seq) if stored is not None else None
        given = found if isinstance(found, blobs.Details) else blobs.Details(b"", [], "", {}, {})
        made = self._draft.add_details(
            aliases=tuple(given.aliases), why=given.why, **self._with_origin(given, self.origin(seq))
        )
        if details:
            self._told.setdefault((of, details), made)
        return made

    def of_statements(self, details: bytes, seq: int, of: bytes) -> int:
        """The position of the details of statements, without the texts of their terms."""
        made = self._of_statements.get((of, details, seq))
        if made is None:
            stored = self.text(details, of)
            found = codec.decode_blob(stored, seq) if stored is not None else None
            given = found if isinstance(found, blobs.Details) else blobs.Details(b"", [], "", {}, {})
            told = self._with_origin(given, self.origin(seq))
            made = self._of_statements[of, details, seq] = self._draft.add_details(
                why=given.why, source=told["source"], properties=told["properties"]
            )
        return made

    def _with_origin(self, given: blobs.Details, origin: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Source and properties, with the origin in the one that has room for it.

        What they said themselves under its name, and anybody can have written there, follows it.
        """
        source, properties = dict(given.source), dict(given.properties)
        said = [*_imports_of(properties.pop(blobs.IMPORTED, None)), *_imports_of(source.pop(blobs.IMPORTED, None))]
        whole = origin | ({blobs.BEFORE: _limit_length(said)} if said else {})
        for name, record in (("source", source), ("properties", properties)):
            for told in (whole, origin):
                try:
                    limits.checked_record(record | {blobs.IMPORTED: told}, name)
                except errors.LimitExceeded:
                    continue
                return {"source": source, "properties": properties} | {name: record | {blobs.IMPORTED: told}}
        return {"source": source, "properties": {blobs.IMPORTED: origin}}

    def origin(self, seq: int) -> dict[str, Any]:
        """The origin of a commit: its store, number, author and time; for 0 the store alone."""
        if not seq:
            return {"store": self._contents.heading.store_id.hex()}
        commit = self._contents.commits[seq]
        return {
            "store": self._contents.heading.store_id.hex(),
            "seq": seq,
            "ingested_at": times.format_time(commit.ingest_time),
            "author": commit.author,
        }

    def _add(self, blob: bytes, stored: bytes | None) -> int:
        position = self._draft.blobs.add_stored(blob, stored)
        if stored is None:
            self.absent.append(position)
        return position


_MAX_BEFORE: Final = 16


def _imports_of(claim: Any) -> list[Any]:
    """The imports that a version records, the oldest first."""
    if claim is None:
        return []
    earlier = claim.get(blobs.BEFORE) if isinstance(claim, dict) else None
    if not isinstance(earlier, list):
        return [claim]
    return [*earlier, {name: value for name, value in claim.items() if name != blobs.BEFORE}]


def _limit_length(said: list[Any]) -> list[Any]:
    return said if len(said) <= _MAX_BEFORE else [said[0], *said[-_MAX_BEFORE + 1 :]]
