"""Outcomes and receipts of commands as values, and the retry of a write that others outran."""

from collections.abc import Callable, Iterable
from typing import Any, Final, Self, TypeVar, cast

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
CHANGED_MEANWHILE: Final = frozenset(("changed_meanwhile", "said_meanwhile"))
"""Codes of refusals because others wrote between the look at which a write was decided and the write: look again."""


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
    "clock_behind": "the clock is behind the previous commit, so this commit's time is that one's plus a microsecond",
    "nothing_reopened": "{} stays closed: unlinking a supersedes edge reopens nothing; reassert it if it holds again",
    "adopted_by_root": "{} was in no other world and is now directly in the root world",
    "edges_left_behind": "the edges {} stay where they were: not both of their ends moved",
    "edges_carried": "the edges {} moved along",
    "edges_not_forked": "the fork lacks the edges {}: they lead out of the world, and their type does not allow that",
    "already_closed": "{} was closed earlier and stays as it was",
    "never_valid": "{} ends at or before its beginning, so it is valid at no time. Reassert it if that was a mistake",
    "revision_never_valid": "the new version of {} is valid at no time: its validity is empty",
    "later_never_valid": (
        "the revision takes the whole validity of a later version of {}, which is now valid at no time. State "
        "that version again if it still holds"
    ),
    "not_changed": (
        "{first} already existed under its key, and these fields stay as they are: {others}; change them with "
        "revise, alias or move"
    ),
    "outside_before": "{first} is valid before it was a member of {others}; views of these show it only from then on",
    "said_alone": (
        "{} had no valid version then: the new one says only what was given, without the earlier name and type; "
        "give title and type, or roll back first"
    ),
    "begun_anew": "{first} was created under the key of {others}, which has ended",
    "ends_earlier": "{} ends earlier now: its successor was itself replaced from before its beginning",
    "ends_unreplaced": "{first} still ends where {others} was to begin; state it again if it holds from then on",
    "revision_called_off": "the earlier text of {} still ends where the revision was to begin; state it again if it"
    " holds from then on",
    "until_successor": "{first} is not valid where {others} is, which takes the same place and begins later",
    "members_remain": "{first} ends, and its members stay valid: {others}; retire these too, or with members=True",
    "members_ended": "{first} is valid again, and its members have ended: {others}; reassert these if they hold again",
    "now_stale": (
        "{first} ends or changes, and these were derived from it: {others}; they stay valid, and reads flag them "
        "as stale"
    ),
    "conflict_left": (
        "{first} ends, and so does its contradiction with {others}; record another if its successor contradicts "
        "that too"
    ),
    "already_erased": "{} had no text left to erase",
    "keys_ended": "{first} was the default user of access keys, which have ended: {others}",
    "keys_in_file": (
        "these keys have ended, but the file of access keys does not say so yet: {}. Change any account or key, or "
        "they would open a store that is rolled back to before"
    ),
    "shared_kept": (
        "{first} was erased with its members, except these, which other worlds share: {others}; erase them too "
        "if they have to go"
    ),
    "members_left": (
        "{first} was erased, and the texts of its members stay: {others}; erase these too, or with members=True, "
        "if they have to go"
    ),
    "same_words_stay": (
        "{first} was erased, and the same words stay in {others}; erase these too, or with everywhere=True, if they "
        "have to go"
    ),
    "still_told": (
        "{first} was erased, and what it said may still be told by {others}; erase these too if they have to go"
    ),
    "copies_remain": (
        "earlier copies of the store still have the texts, those of one world if they lay in it: {}. Write these "
        "copies again, or delete them; db.erasure_receipt lists all of them under not_reached"
    ),
    "bytes_remain": (
        "no answer shows the texts any more, but their bytes are still in the store's files: {}. Opening the "
        "store or writing to it finishes the erasure, and verify says when that is done"
    ),
    "name_forbidden": "{} had no content, so its name may not be written again, for any world",
    "not_restored": "{} was erased and its text was left out; pass revive=True if it may come back",
    "not_revived": "{} has ended and was left as it is; reassert it if it holds again",
    "stays_corrected": (
        "{} was corrected after it was taken in, and keeps the correction; revise it if the earlier text was right"
    ),
    "beside_imported": (
        "{first} is new, and {others} of the same name came in a bundle, which brings no keys: texts of both were "
        "written twice. Retire one of them"
    ),
    "known_by_reference": "{} lie outside the bundle: only their ids are known until their own bundle is imported",
    "texts_arrived": "the bundle brought the texts of {}, of which the store had only identifiers",
    "reference_ended": "an earlier import ended {}, of which the store had only identifiers; they stay ended",
    "reached_outside": "{} lie outside the bundle; the import changed them, or facts about them, as you allowed",
    "texts_missing": "the bundle has no text of {}: it was erased at the source, or never came there",
    "knows_more": "{} holds more here than in the bundle, so its hash differs",
    "went_apart": "{first} differs in the bundle; that version is kept beside it as {others}",
    "not_carried": "{first} has the marks and relations of the world that it diverged from, except these: {others}",
    "goes_on_here": "{} had ended in the bundle but were written again here, and stay",
    "said_in_both": "the store and the bundle both state {first}, so {others} is no longer valid",
    "left_erased": "{} were erased here, and the import did not bring their texts back",
    "took_turns": (
        "where the edges {first} and {others} would both be valid, only the second is: it begins later, and "
        "their relation allows one"
    ),
    "functional_conflict": "{} records that a functional relation has two targets at one time; both stay",
    "conflict_ended": "the recorded conflict {} ended with the functional edge that it came from",
    "types_registered": "the edge types {} now apply to worlds of the bundle, as at its source",
    "types_differ": "the edge types {} are registered differently here and stay so; see view.edge_types()",
    "tunings_set": "the resolver's thresholds now apply to {}, as at the source of the bundle",
    "tunings_differ": "other thresholds of the resolver apply to {} here and stay; see view.tunings()",
    "profiles_set": "the vocabulary of {} is now closed, as at the source of the bundle; see view.profiles()",
    "profiles_differ": "another profile is set for {} here and stays; see view.profiles()",
    "beliefs_set": "the belief settings for {} now apply, as at the source of the bundle",
    "beliefs_differ": (
        "the source of the bundle has belief settings for {}; the settings here stay as they are, since they "
        "apply to the whole store: see view.belief_settings() and set_beliefs"
    ),
    "stays_rejected": "{} was rejected here; the bundle's proposal for the same pair was left out",
    "not_embedded": "it was written, but its texts have no vectors yet, so the resolver did not compare meanings: {}",
    "not_extracted": "it was written, but nothing was extracted from it: {}",
    "not_compared": "it was written, but the resolver did not compare the meaning of its texts: {}",
    "retry_not_compared": (
        "a text that was written under this idempotency key, or found then, is gone ({}), so this request cannot "
        "be compared with it: nothing was written. Use a new key for a new text"
    ),
    "waits_here": "{} awaits a decision here; the bundle's proposal for the same pair was left out",
    "derived": "the handler of an edge created {}; its provenance says so",
    "searched_by_words": "a search in the update used words only, not meaning: {}",
    "names_unknown": "{}",
    "new_target": "{}",
    "found_now": "{}",
    "buffers_cleared": "nothing of {} was ever committed, and its working memory was removed",
    "credential_found": "it was written, and a text looks like it holds a credential: {}",
    "personal_data_found": "it was written, and a text holds personal data: {}",
    "redacted": "personal data was removed before writing, from: {}",
    "proposal_staged": "{} was staged: review it with proposals, then accept or reject it",
}


GUARDED = ("credential_found", "personal_data_found", "redacted", "names_unknown", "new_target", "found_now")
"""Notes about findings in texts and on names; they name places in the caller's input, so every caller may see them."""
NAMING = frozenset(
    (
        *("types_registered", "types_differ", "beliefs_set", "beliefs_differ"),
        *("not_embedded", "not_extracted", "not_compared", "not_changed"),
        *(
            "bytes_remain",
            "keys_in_file",
            "copies_remain",
            "not_carried",
            "buffers_cleared",
            "searched_by_words",
            *GUARDED,
        ),
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
        return f"{what} {self.ref[:12]} lost {times.format_time(self.valid_from)}{until or ' and all later time'}"


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """The base of a result with ``notes``, which tell its caller something besides."""

    def with_notes(self, notes: Iterable[Any]) -> Self:
        """Return the result with more notes."""
        return msgspec.structs.replace(self, notes=(*cast(Any, self).notes, *notes))


class Receipt(Noted, frozen=True, kw_only=True):
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

    @property
    def is_outdated(self) -> bool:
        """True if it was refused because others wrote after the look at which it was decided."""
        return isinstance(self.outcome, Refused) and self.outcome.code in CHANGED_MEANWHILE

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


Done = TypeVar("Done")
MAX_LOOKS: Final = 16
"""How often a read is repeated because others changed something before the write that it led to."""


class Changed(Exception):
    """Others have changed what was read before the lock."""


class OutdatedTexts(Exception):
    """Others have changed what an extractor or a redactor read before the lock: the pipeline has it read again."""


def retry_while_changed(attempt: Callable[[], Done], told: str = "Others change what it is about") -> Done:
    """Read and then write, again if others wrote in between: if that raises :class:`Changed`, or is refused for it.

    ``told`` says what others do.

    Raises:
        UnavailableError: they did so every time; nothing was written.
    """
    for _ in range(MAX_LOOKS):
        try:
            return attempt()
        except Changed:
            continue
        except errors.RefusedError as error:
            if error.details.get("reason") not in CHANGED_MEANWHILE:
                raise
    raise errors.UnavailableError(f"{told}, again and again", "Try again")


def settled(receipt: Receipt) -> Receipt:
    """Return a receipt, unless the write was refused because of what others wrote meanwhile."""
    if receipt.is_outdated:
        raise Changed
    return receipt
