"""Parts that reports share: pages of HTML, text shown safely, events grouped by world and commit."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from worlddb import Change, InputError, format_time


def rendered(template: str, **values: Any) -> str:
    """Fill a template; remembered text is escaped, and a missing value is an error."""
    # ``worlddb log`` takes its commits from here, and needs no templates.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("worlddb.tools.reports", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(to_the_second=shown_time, whole=format_time, safe_text=visible)
    # A macro of a template, because it returns HTML.
    environment.filters["time"] = environment.get_template("time.j2").make_module().time  # type: ignore[attr-defined]
    return environment.get_template(template).render(**values)


def write_page(page: str, file: Path) -> None:
    """Write a page under its own name; one that breaks off leaves texts under no other.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        file.write_text(page, "utf-8")
    except OSError as error:
        raise InputError(
            f"The page {str(file)!r:.200} cannot be written: {error.strerror}", "Check its directory and the free space"
        ) from error


def visible(text: str) -> str:
    """Escape characters that are invisible or reorder the text around them."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return character
    return character.encode("unicode_escape", "surrogatepass").decode()


def shown_time(micros: int) -> str:
    """Format a time to the second; an open end is a word."""
    text = format_time(micros)
    return f"{text[:19].removesuffix('Z').replace('T', ' ')} UTC" if text.endswith("Z") else text


Event = dict[str, Any]
VECTORS: Final = ("embedded", "embedded_through")
"""Events of commits that only hold vectors. Such commits follow every few writes, so people see them folded."""


class CommitEvents(NamedTuple):
    """One commit's effect on a world: its events in words, its author, time and reason."""

    side: str
    seq: int
    what: str
    author: str
    ingested_at: int
    why: str


def own_events(changes: Sequence[Change]) -> list[list[Event]]:
    """Return every change's events without those of worlds inside it; containers first."""
    listed = {change.ref: number for number, change in enumerate(changes)}
    accounted: list[set[tuple[str, int, int]]] = [set() for _ in changes]
    own: list[list[Event]] = [[] for _ in changes]
    for number in reversed(range(len(changes))):
        change = changes[number]
        own[number] = [event for event in change.events if _place(event) not in accounted[number]]
        container = listed.get(change.within, number)
        if container < number:
            accounted[container].update(map(_place, change.events))
    return own


def versions_embedded(change: Change, side: Literal["a", "b"]) -> int:
    """Count the versions of a world whose vectors only this side has."""
    return sum(detail.field in VECTORS and bool(getattr(detail, side)) for detail in change.changes)


def commits_of(change: Change, events: Iterable[Event]) -> list[CommitEvents]:
    """Group the events of a world by commit.

    Events of vectors are left out, unless the world differs in nothing else.
    """
    only_vectors = {detail.kind for detail in change.changes} == {"vectors"}
    return group_by_commit(event for event in events if only_vectors or event["event"] not in VECTORS)


def group_by_commit(events: Iterable[Event]) -> list[CommitEvents]:
    """Group events that were committed together."""
    commits: list[CommitEvents] = []
    for (side, seq), group in groupby(events, key=lambda event: (event["side"], event["seq"])):
        listed = list(group)
        counts = Counter(event["event"] for event in listed)
        what = ", ".join(name if number == 1 else f"{number} {name}" for name, number in counts.items())
        why = next((event["why"] for event in listed if event["why"]), "")
        commits.append(CommitEvents(side, seq, what, listed[0]["author"], listed[0]["ingested_at"], why))
    return commits


def _place(event: Event) -> tuple[str, int, int]:
    return event["side"], event["seq"], event["index"]
