"""Validate commands before anything is decided.

Every text must be storable, and every value must have its type. This happens before the store is locked, so a wrong
value blocks no other writer, and later stages may rely on it.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, get_args

from worlddb.log.accounts import plan_limits
from worlddb.log.beliefs import atoms, recall_receipt
from worlddb.log.model import errors, ids, limits, times
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import IMPORTED
from worlddb.projections.tables.names.canonical import normalise_name
from worlddb.projections.tables.storage.schema import EDGE_TYPE_CODES
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.similarity.verdict import checked_setting


def check(commands: Sequence[cmd.Command]) -> None:
    """Check that every command of a request is well formed.

    Raises:
        InputError: one of its values is wrong; ``details["command"]`` is its position in the request.
    """
    if len(commands) > limits.MAX_BATCH_COMMANDS:
        raise errors.LimitExceeded(
            f"{len(commands):,} commands in one batch, above the limit of {limits.MAX_BATCH_COMMANDS:,}",
            "Split the batch",
        )
    for position, command in enumerate(commands):
        try:
            if command.why != "":
                what = "reason" if isinstance(command, cmd.Erase | cmd.EraseLiteral) else "why"
                limits.checked_text(command.why, what, limits.MAX_REASON_BYTES, nul=False)
            _CHECKS[type(command)](command)
        except errors.InputError as error:
            error.details.setdefault("command", position)
            raise
    kinds = set(map(type, commands))
    if len(kinds) > 1 and not kinds.isdisjoint((cmd.Erase, cmd.EraseLiteral)):
        raise errors.InputError("The batch erases and has other commands too", "Erase in a batch of its own")


def _check_stored_text(text: object, what: str, max_bytes: int, *, empty: bool = True) -> None:
    """Check a text before it is stored. Replays and bundles skip this, since logs of earlier releases may hold NULs.

    Nor do they ask whether a name is on one line, which earlier releases did not.
    """
    limits.checked_text(text, what, max_bytes, empty=empty, nul=False)


def _create(command: cmd.Create) -> None:
    # Loads bring many: what most leave at its default is looked at only where it is not.
    checked_line = limits.checked_line
    checked_line(command.type, "type", limits.MAX_TYPE_BYTES, empty=False)
    checked_line(command.name, "name", limits.MAX_NAME_BYTES)
    limits.checked_text(command.content, "content", limits.MAX_CONTENT_BYTES, nul=False)
    if command.aliases:
        _aliases(command.aliases)
    _source(command.source)
    _source(command.properties, "properties")
    if command.key is not None:
        _key(command.key)
    if command.world is not None:
        _ref(command.world, "world")
    _times(command.valid_from, command.valid_to)
    checked_resolve(command.resolve)
    if command.scope is not None:
        _ref(command.scope, "scope")
    if command.revive is not False or command.anew is not False:
        _check_key_return(command)


def _check_key_return(command: cmd.Create) -> None:
    """Check the options for a key whose world was erased or has ended."""
    limits.checked_flag(command.revive, "revive")
    limits.checked_flag(command.anew, "anew")
    if command.key is None and (command.revive or command.anew):
        raise errors.InputError(
            f"{'revive' if command.revive else 'anew'} was given without a key",
            "Give the key of the world, or leave it out",
        )


def checked_resolve(value: object) -> None:
    """Check that a value names tiers of the resolver.

    Raises:
        InputError: it does not.
    """
    if not isinstance(value, bool) and value not in ("exact", "all"):
        raise errors.InputError(f"resolve is {errors.shown(value)}", 'Give "exact" (or True), "all", or False')


def _revise(command: cmd.Revise) -> None:
    _ref(command.ref, "ref")
    if command.type is not None:
        limits.checked_line(command.type, "type", limits.MAX_TYPE_BYTES, empty=False)
    if command.name is not None:
        limits.checked_line(command.name, "name", limits.MAX_NAME_BYTES)
    if command.content is not None:
        _check_stored_text(command.content, "content", limits.MAX_CONTENT_BYTES)
    _source(command.source)
    _source(command.properties, "properties")
    _times(command.valid_from, command.valid_to)
    limits.checked_flag(command.replace_later, "replace_later")
    if command.replace_later and command.valid_to is not None:
        raise errors.InputError(
            "Both valid_to and replace_later were given", "Give one of them: a stated end is an end"
        )


def _retire(command: cmd.Retire) -> None:
    _ref(command.ref, "ref")
    _times(command.at, command.until)
    limits.checked_flag(command.members, "members")


def _reassert(command: cmd.Reassert) -> None:
    _ref(command.ref, "ref")
    if command.content is not None:
        _check_stored_text(command.content, "content", limits.MAX_CONTENT_BYTES)
    _times(command.valid_from, command.valid_to)


_SAME_AS: Final = "same_as"


def _link(command: cmd.Link) -> None:
    if (
        type(command.source_ref) in _REFERENCES
        and type(command.target_ref) in _REFERENCES
        and type(command.type) is str
        and command.type in EDGE_TYPE_CODES
        and command.home is None
        and command.key is None
        and command.valid_from is None
        and command.valid_to is None
        and type(command.properties) is dict
        and not command.properties
    ):
        return  # Nearly every edge of a load says no more, and all of that is right.
    _ref(command.source_ref, "source")
    _ref(command.target_ref, "target")
    if command.home is not None:
        _ref(command.home, "home")
    limits.checked_text(command.type, "type", limits.MAX_TYPE_BYTES)
    _record(command.properties, "properties")
    _reject_nul(command.properties, "properties")
    _key(command.key)
    _times(command.valid_from, command.valid_to)
    if command.type == _SAME_AS and (command.key is not None or command.valid_to is not None):
        raise errors.InputError(
            f"{'valid_to' if command.key is None else 'key'} was given with {_SAME_AS}",
            "Leave it out: a pair is proposed once, and what is accepted holds until it is undone",
        )


def _link_versions(command: cmd.LinkVersions) -> None:
    _link(command)
    if type(command.versions) is not tuple or len(command.versions) != 2:
        raise errors.InputError(
            f"versions is {errors.shown(command.versions)}", "Give the versions of source and target: (2, 1)"
        )
    for version in command.versions:
        limits.checked_number(version, "a version", 0, 2**31 - 1)


def _unlink(command: cmd.Unlink) -> None:
    _ref(command.edge, "edge")


def _move(command: cmd.Move) -> None:
    if not command.refs:
        raise errors.InvalidText("move was given no reference", "Name at least one world or edge")
    for ref in command.refs:
        _ref(ref, "refs")
    _ref(command.to, "to")
    if command.out_of is not None:
        _ref(command.out_of, "out_of")
    _times(command.valid_from, command.valid_to)


def _check_aliases_given(command: cmd.Alias | cmd.Unalias) -> None:
    _ref(command.ref, "ref")
    _aliases(command.aliases)


def _restate(command: cmd.Restate) -> None:
    _ref(command.ref, "ref")
    _source(command.source)


def _expire(command: cmd.Expire) -> None:
    _ref(command.ref, "ref")
    _times(command.at, None)
    limits.checked_number(command.lasts, "ttl in microseconds", 0, times.FOREVER)


def _refresh(command: cmd.Refresh) -> None:
    _ref(command.ref, "ref")
    _times(command.at, None)


def _sweep(command: cmd.Sweep) -> None:
    _ref(command.ref, "ref")


def _labelling(command: cmd.Label | cmd.Unlabel) -> None:
    _ref(command.ref, "ref")
    if not command.labels:
        raise errors.InvalidText("No label was given", "Give at least one")
    _labels(command.labels)


def _labels(labels: tuple[str, ...], what: str = "label") -> None:
    if len(labels) > limits.MAX_LABELS:
        raise errors.LimitExceeded(f"{len(labels)} {what}s, above the limit of {limits.MAX_LABELS}", "Give fewer")
    for label in labels:
        _check_stored_text(label, what, limits.MAX_LABEL_BYTES, empty=False)
        if not normalise_name(label):
            raise errors.InvalidText(f"The {what} {errors.shown(label)} has no visible character", "Give at least one")


def _pin(command: cmd.Pin) -> None:
    _ref(command.ref, "ref")
    limits.checked_flag(command.is_pinned, "is_pinned")


def _tagging(command: cmd.Tag | cmd.Untag) -> None:
    _ref(command.ref, "ref")
    _labels(command.labels, "tag")
    if len(command.labels) != 1:
        raise errors.InvalidText(f"{len(command.labels)} tags were given, and a call takes one", "Give one")
    if normalise_name(command.labels[0]) == cmd.CURRENT_TAG:
        raise errors.InputError(
            f"The tag {cmd.CURRENT_TAG!r} is reserved: it stands for the valid version",
            "Revise the world, or use another name",
        )
    if isinstance(command, cmd.Tag) and command.version is not None:
        limits.checked_number(command.version, "version", 1, 2**31 - 1)


def _deprecate(command: cmd.Deprecate) -> None:
    _ref(command.ref, "ref")
    limits.checked_flag(command.is_deprecated, "is_deprecated")


def _check_belief_target(command: cmd.Believe | cmd.Contract) -> None:
    _ref(command.ref, "ref")
    _source(command.properties, "beliefs")
    if not command.properties:
        raise errors.InputError("No belief was given", 'Give predicates with their values: {"summary": ...}')
    for predicate, value in command.properties.items():
        _check_stored_text(predicate, "a predicate", limits.MAX_TYPE_BYTES, empty=False)
        if predicate == atoms.NO_BELIEF:
            raise errors.InputError(f"{predicate} are pointers, not beliefs", "Use attach and detach")
        if predicate in atoms.FIELDS and not isinstance(value, str):
            raise errors.InvalidText(f"{predicate} is {type(value).__name__}, not text", "Give it as str")
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, str):
                _check_stored_text(each, f"the value of {predicate}", limits.MAX_CONTENT_BYTES)
            if not atoms.comparable_form(each):
                raise errors.InvalidText(f"{predicate} has an empty value", "Leave it out, or contract it")
        if isinstance(value, list | tuple) and not value:
            raise errors.InvalidText(f"{predicate} has no value", "Leave it out, or contract it")
    if command.properties.get(atoms.TYPE, "").strip() == atoms.UNTYPED:
        raise errors.InputError(f"The type {atoms.UNTYPED} stands for no type", "Give another type")


def _believe(command: cmd.Believe) -> None:
    _check_belief_target(command)
    given = command.properties
    for predicate, most in ((atoms.TYPE, limits.MAX_TYPE_BYTES), (atoms.TITLE, limits.MAX_NAME_BYTES)):
        if predicate in given:
            _check_stored_text(given[predicate], predicate, most)
    for predicate, value in given.items():
        if meant := atoms.meant_predicate(predicate):
            raise errors.InputError(
                f"{errors.shown(predicate)} is no field of a belief, and {meant} is",
                f"Give {meant}; a revision sets a property of another name",
            )
        # Of several values the decision says that they conflict.
        for each in value if isinstance(value, list | tuple) else [value]:
            if predicate in atoms.SHARES and (type(each) not in (int, float) or not 0 <= each <= 1):
                raise errors.InputError(f"{predicate} is {errors.shown(each)}", "Give a number from 0 to 1")
    if command.how not in get_args(cmd.BeliefChange):
        raise errors.InputError(f"how is {errors.shown(command.how)}", "Give revise, expand or replace")
    _source(command.source)
    _times(command.valid_from, command.valid_to)


def _contract(command: cmd.Contract) -> None:
    _check_belief_target(command)
    _times(command.at, None)
    limits.checked_flag(command.whole, "whole")


def _rollback(command: cmd.Rollback) -> None:
    _ref(command.ref, "ref")
    limits.checked_number(command.version, "version", 1, 2**31 - 1)
    _times(command.valid_from, None)


def _take_back(command: cmd.TakeBack) -> None:
    limits.checked_number(command.commit, "commit", 1, limits.HIGHEST_SEQ)


_SETTINGS: Final[dict[str, tuple[str, ...]]] = {"tag": ("bearing",), "predicate": ("single",), "kind": atoms.MEASURES}


def _set_beliefs(command: cmd.SetBeliefs) -> None:
    allowed = _SETTINGS.get(command.what, ())
    if command.how and command.how not in allowed:
        what = "type" if command.what == "kind" else command.what
        raise errors.InputError(
            f"{errors.shown(command.how)} is not a setting of a {what}", f"Give one of: {', '.join(allowed)}"
        )
    limits.checked_text(command.named, f"the {command.what}", limits.MAX_TYPE_BYTES, empty=False, nul=False)
    if command.what == "tag" and normalise_name(command.named) == cmd.CURRENT_TAG:
        raise errors.InputError(f"The tag {cmd.CURRENT_TAG!r} always bears beliefs", "Leave it out")
    if command.what == "predicate" and command.named in atoms.SINGLE:
        raise errors.InputError(f"{command.named} is single-valued in every store", "Leave it out")


def _keep_receipt(command: cmd.KeepReceipt) -> None:
    recall_receipt.receipt_from_plain(command.properties.get("receipt"))


def _access(command: cmd.Access) -> None:
    if not command.refs or len(command.refs) != len(command.at):
        raise errors.InputError(
            f"access has {len(command.refs)} worlds and {len(command.at)} times",
            "Give at least one world, and one time for each",
        )
    for ref in command.refs:
        _ref(ref, "a world that was used")
    for at in command.at:
        limits.checked_number(at, "when a world was used", times.ALWAYS, times.FOREVER)


def _erase(command: cmd.Erase) -> None:
    _ref(command.ref, "ref")
    if isinstance(command.ref, int):
        raise errors.InputError("The world to erase is created in the same batch", "Erase it in a later call")
    limits.checked_text(command.why, "reason", limits.MAX_REASON_BYTES, empty=False, nul=False)
    for what in ("turns", "everywhere", "forbid", "derived"):
        limits.checked_flag(getattr(command, what), what)
    if command.members is not None:
        limits.checked_flag(command.members, "members")


def _erase_literal(command: cmd.EraseLiteral) -> None:
    _ref(command.ref, "world")
    if isinstance(command.ref, int):
        raise errors.InputError(
            "The world whose literal is to be erased is created in the same batch", "Name an existing world"
        )
    literal: object = command.literal
    if not (isinstance(literal, str) and literal.startswith('"')):
        raise errors.InputError("The literal to erase is not a literal", 'Give a Literal, or its text such as "tea"@en')
    limits.checked_flag(command.everywhere, "everywhere")
    limits.checked_text(command.why, "reason", limits.MAX_REASON_BYTES, empty=False, nul=False)


def _decision(command: cmd.Accept | cmd.Reject | cmd.Undo) -> None:
    _ref(command.proposal, "proposal")


_MOMENT: Final = re.compile(r"\s*(\d+\s*$|\d{4}-\d\d)")
"""What a person who types it where a moment is wanted means as a commit or a time."""


def _bookmark(command: cmd.Bookmark) -> None:
    _check_stored_text(command.name, "name", limits.MAX_NAME_BYTES, empty=False)
    if not normalise_name(command.name):
        raise errors.InvalidText(f"The name {errors.shown(command.name)} has no visible character", "Give at least one")
    if _MOMENT.match(command.name):
        raise errors.InputError(
            f"The bookmark name {errors.shown(command.name)} reads as a time or a commit",
            "Give a name that is not a number and does not begin like a date",
        )
    _times(command.at, None)
    if command.seq is not None:
        limits.checked_number(command.seq, "seq", 1, limits.HIGHEST_SEQ)
    limits.refuse_both(at=command.at, seq=command.seq)
    limits.checked_flag(command.move, "move")


def _import(command: cmd.Import) -> None:
    if type(command.bundle) is not bytes or len(command.bundle) != ids.HASH_BYTES:
        raise errors.InputError("bundle is not the hash of a bundle", "Give the 32 bytes that its last frame ends with")
    if command.into is not None:
        _ref(command.into, "into")


def _fork(command: cmd.Fork) -> None:
    _ref(command.ref, "ref")
    limits.checked_number(command.seq, "seq", 0, limits.HIGHEST_SEQ)
    if command.into is not None:
        _ref(command.into, "into")
    _aliases(command.aliases)


def _merge(command: cmd.Merge) -> None:
    for ref in (command.ref, command.into, *command.origins, *command.copies):
        _ref(ref, "ref")


def _register(command: cmd.Register) -> None:
    _check_scope(command)
    _reject_nul(command.type, "the edge type")
    limits.checked_flag(command.functional, "functional")
    if command.digest_of == "laws":
        checked_laws(ev.Laws.unpacked(command.digest), command.type, functional=command.functional)


_NEVER_SYMMETRIC: Final = {
    "acyclic": "an edge of a symmetric relation leads back by itself, so no edge could be written",
    "succession": "which of three joined worlds holds would depend on the order of writing",
    "inverse": "a symmetric relation is its own inverse",
}
"""The laws that a symmetric relation cannot have, and why. It may be functional: each world has one other at a time."""


def checked_laws(laws: ev.Laws, name: str, *, functional: bool) -> None:
    """Check that the laws of a declared relation go together.

    Raises:
        InputError: they do not, or the inverse is no name for one.
    """
    limits.checked_text(laws.inverse, "inverse", limits.MAX_TYPE_BYTES, nul=False)
    for other, reason in _NEVER_SYMMETRIC.items() if laws.symmetric else ():
        if getattr(laws, other):
            raise errors.InputError(
                f"The relation {name[:80]!r} is symmetric and {'has an inverse' if other == 'inverse' else other}",
                f"Leave one of them out: {reason}",
            )
    if laws.inverse == name:
        raise errors.InputError(f"The relation {name[:80]!r} is its own inverse", "Say symmetric=True instead")


def _check_scope(command: cmd.Register | cmd.Unregister) -> None:
    limits.checked_text(command.type, "the edge type", limits.MAX_TYPE_BYTES, empty=False)
    if command.world is not None:
        _ref(command.world, "world")


def _set_profile(command: cmd.SetProfile) -> None:
    limits.checked_text(command.profile, "the profile", limits.MAX_TYPE_BYTES, empty=not command.node_types)
    for what, names in (("node_types", command.node_types), ("relations", command.relations)):
        if len(names) > limits.MAX_VOCABULARY:
            raise errors.LimitExceeded(
                f"{len(names)} {what}, above the limit of {limits.MAX_VOCABULARY}",
                "Use a profile for a closed vocabulary only",
            )
        for name in names:
            limits.checked_text(name, f"one of {what}", limits.MAX_TYPE_BYTES, empty=False)
    if command.world is not None:
        _ref(command.world, "world")


def _tune(command: cmd.Tune) -> None:
    _check_thresholds(command)
    checked_setting(command.fuzzy, command.phonetic, command.embedding, command.margin, command.most)


def _check_thresholds(command: cmd.Tune | cmd.Untune) -> None:
    limits.checked_text(command.type, "the node type", limits.MAX_TYPE_BYTES)
    if command.world is not None:
        _ref(command.world, "world")


def _trust(command: cmd.Trust) -> None:
    if command.level not in get_args(ev.TrustLevel):
        levels = ", ".join(filter(None, get_args(ev.TrustLevel)))
        raise errors.InputError(f"There is no level of trust {errors.shown(command.level)}", f"Give one of: {levels}")
    if command.of in ("author", "source"):
        _check_stored_text(command.name, command.of, limits.MAX_NAME_BYTES, empty=False)
    if command.of == "source":
        _check_stored_text(command.type, "the field of the source", limits.MAX_TYPE_BYTES, empty=False)
    if command.world is not None:
        _ref(command.world, "world")


def _guard(command: cmd.Guard) -> None:
    modes = ", ".join([*filter(None, get_args(ev.GuardMode)), "inherit"])
    for what, mode in (("credentials", command.credentials), ("personal", command.personal)):
        if mode is not None and mode not in get_args(ev.GuardMode):
            raise errors.InputError(f"{errors.shown(mode)} is not a mode for {what}", f"Give one of: {modes}")
    if command.credentials is None and command.personal is None:
        raise errors.InputError("No mode was given", "Say credentials=... or personal=...")
    if command.world is not None:
        _ref(command.world, "world")


def _set_plan(command: cmd.SetPlan) -> None:
    limits.checked_text(command.plan, "plan", limits.MAX_TYPE_BYTES, empty=False, nul=False)
    plan_limits.check_limits(command.limits, command.features)


def _set_account(command: cmd.SetAccount) -> None:
    _random_id(command.account, "account")
    limits.checked_text(command.name, "the name of the account", limits.MAX_AUTHOR_BYTES, nul=False)
    limits.checked_text(command.plan or "", "plan", limits.MAX_TYPE_BYTES, nul=False)
    limits.checked_flag(command.is_open, "is_open")


def _make_key(command: cmd.MakeKey) -> None:
    _random_id(command.account, "account")
    _end_key(command)
    if type(command.digest) is not bytes or len(command.digest) != ids.HASH_BYTES:
        raise errors.InputError("digest is not a keyed hash of 32 bytes", "Make keys with db.accounts.create_key")
    if command.right not in get_args(ev.KeyRight):
        raise errors.InputError(
            f"{errors.shown(command.right)} is not a right of a key", f"Give one of: {', '.join(get_args(ev.KeyRight))}"
        )
    limits.checked_text(command.name, "the name of the key", limits.MAX_AUTHOR_BYTES, empty=False, nul=False)
    limits.checked_text(command.content, "user", limits.MAX_AUTHOR_BYTES, nul=False)
    if command.world is not None:
        _ref(command.world, "world")
    if command.expires_at is not None:
        limits.checked_number(command.expires_at, "expires_at", times.ALWAYS, times.FOREVER)


def _end_key(command: cmd.EndKey | cmd.MakeKey) -> None:
    _random_id(command.key_id, "key")


def _random_id(given: object, what: str) -> None:
    if type(given) is not bytes or len(given) != ids.NONCE_BYTES:
        raise errors.InputError(f"{errors.shown(given)} is not a 16-byte id of the {what}", "Use db.accounts")


def _statements(command: cmd.State | cmd.Unstate) -> None:
    _ref(command.ref, "world")
    terms, quads = command.aliases, command.quads
    if not quads or len(quads) % 4 or len(quads) > 4 * limits.MAX_QUADS:
        raise errors.LimitExceeded(
            f"{len(quads) // 4} statements in one command", f"Give 1 to {limits.MAX_QUADS} in one command"
        )
    for each in terms:
        if not isinstance(each, str):
            raise errors.InputError(f"A term is {type(each).__name__}, not its text", "Give it in N-Triples")
    if len(set(terms)) != len(terms) or not all(type(at) is int and -1 <= at < len(terms) for at in quads):
        raise errors.InputError(
            "A statement names a term that is missing from the list of terms", "Give each term once"
        )
    if -1 in quads[::4] or -1 in quads[1::4] or -1 in quads[2::4]:
        raise errors.InputError("A statement lacks its subject, predicate or object", "Give all three")
    if isinstance(command, cmd.State):
        _source(command.source)
        _times(command.valid_from, command.valid_to)
    else:
        _times(command.at, None)


def _embed(command: cmd.Embed) -> None:
    limits.checked_text(command.space, "space", limits.MAX_NAME_BYTES, empty=False)
    limits.checked_text(command.model, "model", limits.MAX_NAME_BYTES, empty=False)
    limits.checked_number(command.dimension, "dimension", 1, limits.MAX_DIMENSION)
    limits.checked_number(command.after, "after", 0, limits.HIGHEST_SEQ)
    limits.checked_number(command.through, "through", command.after, limits.HIGHEST_SEQ)
    if len(command.mean) != 4 * command.dimension:
        raise errors.InputError(
            f"The mean of {errors.shown(command.space)} is not {command.dimension} numbers",
            "Give one number for each dimension",
        )
    for position, (_, _, values, statements, stated) in enumerate(command.items):
        if not values or len(values) % (2 * command.dimension):
            raise errors.InputError(
                f"Vector {position} has {len(values) // 2} numbers, not {command.dimension}",
                "Give one number for each dimension",
            )
        limits.checked_number(statements, f"statements of {position}", 0, len(values) // (2 * command.dimension))
        limits.checked_number(stated, f"percentage of statements of {position}", 0, 100)


def _recluster(command: cmd.Recluster) -> None:
    limits.checked_number(command.after, "after", 0, limits.HIGHEST_SEQ)
    limits.checked_number(command.through, "through", command.after, limits.HIGHEST_SEQ)
    for position, (_, _, evidence) in enumerate(command.items):
        _record(evidence, f"items[{position}]")


def _space(command: cmd.UseSpace | cmd.DropSpace) -> None:
    limits.checked_text(command.name, "space", limits.MAX_NAME_BYTES, empty=False)


_CHECKS: Final[dict[type[cmd.Command], Callable[[Any], None]]] = {
    cmd.Create: _create,
    cmd.Revise: _revise,
    cmd.Retire: _retire,
    cmd.Reassert: _reassert,
    cmd.Link: _link,
    cmd.LinkVersions: _link_versions,
    cmd.Unlink: _unlink,
    cmd.Move: _move,
    cmd.Alias: _check_aliases_given,
    cmd.Unalias: _check_aliases_given,
    cmd.Restate: _restate,
    cmd.Expire: _expire,
    cmd.Refresh: _refresh,
    cmd.Sweep: _sweep,
    cmd.Label: _labelling,
    cmd.Unlabel: _labelling,
    cmd.Pin: _pin,
    cmd.Tag: _tagging,
    cmd.Untag: _tagging,
    cmd.Deprecate: _deprecate,
    cmd.Believe: _believe,
    cmd.Contract: _contract,
    cmd.Rollback: _rollback,
    cmd.TakeBack: _take_back,
    cmd.SetBeliefs: _set_beliefs,
    cmd.KeepReceipt: _keep_receipt,
    cmd.Access: _access,
    cmd.Erase: _erase,
    cmd.Accept: _decision,
    cmd.Reject: _decision,
    cmd.Undo: _decision,
    cmd.Bookmark: _bookmark,
    cmd.Import: _import,
    cmd.Fork: _fork,
    cmd.Merge: _merge,
    cmd.Register: _register,
    cmd.Unregister: _check_scope,
    cmd.Embed: _embed,
    cmd.Recluster: _recluster,
    cmd.SetProfile: _set_profile,
    cmd.Tune: _tune,
    cmd.Untune: _check_thresholds,
    cmd.Trust: _trust,
    cmd.Guard: _guard,
    cmd.SetPlan: _set_plan,
    cmd.SetAccount: _set_account,
    cmd.MakeKey: _make_key,
    cmd.EndKey: _end_key,
    cmd.UseSpace: _space,
    cmd.DropSpace: _space,
    cmd.State: _statements,
    cmd.Unstate: _statements,
    cmd.EraseLiteral: _erase_literal,
}


_REFERENCES: Final = (bytes, str, int)


def _ref(ref: object, what: str) -> None:
    if type(ref) not in _REFERENCES:
        raise errors.InputError(
            f"{what} is {type(ref).__name__}, not a reference", "Give a receipt, an id, or its hex digits"
        )


def _key(key: object) -> None:
    if isinstance(key, cmd.BoundKey):
        _ref(key.world, "key_within")
        key = key.text
    if key is not None:
        limits.checked_text(key, "key", limits.MAX_KEY_BYTES, empty=False)


def _aliases(aliases: object) -> None:
    if not isinstance(aliases, tuple):
        raise errors.InputError(f"aliases is {type(aliases).__name__}, not a tuple of texts", "Give aliases=(...)")
    if len(aliases) > limits.MAX_ALIASES:
        raise errors.LimitExceeded(f"{len(aliases)} aliases, above the limit of {limits.MAX_ALIASES}", "Give fewer")
    for position, alias in enumerate(aliases):
        limits.checked_line(alias, f"aliases[{position}]", limits.MAX_NAME_BYTES, empty=False)


def _record(record: object, what: str) -> None:
    if record != {} or not isinstance(record, dict):
        limits.checked_record(record, what)


def _source(source: dict[str, Any], what: str = "source") -> None:
    if type(source) is dict and not source:
        return
    _record(source, what)
    _reject_nul(source, what)
    field = next((each for each in source if each == IMPORTED or each.startswith(f"{IMPORTED}.")), None)
    if field is not None:
        raise errors.InputError(
            f"{what} has the field {field[:80]!r}, which imports of bundles use for a text's origin",
            "Leave it out, or give the field another name",
        )


def _reject_nul(value: Any, place: str) -> None:
    """Check that no text in a checked record has a NUL."""
    if isinstance(value, str):
        if "\0" in value:
            _check_stored_text(value, place, limits.MAX_RECORD_BYTES)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if "\0" in name:
                _reject_nul(name, f"a key of {place}")
            # Most are a short text or a number, of which nobody asks where it stands.
            if "\0" in inner if type(inner) is str else isinstance(inner, str | dict | list | tuple):
                _reject_nul(inner, f"{place}.{name}")
    elif isinstance(value, list | tuple):
        for position, inner in enumerate(value):
            _reject_nul(inner, f"{place}[{position}]")


def _times(begins: object, ends: object) -> None:
    if begins is None and ends is None:
        return
    for time in (begins, ends):
        if time is not None and (not isinstance(time, int) or isinstance(time, bool)):
            raise errors.InvalidTime(
                f"A time is {type(time).__name__}", "Commands hold integer microseconds; see parse_time"
            )
    if isinstance(begins, int) and isinstance(ends, int):
        times.checked_interval(begins, ends)
