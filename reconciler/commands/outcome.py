"""Outcomes and receipts of commands: values, never exceptions."""

import msgspec

from worlddb.log.model import errors, times


class Committed(msgspec.Struct, frozen=True, tag="committed"):
    """Decided and durable."""


class Staged(msgspec.Struct, frozen=True, tag="staged"):
    """A proposal is pending: nothing was merged."""


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """A refusal: nothing was written.

    ``code`` is stable, ``command`` the position of the refused command in its batch.
    """

    code: str
    reason: str
    remedy: str = ""
    command: int = 0


Outcome = Committed | Staged | Refused


class Note(msgspec.Struct, frozen=True):
    """Something that the caller should know.

    ``refs`` are its subjects: references, names of edge types, a reason.
    """

    code: str
    refs: tuple[str, ...]

    def __str__(self) -> str:
        return self.told(NOTES.get(self.code, self.code))

    def told(self, sentence: str) -> str:
        """Fill a sentence: the subjects replace ``{}``, or ``{first}`` and ``{others}``."""
        shown = list(self.refs) if self.code in NAMING else [ref[:12] for ref in self.refs]
        return sentence.format(", ".join(shown), first=", ".join(shown[:1]), others=", ".join(shown[1:]))


NOTES = {
    "clock_behind": "the clock is behind the commit before; the time of this one is a microsecond after that",
    "nothing_reopened": "{} stays closed: unlinking a supersedes edge reopens nothing; reassert it if it holds again",
    "adopted_by_root": "{} was in no other world and is now directly in the root world",
    "edges_left_behind": "the edges {} stay where they were: not both of their ends moved",
    "edges_carried": "the edges {} moved along",
    "edges_not_forked": "the edges {} lead out of the world, and the fork has them not: their type does not lead out",
    "already_closed": "{} was already closed earlier and stays as it was",
    "never_valid": "{} ends at or before its beginning: it is valid at no time. Reassert it if that was a slip",
    "revision_never_valid": "the new version of {} is valid at no time: its window has no instant",
    "later_never_valid": "what {} was to say from later on is valid at no time now: the revision takes its window."
    " State that again if it still holds",
    "not_changed": "{first} was there under its key, and these stay as they are: {others}; use revise,"
    " alias or move for them",
    "outside_before": "{first} holds from before it came to lie in {others}, and is not seen from inside before that",
    "said_alone": "{} held nothing there: it says what was given and nothing else, without the name or the type that it"
    " had; give title and type, or roll back first",
    "begun_anew": "{first} was begun under the key of {others}, which has ended",
    "ends_earlier": "{} ends earlier now: what had taken its place was itself replaced from before it began",
    "ends_unreplaced": "{first} still ends where {others} was to begin; state it again if it holds from then on",
    "revision_called_off": "the earlier text of {} still ends where the revision was to begin; state it again if it"
    " holds from then on",
    "until_successor": "{first} does not hold where {others} does, which takes the same place and begins later",
    "members_remain": "{first} ends, and what it contains holds on: {others}; retire these too, or with members=True",
    "members_ended": "{first} is resumed, and what it contains has ended: {others}; reassert these if they hold again",
    "now_stale": "{first} ends or says something else, and these were derived from it: {others}; reads flag them as"
    " stale where it does, and they hold on",
    "conflict_left": "{first} ends, and so does its contradiction with {others}; record another if what holds has one",
    "already_erased": "{} had no text left to erase",
    "shared_kept": "{first} was erased with what it contains, but others have a part in these, which stay: {others};"
    " erase them too if they have to go",
    "members_left": "{first} was erased, and the texts of what it contains stay: {others}; erase these too, or with"
    " members=True, if they have to go",
    "copies_remain": "copies that the store made before have the texts still: {}. Make these anew, or delete them;"
    " db.erasure_receipt lists all of them under not_reached",
    "bytes_remain": "the texts are gone from all answers, and their bytes are still in the store's files: {}. Opening"
    " the store, or writing to it, finishes that; verify says when it is done",
    "name_forbidden": "{} had no content, so its name is what may not be written again, of whomever it is",
    "not_restored": "{} was erased and its text was left out; say revive=True if it may come back",
    "not_revived": "{} has ended and was left as it is; reassert it if it holds again",
    "stays_corrected": "{} was corrected since it was taken in, and stays so; revise it if it was right before",
    "known_by_reference": "{} lie outside of the bundle: they are known by reference until their own bundle comes",
    "texts_arrived": "the texts of {}, of which only the identifiers had come before, have come",
    "reference_ended": "{} had ended here by an earlier import, while only their identifiers were known, and stay so",
    "reached_outside": "{} lie outside of the bundle; the import changed them, or what is said of them, as was allowed",
    "texts_missing": "of {} the bundle has no text: it was erased where it comes from, or had never come there",
    "knows_more": "{} holds more here than in the bundle, so its hash is another one",
    "went_apart": "{first} says something else in the bundle, which is kept beside it as {others}",
    "not_carried": "{first} has the marks and relations of the world that it went apart from, and not these: {others}",
    "goes_on_here": "{} had ended in the bundle, were written anew here, and stay",
    "said_in_both": "{first} was said in both, so that {others} holds no more",
    "left_erased": "{} were erased here, and took no text",
    "took_turns": "of the edges {first} and {others} the second holds wherever both would, as their relation says:"
    " it begins later",
    "functional_conflict": "{} records that a functional relation leads to two targets at one time; both stay",
    "conflict_ended": "the recorded conflict {} was closed or unlinked with the functional edge that it came from",
    "types_registered": "the edge types {} hold for worlds of the bundle now, as where it comes from",
    "types_differ": "the edge types {} are registered otherwise here, and stay so; see view.edge_types()",
    "tunings_set": "the resolver's thresholds hold for {} now, as where the bundle comes from",
    "tunings_differ": "for {} other thresholds of the resolver hold here, and stay so; see view.tunings()",
    "profiles_set": "the vocabulary of {} is closed now, as where the bundle comes from; see view.profiles()",
    "profiles_differ": "for {} another profile is set here, and stays so; see view.profiles()",
    "beliefs_set": "what counts as believed is set for {} now, as where the bundle comes from",
    "beliefs_differ": "what counts as believed is set for {} where the bundle comes from; here it stays as it is, since"
    " it is the whole store's: see view.belief_settings() and set_beliefs",
    "stays_rejected": "{} was rejected here; what the bundle proposes about the same pair was left out",
    "not_embedded": "it is written, but its texts have no vectors yet and nobody was looked for by their meaning: {}",
    "not_extracted": "it is written, but nothing was extracted from it: {}",
    "not_compared": "it is written, but nobody was looked for by the meaning of its texts: {}",
    "retry_not_compared": "a text that was written under this idempotency key, or found then, is gone ({}), so nobody"
    " can tell whether this is the same: nothing was written. Use a new key for a new text",
    "waits_here": "{} waits for a decision here; what the bundle proposes about the same pair was left out",
    "derived": "{} was created by the handler of an edge, and says so in its provenance",
    "searched_by_words": "a search in the update went by words alone, not by meaning: {}",
    "names_unknown": "{}",
    "new_target": "{}",
    "buffers_cleared": "nothing was ever written of {}, and what working memory had of them was removed",
    "credential_found": "it is written, and what looks like a credential stands in: {}",
    "personal_data_found": "it is written, and personal data stands in: {}",
    "redacted": "personal data was taken out before it was written, of: {}",
    "proposal_staged": "{} was staged: review it with proposals, accept or reject",
}


GUARDED = ("credential_found", "personal_data_found", "redacted", "names_unknown", "new_target")
"""Notes about findings in texts and on names; they name places in the caller's input, so every caller may see them."""
NAMING = frozenset(
    (
        *("types_registered", "types_differ", "beliefs_set", "beliefs_differ"),
        *("not_embedded", "not_extracted", "not_compared", "not_changed"),
        *("bytes_remain", "copies_remain", "not_carried", "buffers_cleared", "searched_by_words", *GUARDED),
    )
)
"""Notes whose ``refs`` are names or a reason, possibly beside a reference."""


class Loss(msgspec.Struct, frozen=True):
    """A span of valid time that a version, or an older edge, lost by a write.

    ``ref`` and ``version`` name it; for an edge ``version`` is ``None`` and ``ref`` its id. Times are in microseconds.
    ``valid_to`` is :data:`times.FOREVER` if everything from ``valid_from`` on was lost, even if that had an end.
    """

    ref: str
    version: int | None
    valid_from: int
    valid_to: int

    def __str__(self) -> str:
        until = "" if self.valid_to == times.FOREVER else f" to {times.format_time(self.valid_to)}"
        what = "edge" if self.version is None else f"version {self.version} of"
        return f"{what} {self.ref[:12]} lost {times.format_time(self.valid_from)}{until or ' on'}"


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a write.

    ``seq`` and ``ingest_time`` (microseconds) name the commit, ``root`` is the root world's hash after it.
    ``requested`` are the references of the commands in their order; :attr:`refs` gives them only if nothing was
    refused, so that a refused write is never mistaken for a committed one. ``events`` is 0 if nothing had to change;
    ``revised`` counts the events that gave an existing world a new version. ``lost`` lists the spans of valid time that
    versions and edges lost.
    """

    outcome: Outcome
    seq: int
    ingest_time: int
    root: str
    events: int
    requested: tuple[str, ...] = ()
    proposals: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    revised: int = 0
    lost: tuple[Loss, ...] = ()

    @property
    def refs(self) -> tuple[str, ...]:
        """The references written, one for each command.

        Raises :class:`RefusedError` if the write was refused.
        """
        self.raise_if_refused()
        return self.requested

    @property
    def derived(self) -> tuple[str, ...]:
        """The worlds that handlers of edge types created, in the order of creation."""
        return tuple(ref for note in self.notes if note.code == "derived" for ref in note.refs)

    @property
    def ref(self) -> str:
        """The first reference.

        Raises :class:`RefusedError` if the write was refused, or asked for nothing.
        """
        if not self.refs:
            raise errors.RefusedError("The write had no commands, so it has no reference", "Look at the receipt's seq")
        return self.refs[0]

    def raise_if_refused(self) -> None:
        """Raise :class:`RefusedError` with the reason if the write was refused."""
        if isinstance(self.outcome, Refused):
            refused = self.outcome
            raise errors.RefusedError(refused.reason, refused.remedy, reason=refused.code, command=refused.command)

    def __bool__(self) -> bool:
        return not isinstance(self.outcome, Refused)

    def __str__(self) -> str:
        if isinstance(self.outcome, Refused):
            return f"refused ({self.outcome.code}): {self.outcome.reason}"
        verb = "staged" if isinstance(self.outcome, Staged) else "committed" if self.events else "unchanged"
        return f"{verb} at {self.seq}, {times.format_time(self.ingest_time)}, root {self.root[:12]}"


class Refusal(Exception):
    """Raised inside the reconciler to refuse a request; callers get :class:`Refused` as a value."""

    def __init__(self, code: str, reason: str, remedy: str = "") -> None:
        self.code = code
        self.reason = errors.concealed(reason)
        self.remedy = errors.concealed(remedy)
        super().__init__(self.reason)
        self.command = 0
