"""Format values as JSON for programs and as text for people.

In JSON, times are ISO 8601 or null and references are full.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

import worlddb
from worlddb import plain_text
from worlddb.tools.cli.base.output import translate_remedy

_TIMES_IN_EVENTS: Final = ("valid_from", "valid_to", "at", "t_create")


time = plain_text.format_bound


def valid(interval: worlddb.Valid) -> dict[str, str | None]:
    return {"from": time(interval.start), "to": time(interval.end)}


def record(found: msgspec.Struct) -> dict[str, Any]:
    """Convert any record of a read to JSON, field by field."""
    document: dict[str, Any] = {}
    for name in found.__struct_fields__:
        value = getattr(found, name)
        if isinstance(value, worlddb.Valid):
            value = valid(value)
        elif name in ("ingested_at", "since") or (name == "expires_at" and value is not None):
            value = time(value)
        elif isinstance(value, tuple):
            value = [record(each) if isinstance(each, msgspec.Struct) else each for each in value]
        elif isinstance(value, worlddb.Erasure):
            value = record(value)
        document[name] = value
    return document


def marks(found: worlddb.World | worlddb.Hit) -> list[tuple[str, str]]:
    """Describe the marks of a world: what each is called, and what it says."""
    rows = [] if found.expires_at is None else [("hidden from", moment(found.expires_at))]
    if found.pinned:
        rows.append(("pinned", "comes first, and no deadline hides it"))
    if found.labels:
        rows.append(("labels", ", ".join(found.labels)))
    if isinstance(found, worlddb.World):
        rows += [("deprecated", "left out of recalls and lists")] if found.deprecated else []
        rows += [("tags", ", ".join(f"{name} (version {at})" for name, at in found.tags.items()))] if found.tags else []
    return rows


def bases(found: worlddb.World | worlddb.Hit) -> list[str]:
    """Describe what a world rests on, a line each: what, by whom, and from where."""
    lines = []
    for base in found.rests_on:
        what = "(erased)" if base.erased else one_line(base.name, 80) or base.type
        parts = [f"by {base.author}", provenance(base.source), "" if base.trust is None else f"trust {base.trust}"]
        lines.append(f"{short(base.ref)}  {what}, {', '.join(filter(None, parts))}")
    return [*lines, "and more"] if found.rests_on_more else lines


def why_stale(found: worlddb.World | worlddb.Hit | worlddb.Version) -> list[str]:
    """Say why a world may hold no more, a line each: of what it was made that holds no more."""
    lines = []
    for each in found.stale:
        by = f" by {short(each.by)}" if each.by else ""
        way = f" via {', '.join(map(short, each.path[:-1]))}" if each.path[1:] else ""
        lines.append(f"{short(each.ref)} was {each.why}{by} {moment(each.since)}{way}".replace("was ended", "ended"))
    if not isinstance(found, worlddb.Version) and found.in_ended:
        lines.append(f"it lies in {short(found.in_ended)}, which has ended")
    return lines


def proposal(found: worlddb.Proposal) -> dict[str, Any]:
    return record(found) | {"decided": found.decided or None, "because": found.because}


def entry(found: worlddb.Entry) -> dict[str, Any]:
    data = {
        name: time(value) if name in _TIMES_IN_EVENTS and value is not None else value
        for name, value in found.data.items()
    }
    return record(found) | {"data": data}


def view(of: worlddb.View) -> dict[str, Any]:
    """Describe a view: its moment and, if it is confined, its world."""
    moment = {"seq": of.seq, "ingested": time(of.ingested), "valid": time(of.valid)}
    return moment if of.world is None else moment | {"world": of.world}


def note_text(note: worlddb.Note | str) -> str:
    """Return a note as the command line says it, with commands and options where the library names calls."""
    return translate_remedy(str(note))


def receipt(given: worlddb.Receipt) -> dict[str, Any]:
    """Describe the receipt of a write that was not refused."""
    return {
        "outcome": type(given.outcome).__name__.lower(),
        "seq": given.seq,
        "ingested_at": time(given.ingest_time),
        "root": given.root,
        "events": given.events,
        "refs": [] if isinstance(given.outcome, worlddb.Refused) else list(given.refs),
        "proposals": list(given.proposals),
        "notes": [{"code": note.code, "refs": list(note.refs), "text": note_text(note)} for note in given.notes],
        "lost": [
            {
                "ref": loss.ref,
                "version": loss.version,
                "valid": valid(worlddb.Valid(loss.valid_from, loss.valid_to)),
            }
            for loss in given.lost
        ],
    }


def erasure(given: worlddb.ErasureReceipt) -> dict[str, Any]:
    """Describe the receipt of an erasure in the form that ``check-receipt`` takes."""
    document: dict[str, Any] = msgspec.to_builtins(given)
    return document | {"ingested_at": time(given.ingested_at)}


def bundle(found: worlddb.Bundle) -> dict[str, Any]:
    """Describe a bundle."""
    return {
        "bundle": found.hash,
        "store": found.store_id,
        "seq": found.seq,
        "ingested_at": time(found.ingested_at),
        "world": found.world,
        "hash": found.world_hash,
        "worlds": found.worlds,
        "frames": found.frames,
        "bytes": found.size,
        "proof_size": found.proof_size or None,
        "edge_types": [
            {"name": name, "version": version, "digest": digest} for name, version, digest in found.edge_types
        ],
        "registrations": [
            {"name": name, "world": world, "functional": functional} for name, world, functional in found.registrations
        ],
        "tunings": [{"type": name, "world": world} for name, world in found.tunings],
        "profiles": [{"name": name, "world": world} for name, world in found.profiles],
        "beliefs": [{"what": what, "name": name, "how": how} for what, name, how in found.beliefs],
    }


def import_plan(found: worlddb.ImportPlan) -> dict[str, Any]:
    """Describe what an import would come to."""
    refused = None if found.refused is None else {"code": found.refused[0], "reason": found.refused[1]}
    outside = [{"kind": one.kind, "world": one.world, "by": one.by or None} for one in found.outside]
    for shown, one in zip(outside, found.outside, strict=True):
        shown["at"] = None if one.at is None else time(one.at)
    return {"events": found.events, "outside": outside, "refused": refused}


# -- for people


def short(ref: str) -> str:
    """Shorten a reference for people."""
    return ref[:12]


def moment(micros: int) -> str:
    """Format a time to the second; as a day if it is the first instant of one."""
    text = worlddb.format_time(micros)
    return text.removesuffix("T00:00:00Z") if text.endswith("T00:00:00Z") else text[:19] + "Z" * (len(text) > 19)


def span(interval: worlddb.Valid) -> str:
    """Describe a validity in words."""
    if interval.start == interval.end:
        return "at no time"
    begins, ends = moment(interval.start), moment(interval.end)
    if begins == "always":
        return "always" if interval.end == worlddb.FOREVER else f"until {ends}"
    return f"from {begins}" if interval.end == worlddb.FOREVER else f"{begins} to {ends}"


def provenance(source: dict[str, Any]) -> str:
    """Describe where a text came from, the file first.

    A path that means the whole record is left out.
    """
    parts = [str(source["file"])] if source.get("file") else []
    parts += [f"{name} {value}" for name, value in source.items() if name != "file" and value not in ("", None, "$")]
    return ", ".join(parts)


def one_line(text: str, limit: int = 240, *, around: str = "") -> str:
    """Put a text on one line, cut after ``limit`` characters, or where most words of a question ``around`` it are."""
    if around:
        return plain_text.around(" ".join(text.split()), around, limit)
    return plain_text.clipped(" ".join(text[: 4 * limit].split()), limit)


def counted(number: int, what: str) -> str:
    """Format a number with its noun, in the singular or the plural."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
