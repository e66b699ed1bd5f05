"""Argument types of the tools: they validate arguments and define the JSON schemas."""

import re
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Final, Literal, Self, Union, get_args, get_origin

import msgspec
from msgspec import Meta

MAX_TEXT: Final = 100_000
"""Longest text of a memory, in characters."""
MAX_PAGE: Final = 50
DEFAULT_PAGE: Final = 10
MAX_GROUP: Final = 10
MAX_NEIGHBOURS: Final = 50
MAX_ABOUT: Final = 10
MAX_JOINED: Final = 20
MAX_OFFSET: Final = 10_000

Kind = Literal["user", "agent", "app", "run"]

MAX_RECEIPT: Final = 1_000_000
"""Characters of the receipt of a recall."""
Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]
Label = Annotated[str, Meta(min_length=1, max_length=200)]
Why = Annotated[str, Meta(max_length=2_000, description="The reason.")]
DIGITS: Final = "^[0-9a-fA-F]{4,64}$"
ID_OR_KREF: Final = r"^([0-9a-fA-F]{4,64}|[kK][rR][eE][fF]://[^?#]{1,4000})$"
Reference = Annotated[str, Meta(pattern=ID_OR_KREF, description="A memory's id, first digits, or kref.")]
Time = Annotated[str, Meta(min_length=4, max_length=40, description="ISO 8601: 2025-03-01 or 2025-03-01T10:00:00Z.")]
Known = Annotated[
    str | int, Meta(description="What had been learned by this time (ISO 8601), or by this commit (a whole number).")
]
Count = Annotated[int, Meta(ge=1, le=MAX_PAGE)]
Cursor = Annotated[str, Meta(max_length=200, description="next_cursor of the page before.")]
Identity = Annotated[str, Meta(min_length=1, max_length=200)]
Retired = Annotated[bool, Meta(description="Include what is no longer valid.")]
Format = Literal["text", "json"]
MinTrust = Annotated[
    Literal["none", "low", "fair", "full"] | None,
    Meta(description="Only what the operator trusts so far."),
]

_TIMES: Final = frozenset(("valid_from", "valid_to", "valid", "since", "until", "at", "expires_at", "ended"))
_WHOLE: Final = re.compile(r"-?[0-9]{1,9}\Z")
_NUMBER: Final = re.compile(r"-?(?:[0-9]{0,9}\.[0-9]{1,9}|[0-9]{1,9})\Z")
_FLAGS: Final = {"true": True, "false": False}


def _field_types(declared: Any) -> frozenset[Any]:
    """Return the types that a field accepts; none if it accepts texts, which need no conversion."""
    if get_origin(declared) is Annotated:
        return _field_types(get_args(declared)[0])
    if get_origin(declared) in (UnionType, Union):
        parts = [_field_types(each) for each in get_args(declared)]
        return frozenset() if frozenset((str,)) in parts else frozenset().union(*parts)
    return frozenset((declared,)) if isinstance(declared, type) else frozenset()


def _is_whole(value: object, declared: Any) -> bool:
    """Return whether a value is a whole number with a point, such as 5.0, for a field of whole numbers."""
    return isinstance(value, float) and value.is_integer() and {int, float} & _field_types(declared) == {int}


def _container_types(declared: Any) -> frozenset[Any]:
    """Return the types that a field accepts, including texts; lists and mappings without their element types."""
    if get_origin(declared) is Annotated:
        return _container_types(get_args(declared)[0])
    if get_origin(declared) in (UnionType, Union):
        return frozenset().union(*map(_container_types, get_args(declared)))
    return frozenset((get_origin(declared) or declared,))


def _parse_container(value: Any, forms: frozenset[Any]) -> Any:
    """Convert a text that a model gave for a list or a mapping: JSON, or a single element."""
    if not isinstance(value, str) or str in forms or forms.isdisjoint((tuple, list, dict)):
        return value
    kind = dict if forms.isdisjoint((tuple, list)) else list
    try:
        written = msgspec.json.decode(value, type=kind) if value.strip()[:1] in ("[", "{") else None
    except (msgspec.DecodeError, UnicodeError):
        written = None
    return written if written is not None else [value] if kind is list else value


def coerce(given: Mapping[str, Any], cls: type[msgspec.Struct]) -> dict[str, Any]:
    """Convert arguments of a model whose meaning is unambiguous in spite of a wrong type.

    These are numbers and booleans written as texts, whole numbers with a point, numbers given as ids, a single name for
    a list, and lists and objects written as texts. A year given as a number becomes a text too, which the reader of
    times explains.
    """
    fields = {field.name: field.type for field in msgspec.structs.fields(cls)}
    texts = {name: value.strip() for name, value in given.items() if isinstance(value, str)}
    kinds = {name: _field_types(fields[name]) for name in texts if name in fields}
    meant = {
        name: _parse_container(value, _container_types(fields[name])) for name, value in given.items() if name in fields
    }
    meant |= {name: str(value) for name, value in given.items() if name.endswith("_id") and type(value) is int}
    meant |= {name: str(value) for name, value in given.items() if name in _TIMES and type(value) is int}
    meant |= {name: int(text) for name, text in texts.items() if int in kinds.get(name, ()) and _WHOLE.match(text)}
    meant |= {name: float(text) for name, text in texts.items() if float in kinds.get(name, ()) and _NUMBER.match(text)}
    meant |= {name: int(value) for name, value in given.items() if _is_whole(value, fields.get(name))}
    flags = {name: _FLAGS.get(text.lower()) for name, text in texts.items() if bool in kinds.get(name, ())}
    return {**given, **meant, **{name: flag for name, flag in flags.items() if flag is not None}}


class Arguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Base of all argument types; unknown fields are refused."""

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Self:
        """Validate the arguments of a model, after unambiguous conversions (:func:`coerce`).

        Raises:
            ValidationError: it does not fit.
        """
        try:
            return msgspec.convert(coerce(given, cls), cls)
        except UnicodeEncodeError:
            raise msgspec.ValidationError("A text has half of a surrogate pair") from None


class Scoped(Arguments):
    """Arguments that name scopes; several ids together mean everything in any of them."""

    user_id: Annotated[Identity | None, Meta(description="The user's id.")] = None
    agent_id: Identity | None = None
    app_id: Identity | None = None
    run_id: Annotated[Identity | None, Meta(description="One session or task.")] = None


class Paged(Scoped):
    """Arguments that ask for a page of what is in scopes."""

    limit: Count = DEFAULT_PAGE
    cursor: Cursor | None = None


class Listed(Paged):
    """Arguments that ask for a list of memories."""

    detail: Annotated[Literal["brief", "full"], Meta(description="full: JSON, all fields.")] = "brief"


class Write(Scoped, kw_only=True):
    """``memory_write``."""

    text: Annotated[Text, Meta(description="One statement, understandable by itself.")]
    name: Annotated[str, Meta(max_length=200, description="An Entity's name, or a title.")] = ""
    type: Annotated[Label, Meta(description="Fact, Entity, Event, Decision, Topic, Summary or another word.")] = "Fact"
    valid_from: Annotated[Time | None, Meta(description="Start of validity (ISO 8601); now if left out.")] = None
    valid_to: Annotated[Time | None, Meta(description="Until when.")] = None
    why: Why = ""
    about: Annotated[
        tuple[Label, ...],
        Meta(max_length=MAX_ABOUT, description="Names or ids of people and things it is about."),
    ] = ()
    derived_from: Annotated[
        tuple[Reference, ...],
        Meta(max_length=MAX_JOINED, description="Ids of memories it was derived from."),
    ] = ()
    contradicts: Annotated[
        tuple[Reference, ...],
        Meta(
            max_length=MAX_JOINED,
            description="Ids of memories it contradicts, if nobody knows which is right; else use memory_amend.",
        ),
    ] = ()
    expires_at: Annotated[Time | None, Meta(description="When it is hidden.")] = None
    ttl: Annotated[float | None, Meta(description="Or in seconds.")] = None
    pinned: Annotated[bool, Meta(description="Keep it first.")] = False
    labels: Annotated[tuple[Label, ...], Meta(max_length=MAX_ABOUT)] = ()
    properties: Annotated[dict[str, Any], Meta(description="Values by name.")] = {}
    on_near: Annotated[
        Literal["note", "propose", "supersede_same_subject"],
        Meta(description="Link or supersede rivals, or report them."),
    ] = "note"
    idempotency_key: Annotated[Label | None, Meta(description="The same key writes once.")] = None


class Recall(Listed, kw_only=True):
    """``memory_recall``."""

    query: Annotated[Text, Meta(description="The question.")]
    group: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_GROUP)] | None,
        Meta(description="By session, N hits of each."),
    ] = None
    widen: Annotated[bool, Meta(description="Nearest scope first.")] = False
    paths: Annotated[int, Meta(ge=0, le=MAX_NEIGHBOURS)] = 0
    neighbours: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_NEIGHBOURS,
            description="Also worlds linked to N hits.",
        ),
    ] = 0
    min_trust: MinTrust = None
    min_confidence: Annotated[float, Meta(description="Least confidence, 0 to 1.")] = 0.0
    about: Annotated[Label | None, Meta(description="Only about this name or id.")] = None
    type: Annotated[Label | None, Meta(description="Only of this type.")] = None
    label: Label | None = None
    tag: Annotated[Label | None, Meta(description="Only versions with it.")] = None
    properties: Annotated[dict[str, Any], Meta(description='Only with; {"age": {"$gte": 18}} compares.')] = {}


class AsOf(Listed):
    """``memory_as_of``."""

    query: Annotated[Text | None, Meta(description="A question to recall by; or give id.")] = None
    id: Reference | None = None
    valid: Annotated[Time | None, Meta(description="What was true at this time (ISO 8601).")] = None
    known: Known | None = None
    min_trust: MinTrust = None


class Listing(Listed):
    """``memory_list``."""

    include_retired: Retired = False


class Read(Arguments):
    """``memory_read``."""

    id: Reference
    offset: Annotated[int, Meta(ge=0, le=2**31, description="The character of the text to begin at.")] = 0


class Amend(Arguments):
    """``memory_amend``."""

    id: Reference
    text: Annotated[Text, Meta(description="The new statement.")]
    valid_from: Annotated[Time | None, Meta(description="Start of the new one (ISO 8601); now if left out.")] = None
    valid_to: Annotated[Time | None, Meta(description="Its end; only this span is rewritten, and the id stays.")] = None
    replace_later: Annotated[bool, Meta(description="Rewrite all from valid_from on; the id stays.")] = False
    why: Why = ""


class Retire(Arguments):
    """``memory_retire``."""

    id: Reference
    at: Annotated[Time | None, Meta(description="When it ceased to be true (ISO 8601); now if left out.")] = None
    valid_to: Annotated[Time | None, Meta(description="When it becomes true again, if ever.")] = None
    members: Annotated[bool, Meta(description="Also members of it alone.")] = False
    why: Why = ""


class RetireAll(Arguments):
    """``memory_retire_all``."""

    kind: Kind
    scope_id: Annotated[Identity, Meta(description="The id of that user, agent, app or run.")]
    why: Why = ""


class RetireScope(RetireAll, kw_only=True):
    """``memory_retire_scope``."""

    confirm: Annotated[str, Meta(max_length=300, description="The scope once more, as run:7.")] = ""


def yes_or_no(asked: str) -> dict[str, Any]:
    """Return a question to a person, as the protocol has it; the answer is under ``yes``."""
    form = {"type": "object", "properties": {"yes": {"type": "boolean", "title": "Yes"}}, "required": ["yes"]}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": asked, "requestedSchema": form}}


class ForgetUser(Arguments, kw_only=True):
    """``memory_forget_user``."""

    user_id: Annotated[Identity, Meta(description="The id of the user.")]
    reason: Annotated[
        str, Meta(min_length=1, max_length=2_000, description="Reference of the request, stored for good: its number.")
    ]
    confirm: Annotated[str, Meta(max_length=300, description="The scope once more, as user:ana.")]


class EraseLiteral(Arguments, kw_only=True):
    """``memory_erase_literal``."""

    id: Reference
    literal: Annotated[
        str, Meta(min_length=2, max_length=1_048_576, description='As N-Triples has it: "tea", "tea"@en.')
    ]
    reason: Annotated[
        str, Meta(min_length=1, max_length=2_000, description="Reference of the request, stored for good: its number.")
    ]
    everywhere: Annotated[bool, Meta(description="From every world that ever stated it.")] = False
    statements: (
        Annotated[int, Meta(ge=0, description="The plan's number of statements; without it, show the plan.")] | None
    ) = None


class WorkingScope(Arguments, kw_only=True):
    """``memory_working_clear``, and whose buffer the other tools of working memory mean."""

    run_id: Annotated[Identity, Meta(description="The session.")]
    user_id: Identity | None = None
    agent_id: Identity | None = None
    app_id: Identity | None = None


class WorkingAdd(WorkingScope, kw_only=True):
    """``memory_working_add``."""

    text: Annotated[Text, Meta(description="What was said.")]
    role: Annotated[Label, Meta(description="Who said it: user, assistant, tool.")] = "user"
    ttl_minutes: Annotated[float, Meta(gt=0, le=10_080, description="Expires after N minutes.")] = 60.0


class WorkingGet(WorkingScope, kw_only=True):
    """``memory_working_get``."""

    limit: Count = MAX_PAGE


class Consolidate(Arguments, kw_only=True):
    """``memory_consolidate``."""

    min_age_hours: Annotated[
        float, Meta(ge=0, le=876_000, description="Summarize only what began at least N hours ago.")
    ] = 24.0
    dry_run: Annotated[bool, Meta(description="Write nothing, and show what would be written.")] = False
    limit: Annotated[int, Meta(ge=1, le=10_000, description="The most summaries to write.")] = 100


class Dream(Arguments, kw_only=True):
    """``memory_dream``."""

    dry_run: Annotated[bool, Meta(description="Write nothing, and show what would be done.")] = False
    max_deprecation_ratio: Annotated[
        float, Meta(ge=0.1, le=0.9, description="The share of the assessed memories that may be deprecated.")
    ] = 0.5
    halt: Annotated[bool, Meta(description="Do nothing at all if more than that would be deprecated.")] = False


class ListScopes(Arguments):
    """``memory_list_scopes``."""

    kind: Annotated[Kind | None, Meta(description="Of one kind only.")] = None
    include_retired: Retired = False
    limit: Count = DEFAULT_PAGE
    cursor: Cursor | None = None


class History(Arguments):
    """``memory_history``."""

    id: Reference


class Proposals(Arguments):
    """``memory_proposals``."""

    status: Annotated[
        Literal["pending", "accepted", "rejected", "undone", "all"], Meta(description="The state of the decision.")
    ] = "pending"
    limit: Count = DEFAULT_PAGE
    cursor: Cursor | None = None


class MarkMemory(Arguments):
    """``memory_mark``."""

    id: Reference
    pinned: Annotated[
        bool | None, Meta(description="Pin it, so that it comes first and is never hidden; false unpins.")
    ] = None
    expires_at: Annotated[
        Time | None, Meta(description="Hide it from then on (ISO 8601). It stays true; never lifts that.")
    ] = None
    add_labels: Annotated[tuple[Label, ...], Meta(max_length=MAX_ABOUT)] = ()
    remove_labels: Annotated[tuple[Label, ...], Meta(max_length=MAX_ABOUT)] = ()
    why: Why = ""


class TagMemory(Arguments):
    """``memory_tag``."""

    id: Reference
    tag: Annotated[Label, Meta(description="Such as published or decided.")]
    version: Annotated[
        Annotated[int, Meta(ge=1, le=2**31)] | None, Meta(description="The version; the current one if left out.")
    ] = None
    remove: Annotated[bool, Meta(description="Remove the tag.")] = False
    why: Why = ""


class DeprecateMemory(Arguments):
    """``memory_deprecate``."""

    id: Reference
    undo: Annotated[bool, Meta(description="Bring it back.")] = False
    why: Why = ""


class Reach(Arguments):
    """``memory_impact``."""

    id: Reference
    depth: Annotated[int, Meta(ge=1, le=20, description="How many steps away at most.")] = 10
    limit: Count = DEFAULT_PAGE


class Provenance(Arguments):
    """``memory_provenance``."""

    id: Reference
    limit: Count = DEFAULT_PAGE


class PlanWithdrawal(Arguments):
    """``memory_plan_withdrawal``."""

    id: Annotated[Reference | None, Meta(description="A memory or session: it and all inside.")] = None
    author: Annotated[Label | None, Meta(description="Everything by this author.")] = None
    since: Annotated[Time | None, Meta(description="Only what was written at this time or later.")] = None
    until: Annotated[Time | None, Meta(description="Only what was written before this time.")] = None
    how: Annotated[Literal["contract", "deprecate", "flag"], Meta(description="End, hide or tag it.")] = "contract"
    dependents: Annotated[bool, Meta(description="Also what depends on it.")] = False
    questions: Annotated[list[Label], Meta(max_length=10, description="Questions to ask with and without it.")] = []
    limit: Count = DEFAULT_PAGE


class Withdraw(PlanWithdrawal, kw_only=True):
    """``memory_withdraw``."""

    reason: Annotated[str, Meta(min_length=1, max_length=2_000, description="The reason, which is stored.")]
    changes: Annotated[int, Meta(ge=1, description="How many memories the plan said would change.")]


class Undo(Arguments):
    """``memory_undo``."""

    seq: Annotated[int, Meta(ge=1, le=1_000_000_000_000, description="The commit to undo, as its answer named it.")]
    reason: Annotated[str, Meta(min_length=1, max_length=2_000, description="The reason, which is stored.")]


class ForkWorld(Arguments):
    """``memory_fork``."""

    id: Annotated[
        str, Meta(pattern=ID_OR_KREF, description="The id of a memory, of what contains some, or of a scope.")
    ]
    name: Annotated[Label | None, Meta(description="A name for the fork, to tell it from the original.")] = None
    known: Annotated[Known | None, Meta(description="Fork it as it was known by then; by default as it is now.")] = None
    why: Why = ""


class ListForks(Arguments):
    """``memory_forks``."""

    id: Reference
    limit: Count = DEFAULT_PAGE


class MergeFork(Arguments):
    """``memory_merge``."""

    id: Annotated[str, Meta(pattern=ID_OR_KREF, description="The id of the fork.")]
    plan: Annotated[bool, Meta(description="Only show what the merge would do.")] = False
    decide: Annotated[
        dict[str, Literal["ours", "theirs"]],
        Meta(description="Conflicts by id: ours keeps the original, theirs takes the fork's."),
    ] = {}
    on_conflict: Annotated[
        Literal["report", "ours", "theirs"], Meta(description="Who wins all other conflicts; report writes nothing.")
    ] = "report"
    why: Why = ""


class DefineRelation(Arguments):
    """``memory_define_relation``."""

    relation: Annotated[Label, Meta(description="Its name, such as works_at.")]
    inverse: Annotated[Label | None, Meta(description="Its name read the other way, such as employs.")] = None
    functional: Annotated[bool, Meta(description="A second target at a time is a contradiction.")] = False
    succession: Annotated[bool, Meta(description="The next target ends the one before.")] = False
    acyclic: Annotated[bool, Meta(description="It has no cycles.")] = False
    symmetric: Annotated[bool, Meta(description="It reads the same from both ends; at most functional, too.")] = False
    why: Why = ""


Location = Annotated[str, Meta(min_length=1, max_length=4_000)]


class Attach(Arguments):
    """``memory_attach``."""

    id: Reference
    name: Annotated[Label, Meta(description="Its name; a later one of the same name replaces it.")]
    location: Annotated[Location | None, Meta(description="Where it is, such as a URL.")] = None
    media_type: Annotated[str, Meta(max_length=200, description="Such as application/pdf.")] = ""
    remove: Annotated[bool, Meta(description="Remove the artifact of this name.")] = False
    why: Why = ""


class CheckRecall(Arguments):
    """``memory_check_recall``."""

    receipt: Annotated[str, Meta(min_length=1, max_length=MAX_RECEIPT, description="The receipt, letter for letter.")]
    question: Annotated[str, Meta(max_length=MAX_TEXT, description="The question that was asked.")]
    filters: Annotated[
        dict[str, Any], Meta(description="The recall's text filters: about, speaker, type, author, source.")
    ] = {}


class RecallReceipt(Scoped, kw_only=True):
    """``memory_recall_receipt``."""

    query: Annotated[Text, Meta(description="The question.")]
    limit: Count = DEFAULT_PAGE
    about: Annotated[Label | None, Meta(description="Only what is about this name or id.")] = None
    type: Annotated[Label | None, Meta(description="Only memories of this type.")] = None
    valid: Annotated[Time | None, Meta(description="What was true at this time (ISO 8601).")] = None
    known: Known | None = None


class KeepReceipt(Arguments):
    """``memory_keep_receipt``."""

    receipt: Annotated[str, Meta(min_length=1, max_length=MAX_RECEIPT, description="The receipt, letter for letter.")]


class ReceiptsOf(Arguments):
    """``memory_receipts_of``."""

    id: Reference
    limit: Count = MAX_PAGE


class Profiles(Arguments):
    """``memory_profiles``."""

    id: Annotated[Reference | None, Meta(description="Only those in force inside this memory.")] = None


Names = Annotated[tuple[Label, ...], Meta(max_length=1_000)]


class SetProfile(Arguments):
    """``memory_set_profile``."""

    id: Annotated[Reference | None, Meta(description="The scope or memory to close; the whole store if left out.")] = (
        None
    )
    profile: Annotated[str, Meta(max_length=200, description="arbiter, or a name for what is given here.")] = ""
    node_types: Annotated[Names, Meta(description="The types that worlds may have.")] = ()
    relations: Annotated[Names, Meta(description="The relations that edges may have.")] = ()
    lift: Annotated[bool, Meta(description="Remove the restriction instead.")] = False
    why: Why = ""


class BeliefSettings(Arguments):
    """``memory_belief_settings``."""

    known: Known | None = None


class SetBeliefs(Arguments):
    """``memory_set_beliefs``."""

    tags: Annotated[Names, Meta(description="Tags that carry beliefs, beside current.")] = ()
    plain_tags: Annotated[Names, Meta(description="Tags that no longer carry beliefs.")] = ()
    single: Annotated[Names, Meta(description="Predicates that take one value at a time.")] = ()
    many: Annotated[Names, Meta(description="Predicates that take several values again.")] = ()
    entrenchment: Annotated[
        dict[Label, Literal["recency", "support", "confidence"] | None],
        Meta(max_length=1_000, description="How beliefs of each type are ranked; null removes the setting."),
    ] = {}
    why: Why = ""


class Way(Arguments):
    """``memory_path``."""

    id: Reference
    to: Annotated[Reference, Meta(description="The id or kref of the other memory.")]
    depth: Annotated[int, Meta(ge=1, le=20, description="How many steps at most.")] = 20


_KREF: Final = "kref://project/space/item.kind"
KrefText = Annotated[str, Meta(min_length=7, max_length=4_000)]


class ResolveKref(Arguments):
    """``memory_resolve_kref``."""

    kref: Annotated[KrefText, Meta(description=f"{_KREF}, with ?r=N for a version and &a=NAME for an artifact.")]
    valid: Annotated[Time | None, Meta(description="What was true at this time (ISO 8601); now if left out.")] = None
    known: Known | None = None


class WriteAt(Arguments):
    """``memory_write_at``."""

    kref: Annotated[KrefText, Meta(description=f"{_KREF}: project and space are made if they are not there.")]
    text: Annotated[Text, Meta(description="The text.")]
    valid_from: Annotated[Time | None, Meta(description="Start of validity (ISO 8601); now if left out.")] = None
    why: Why = ""


Relation = Literal["prefers", "avoids", "rejected", "optimizes_for"]
Named = Annotated[str, Meta(min_length=1, max_length=4_000, description="An id, a kref, or a name.")]


class Preferences(Arguments):
    """``memory_preferences``."""

    subject: Annotated[Named, Meta(description="Whose preferences: an id, a kref, or a name.")]
    relation: Relation | None = None
    limit: Count = DEFAULT_PAGE


class Prefer(Arguments):
    """``memory_prefer``."""

    subject: Named
    relation: Relation
    object: Annotated[Named, Meta(description="The object: an id, a kref, or a name.")]
    outcome: Annotated[
        Literal["acted_upon", "succeeded", "reversed"] | None,
        Meta(description="The outcome of acting on it; left out, it is a statement."),
    ] = None
    inferred: Annotated[bool, Meta(description="True if you conclude it and nobody said it.")] = False
    why: Why = ""


class Relate(Arguments):
    """``memory_relate``."""

    id: Annotated[Named, Meta(description="The source: an id, a kref, or a name.")]
    relation: Annotated[Label, Meta(description="Such as supports, depends_on, or one that was declared.")]
    to: Annotated[Named, Meta(description="The target: an id, a kref, or a name.")]
    valid_from: Annotated[Time | None, Meta(description="Since when (ISO 8601); by default as its source.")] = None
    valid_to: Annotated[Time | None, Meta(description="Until when, if that is known.")] = None
    why: Why = ""
    alternatives: Annotated[
        list[Annotated[str, Meta(max_length=500)]], Meta(max_length=20, description="What else was considered.")
    ] = msgspec.field(default_factory=list)
    optimises_for: Annotated[str, Meta(max_length=500, description="What it is meant to achieve.")] = ""
    sentiment: Annotated[str, Meta(max_length=200, description="The sentiment behind it.")] = ""
    evidence: Annotated[str, Meta(max_length=2_000, description="What supports it.")] = ""


class Unrelate(Arguments):
    """``memory_unrelate``."""

    relation: Annotated[str, Meta(pattern=DIGITS, description="The id of a state, or its first digits.")]
    ended: Annotated[Time | None, Meta(description="When it ended; left out, it never held.")] = None
    why: Why = ""


class States(Arguments):
    """``memory_states``."""

    id: Annotated[Named, Meta(description="The memory: an id, a kref, or a name.")]
    to: Annotated[Named | None, Meta(description="Only relations to this target.")] = None
    relation: Annotated[Label | None, Meta(description="Only this relation, or its inverse.")] = None
    valid: Annotated[Time | None, Meta(description="As of this time (ISO 8601); now if left out.")] = None
    known: Known | None = None
    limit: Count = DEFAULT_PAGE


MAX_BELIEFS: Final = 50
"""Beliefs that one call may name."""
_PREDICATES: Final = Meta(
    description="Values by predicate: type, title, summary (the text), or any other, such as topic."
)


class Believe(Arguments):
    """``memory_believe``."""

    id: Reference
    beliefs: Annotated[dict[str, Any], _PREDICATES]
    how: Annotated[
        Literal["revise", "expand", "replace"],
        Meta(description="revise replaces what conflicts, expand adds to all, replace replaces all that it says."),
    ] = "revise"
    valid_from: Annotated[Time | None, Meta(description="Since when (ISO 8601); now if left out.")] = None
    why: Why = ""


class Claim(Arguments):
    """A belief of a memory."""

    id: Reference
    predicate: Annotated[str, Meta(min_length=1, max_length=200)]
    value: Annotated[Text, Meta(description="One value: of several, a belief for each.")]


class Contract(Arguments):
    """``memory_contract``."""

    beliefs: Annotated[
        list[Claim],
        Meta(
            min_length=1,
            max_length=MAX_BELIEFS,
            description="{id, predicate, value} each; of several, the least entrenched are dropped.",
        ),
    ]
    do: Annotated[bool, Meta(description="Do it; without it, only show what would change.")] = False
    whole: Annotated[bool, Meta(description="Also drop the rest of those versions.")] = False
    each: Annotated[bool, Meta(description="Drop all of them.")] = False
    why: Why = ""


class Rollback(Arguments):
    """``memory_rollback``."""

    id: Reference
    version: Annotated[int, Meta(ge=1, le=1_000_000_000, description="Its number, as memory_history has it.")]
    why: Why = ""


class Beliefs(Arguments):
    """``memory_beliefs``."""

    id: Reference
    valid: Annotated[Time | None, Meta(description="At this time (ISO 8601); now if left out.")] = None
    known: Known | None = None


class Decide(Arguments):
    """``memory_decide``."""

    proposal: Annotated[str, Meta(pattern=DIGITS, description="The proposal's id, or its first digits.")]
    decision: Annotated[Literal["accept", "reject", "undo"], Meta(description="undo takes an acceptance back.")]
    why: Why = ""


class Conflicts(Paged):
    """``memory_conflicts``."""

    id: Reference | None = None


class Shown(Arguments):
    """Arguments of a resource: a world or a timeline."""

    id: Reference
    format: Format = "text"


class AskedOf(Arguments):
    """Arguments of the prompt ``what_is_known``."""

    about: Annotated[str, Meta(min_length=1, max_length=2_000, description="A name, a topic or a question.")]
    valid: Annotated[Time | None, Meta(description="True at this time (ISO 8601); now if left out.")] = None
    known: Annotated[Time | None, Meta(description="As learned by this time (ISO 8601); now if left out.")] = None
    user_id: Annotated[Identity | None, Meta(description="Only what is about or belongs to this person.")] = None


class Review(Arguments):
    """Arguments of the prompt ``review_proposals``: none."""


class Verify(Arguments):
    """``memory_verify``."""

    deep: Annotated[bool, Meta(description="Also derive everything again from the log and compare; slow.")] = False
