"""What a memory puts into a prompt: a recall within a budget of tokens, or a profile, a line a memory.

No text leaves its line, whatever its author, source or type says.
"""

from __future__ import annotations

import functools
import itertools
import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Final

import msgspec

from worlddb.log.model import errors, times
from worlddb.memory_scopes import is_name_only
from worlddb.plain_text import Excerpts, one_line
from worlddb.projections.tables.consolidation.interior_witness import SUMMARY, WITNESS
from worlddb.query.claims import claim_relation
from worlddb.query.recall.answer import has_ended_by_text
from worlddb.query.recall.scoring import GOVERNS, KEPT, OVER, THEN
from worlddb.query.records import records
from worlddb.query.view.view import View
from worlddb.reconciler.ingest import extraction

Count = Callable[[str], int]
"""Counts the tokens of a text."""
Measure = Callable[[str], float]
_RELEVANT_SHARE: Final = 0.4
"""The share of the best score below which a hit is shown only once everything above it is. Less than
:data:`worlddb.query.recall.answer.NOTED_SHARE`: an answer may rest on what is far from the question alone."""
_GUIDES: Final = frozenset({GOVERNS, KEPT})
"""The parts of a score of what says how to answer, which may be far from the question."""
CONTEXT_HITS: Final = 64
"""Hits to make a context from."""
_BYTES_A_TOKEN: Final = 3
"""Bytes per token, low enough to keep a token budget for any common model."""
_LONGEST_LINE: Final = 1_000
"""The characters of a memory that a profile shows, and of another one that a remark repeats."""
_WEAK: Final = "Perhaps nothing here answers the question: these memories are the nearest"
_WEAK_AND_NONE: Final = "Perhaps nothing here answers the question, and none of the nearest fits in max_tokens={}"
_SHORTEST_PIECE: Final = 60
"""A context shows no piece of a memory with fewer characters."""
_SHORTEST_BARE: Final = 20
"""… of one that it shows in any case, without its time and source."""
_PAST_SCORES: Final = frozenset({OVER, THEN})


class PromptText(str):
    """A text for a prompt. ``note`` says if perhaps nothing in it answers, else what did not fit or was cut."""

    __slots__ = ("note",)
    note: str

    def __new__(cls, text: str, note: str = "") -> PromptText:
        made = super().__new__(cls, text)
        made.note = note
        return made


def prompt_text(
    found: records.Recall,
    pinned: Sequence[records.World],
    count: Count | None,
    max_tokens: int,
    view: View,
    question: str = "",
) -> PromptText:
    """Return a recall's hits as a text for a prompt, pinned memories first. See :meth:`Memory.context`.

    Texts of a memory at other requested times get lines of their own. Memories that began at the same time are in the
    log order of ``view``; what begins after its valid time is marked. Without ``count``, three bytes are a token.

    Raises:
        InputError: the count returned no number of tokens.
    """
    tokens = functools.partial(_count_tokens, count or (lambda text: -(-len(text.encode()) // _BYTES_A_TOKEN)))
    lines = _prompt_lines(found, pinned, view)

    def fits(told: Iterable[str]) -> bool:
        return tokens("\n".join(told)) <= max_tokens

    def is_missed(line: _Line) -> bool:
        return line.is_relevant and (not found.weak or line.order[0] == 0)

    due = [line for line in lines if line.is_due]
    is_bare = not fits(line.whole for line in due) and fits(line.bare for line in due)
    shown: list[tuple[tuple[int, int, int, int], str]] = []
    left, cut = list[_Line](), 0
    for line in lines:
        if left and not line.is_relevant:
            break  # It would be there for being short, where something more relevant is not.
        before = [told for _, told in sorted(shown)]
        is_next = line.is_relevant and not left
        forms = ([] if line.is_due and is_bare else [line.whole]) + ([line.bare] if line.is_due or is_next else [])
        forms += [line.short] if line.is_due else []
        told = next((form for form in forms if fits([*before, form])), "")
        told = told or _cut_line(line, before, tokens, max_tokens, question)
        if told:
            shown.append((line.order, told))
            cut += told != line.whole and is_missed(line)
        else:
            left.append(line)
    notes = [_WEAK if shown else _WEAK_AND_NONE.format(max_tokens)] if found.weak and found.hits else []
    # More of what perhaps answers nothing is not worth its tokens, but pinned memories are.
    relevant = sorted((line for line in lines if is_missed(line)), key=lambda line: line.order)
    left = [line for line in left if is_missed(line)]
    if left or cut:
        enough = math.ceil(tokens("\n".join(line.whole for line in relevant)))
        notes.append(_unfit_note(len(relevant), left, cut, enough))
    if not lines and found.note:
        notes.append(found.note)
    return PromptText("\n".join(told for _, told in sorted(shown)), "; ".join(notes))


def _count_tokens(count: Count, text: str) -> float:
    """Return how many tokens a text has by a caller's count.

    Raises:
        InputError: the count returned no number of tokens.
    """
    given: Any = count(text)
    number = float(given) if not isinstance(given, bool) and isinstance(given, numbers.Real) else -1.0
    if not number >= 0:
        raise errors.InputError(f"count returned {errors.shown(given)}", "Return how many tokens the text has")
    return number


class _Line(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A memory, or a version of it, for a prompt.

    One that ``is_due`` is shown in any case: cut, if it has to be. One that is not ``is_relevant`` is shown only if
    everything before it is. ``beside`` quotes what contradicts it or is later; ``marked`` only says that something is.
    """

    order: tuple[int, int, int, int]
    found: records.World | records.Hit | records.Version
    ref: str
    beside: str
    marked: str
    is_due: bool
    is_relevant: bool

    @functools.cached_property
    def whole(self) -> str:
        return f"- {_line(self.found, self.ref)}{self.beside}"

    @functools.cached_property
    def bare(self) -> str:
        """The line without time and source."""
        return f"- {one_line(_named_text(self.found))}{self.beside}"

    @functools.cached_property
    def short(self) -> str:
        """The line without time, source and what others say: these are cut before the memory itself."""
        return f"- {one_line(_named_text(self.found))}{self.marked}"


def _prompt_lines(found: records.Recall, pinned: Sequence[records.World], view: View) -> list[_Line]:
    """Return what a prompt may show, pinned memories first, each text once.

    These, the best hit and a later one that competes with it are due. A message that only replies tells nothing, nor
    does a summary beside all that it was made of.
    """
    telling = [hit for hit in found.hits if not _is_mere_reply(hit)]
    refs = {world.ref for world in pinned} | {hit.ref for hit in found.hits}
    telling = [hit for hit in telling if not is_summary_of(hit, refs, view)]
    known = {hit.ref: hit for hit in telling}
    later = {pair.earlier: pair.ref for pair in found.competing if pair.ref in known}
    sure = {pair.earlier for pair in found.competing if later.get(pair.earlier) == pair.ref and not pair.doubt}
    hits: list[records.World | records.Hit] = [*pinned, *telling]
    places = {ref: place for place, ref in enumerate(view._in_log_order([hit.ref for hit in hits]))}
    first = next((hit for hit in telling[:1] if hit.ref == found.begins_later), None)
    due = {hit.ref for hit in hits[: len(pinned) + 1]}
    due |= {later[ref] for ref in due if ref in later}
    best = max((hit.score for hit in telling), default=0.0)
    least = min(best, best * _RELEVANT_SHARE)
    # The later one of two may score less than the one that it competes with.
    hits.sort(key=lambda hit: hit.ref not in due)
    lines: dict[tuple[str, str], _Line] = {}
    for hit in hits:
        told: list[tuple[records.World | records.Hit | records.Version, str, str]] = [
            (hit, _remarks(hit, known, later, later.keys() - sure), _short_remarks(hit, known, later))
        ]
        told += ((each, "", "") for each in (hit.others if isinstance(hit, records.Hit) else ()) if not each.erased)
        for each, remarks, short in told:
            said = one_line(each.content or each.name), _time_label(each)
            begins = " (still to begin)" if each.valid.start > view.valid else ""
            if each is first and not begins:
                begins = " (begins after the time in the question)"
            begins += _ended_by_text(each, view.valid)
            order = 0 if hit.pinned else 1, each.valid.start, each.seq, places[hit.ref]
            is_due = hit.ref in due and each is hit
            is_far = isinstance(hit, records.Hit) and hit.score < least and _GUIDES.isdisjoint(hit.scores)
            marks: Any = {"is_due": is_due, "is_relevant": is_due or not is_far}
            beside: Any = {"beside": remarks + begins, "marked": short + begins}
            lines.setdefault(said, _Line(order=order, found=each, ref=hit.ref, **beside, **marks))
    return [*lines.values()]


_MERE_REPLY: Final = re.compile(
    r"(?:[^:\n]{1,80}: )?(?:(?:yes|yeah|yep|no|nope|ok|okay|sure|fine|good|great|nice|cool|perfect|noted|done|thanks?"
    r"|thank you|got it|will do|understood|alright|all right|of course|right|exactly|you['’]re welcome|please|so much"
    r"|ja|nein|danke|gern(?:e)?|alles klar|s[ií]|gracias|vale|claro|oui|non|merci|d['’]accord)(?:[\s,.!…👍🙂😊]+|\Z))+",
    re.I,
)
"""What only replies: "Noted.", "yes, thanks!"."""


def _is_mere_reply(hit: records.World | records.Hit) -> bool:
    return hit.type == extraction.TURN and not hit.pinned and _MERE_REPLY.fullmatch(hit.content) is not None


def is_summary_of(found: records.World | records.Hit, refs: Set[str], view: View) -> bool:
    """Return whether consolidation made a summary of nothing but these worlds and replies, so that it repeats them."""
    if found.type != SUMMARY or WITNESS not in found.properties or found.rests_on_more:
        return False
    telling = [basis for basis in found.rests_on if basis.type == extraction.TURN or not is_name_only(basis.type)]
    made_of = [basis for basis in telling if basis.steps == 1]
    if any(basis.type == SUMMARY and basis.ref not in refs for basis in made_of):
        # What a summary in it was made of tells as much.
        made_of = [basis for basis in telling if basis.type != SUMMARY]
    missing = (view.get(basis.ref) for basis in made_of if basis.ref not in refs)
    return bool(made_of) and all(world is None or _is_mere_reply(world) for world in missing)


def _unfit_note(count: int, left: Sequence[_Line], cut: int, enough: int) -> str:
    """Return a note about memories that a budget left out or cut."""
    pinned = sum(line.order[0] == 0 for line in left)
    parts = [f"{len(left)} did not fit" + (f" ({pinned} pinned)" if pinned else "")] if left else []
    parts += [f"{cut} {'was' if cut == 1 else 'were'} shortened"] if cut else []
    memories = "1 relevant memory" if count == 1 else f"{count} relevant memories"
    return f"Of {memories} found, {' and '.join(parts)}: max_tokens={enough} shows all of it"


def _cut_line(line: _Line, before: Sequence[str], tokens: Measure, max_tokens: int, question: str) -> str:
    """Return a piece of a memory as a line, if the memory alone is longer than a budget or is due; else empty.

    The piece gets half of what other lines leave, or all if half is too little, and then without time and source if it
    is due. It is empty if that is too little as well.
    """
    found = line.found
    left = max_tokens - tokens("\n".join(before))
    alone = tokens(f"- {_line(found, line.ref)}")
    if alone <= max_tokens and not line.is_due:
        return ""
    longest = int(len(found.content) * left / alone)
    excerpts = Excerpts(found.content, question, longest)
    for room in (left / 2, left) if alone > max_tokens else ():
        size = int(len(found.content) * room / alone)
        while size >= _SHORTEST_PIECE:
            piece = msgspec.structs.replace(found, content=_piece(found.content, size, excerpts))
            told = f"- {_line(piece, line.ref)}{line.beside}"
            if tokens(told) <= room and tokens("\n".join([*before, told])) <= max_tokens:
                return told
            size = size * 7 // 8
    for beside in dict.fromkeys((line.marked, "")) if line.is_due else ():
        size = min(len(found.content), longest * 2)
        while size >= _SHORTEST_BARE:
            piece = msgspec.structs.replace(found, content=excerpts.at_most(size))
            told = f"- {one_line(_named_text(piece))}{beside}"
            if tokens("\n".join([*before, told])) <= max_tokens:
                return told
            size = size * 15 // 16
    return ""


def _piece(text: str, size: int = _LONGEST_LINE, excerpts: Excerpts | None = None) -> str:
    """Return a text, or an excerpt of a longer one, by default its beginning, which says that it is cut."""
    if len(text) <= size:
        return text
    return f"{(excerpts or Excerpts(text, '', size)).at_most(size)} (cut, of {len(text):,} characters)"


def _line(found: records.World | records.Hit | records.Version, ref: str) -> str:
    """Return a memory, or a version of it, as one line: its time, text and source."""
    source = ", ".join(str(found.source[name]) for name in ("session", "file", "agent") if found.source.get(name))
    details = [source or found.author, *(["made of what holds no more"] if found.stale else [])]
    details += ["over"] if isinstance(found, records.Hit) and not _PAST_SCORES.isdisjoint(found.scores) else []
    return one_line(f"{_held(found.valid)}: {_named_text(found)} [{'; '.join(details)}; {ref[:12]}]")


def _named_text(found: records.World | records.Hit | records.Version) -> str:
    return f"{found.name}: {found.content}" if found.name and found.content else found.name or found.content


def _held(valid: records.Valid) -> str:
    """Return the days for which something holds, or the hours (UTC) of what is within a day, such as an appointment."""
    since = times.format_time(valid.start)
    if valid.end == times.FOREVER:
        return since[:10]
    until = times.format_time(valid.end)
    if valid.end - valid.start >= times.DAY_MICROSECONDS:
        return f"{since[:10]} to {until[:10]}"
    ends = until[11:16] if since[:10] == until[:10] else f"{until[:10]} {until[11:16]}"
    return f"{since[:10]} {since[11:16]} to {ends}"


def _time_label(found: records.World | records.Hit | records.Version) -> str:
    """Return a text's end-bounded time, which tells two appointments of the same text apart; else empty."""
    return "" if found.valid.end == times.FOREVER else _held(found.valid)


def _ended_by_text(found: records.World | records.Hit | records.Version, now: int) -> str:
    """Return a remark if what holds ended by the words of its text, as nothing but these says."""
    return " (ended, as it says itself)" if has_ended_by_text(found, now) else ""


def _remarks(
    found: records.World | records.Hit,
    known: Mapping[str, records.World | records.Hit],
    later: Mapping[str, str],
    doubted: Set[str],
) -> str:
    """Return remarks for a memory's line: contradicting memories, and a later statement about the same.

    What is ``doubted`` is only to be compared with that: both may be so.
    """
    against = [known[ref].content for ref in found.conflicts if ref in known]
    remark = f" (contradicted by: {'; '.join(one_line(_piece(each)) for each in against)})" if against else ""
    if found.ref in later:
        told = "compare" if found.ref in doubted else "a later one says"
        remark += f" ({told}: {one_line(_piece(known[later[found.ref]].content))})"
    return remark


def _short_remarks(
    found: records.World | records.Hit, known: Mapping[str, records.World | records.Hit], later: Mapping[str, str]
) -> str:
    """Return that a memory is contradicted, or competes with a later one, without the texts of these."""
    remark = " (contradicted)" if any(ref in known for ref in found.conflicts) else ""
    return remark + (" (compare later ones)" if found.ref in later else "")


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a user and valid now: statements by type, the newest first, and whom they are about.

    ``people`` counts by name the statements that refer to each person or thing. ``messages`` and ``sessions`` are
    numbers of what was said, which is not listed. ``left`` counts statements beyond the limit. What is ``pinned`` is
    listed first, all of it, and not by type again. ``later`` maps each listed statement that a later one competes
    with to the reference of the later one; those of the ``doubted`` may be so as well. ``to_begin`` is how many
    statements are still to begin: a question of their time finds them. ``note`` says that nothing was ever written
    for the user, that the user's world ended, or that there are only messages, in which ``recall`` and ``context``
    search.
    """

    user: str
    at: int
    kinds: dict[str, tuple[records.World, ...]]
    people: dict[str, int]
    sessions: int
    messages: int
    left: int
    pinned: tuple[records.World, ...] = ()
    note: str = ""
    later: dict[str, str] = {}
    doubted: frozenset[str] = frozenset()
    to_begin: int = 0

    def __str__(self) -> str:
        lines = [f"What is known of {one_line(self.user) or 'everybody'} at {times.format_time(self.at)}"]
        known = {world.ref: world for world in itertools.chain(self.pinned, *self.kinds.values())}

        def told(world: records.World) -> str:
            shown = msgspec.structs.replace(world, content=_piece(world.content))
            remarks = _remarks(world, known, self.later, self.doubted) + _ended_by_text(world, self.at)
            return f"- {_line(shown, world.ref)}{remarks}"

        if self.pinned:
            lines += ["Pinned:", *map(told, self.pinned)]
        for kind, worlds in self.kinds.items():
            lines += [f"{one_line(kind)}:", *map(told, worlds)]
        if self.left:
            enough = self.left + max(map(len, self.kinds.values()))
            lines.append(f"Left out: the oldest, {self.left:,} in all; ask with a limit of {enough} to see every one")
        if self.to_begin:
            lines.append(f"Still to begin, and found by a question of that time: {self.to_begin:,}")
        if self.people:
            lines.append(
                "Mentioned: " + ", ".join(f"{one_line(name)} ({count})" for name, count in self.people.items())
            )
        return "\n".join([*lines, self.note] if self.note and self.messages else lines)


def later_competitors(
    listed: Iterable[records.World], about: Mapping[str, Iterable[str]]
) -> tuple[dict[str, str], frozenset[str]]:
    """Map each memory that a later one competes with to the reference of the later one; also those that may be so
    as well."""
    worlds = sorted(listed, key=lambda world: (-world.valid.start, -world.seq))
    said = [claim_relation.NamedStatement(world.content, frozenset(about.get(world.ref, ()))) for world in worlds]
    found = {worlds[place].ref: rival for place, rival in claim_relation.find_later_rivals(said).items()}
    doubted = frozenset(ref for ref, rival in found.items() if rival.doubt)
    return {ref: worlds[rival.place].ref for ref, rival in found.items()}, doubted


def unlisted_note(counted: Mapping[str, int], *, is_empty: bool) -> str:
    """Return a note if a user has no statement, which a profile would list, but messages."""
    messages, sessions = counted[extraction.TURN], counted[extraction.SESSION]
    if not messages or not is_empty:
        return ""
    said = "1 message" if messages == 1 else f"{messages:,} messages"
    where = "1 session" if sessions == 1 else f"{sessions:,} sessions"
    return f"A profile lists statements, and there are none: recall and context search the {said} of {where}"
