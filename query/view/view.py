"""A view: one moment on both time axes, and every read as of it (paper §2.3).

A view holds no transaction: each call opens a short one and reads interval columns, so later commits change nothing
that a view sees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from io import BytesIO
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Final

from worlddb.log.model import errors, ids, limits, times
from worlddb.projections.indexes.composition import ATTENTION
from worlddb.projections.tables.names.canonical import compose_name
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.storage.schema import ROOT_NODE, STATUS_NAMES, ProposalRow
from worlddb.query.history.journal import Entry, LastTold, journal
from worlddb.query.question.question import CONVEX, DEFAULT_K, LANES, MAX_NEAR, TEXT, Question, Request
from worlddb.query.reads import adjacency, build, store_facts, world_lookup
from worlddb.query.reads.store_facts import known_bookmarks, tunings
from worlddb.query.reads.window import Window
from worlddb.query.reads.world_lookup import Lookup, find, named_node
from worlddb.query.recall.filters import Conditions, Filters, label_digests, tag_digest
from worlddb.query.recall.recall import recall, recall_with_future, version_choice
from worlddb.query.records import records
from worlddb.query.snapshot import provenance, valid_period, visible
from worlddb.query.snapshot.edge_rules import Spec, edge_types

if TYPE_CHECKING:
    from worlddb.log.beliefs import atoms
    from worlddb.log.beliefs.artifact import Artifact
    from worlddb.log.beliefs.kref import Kref
    from worlddb.projections.tables.dream.retention import Decay, Retained
    from worlddb.query.beliefs import receipted_recall, withdrawal
    from worlddb.query.beliefs.belief_base import BeliefSettings, Entrenched, Plan
    from worlddb.query.forks.fork_reads import Fork
    from worlddb.query.graph_query import query_value
    from worlddb.query.graph_query.planner import BoundQuery
    from worlddb.query.graph_query.traversal import Density
    from worlddb.query.history.lineage import Blame
    from worlddb.query.recall.near_claims import Near
    from worlddb.query.recall.said_elsewhere import SaidElsewhere
    from worlddb.query.sparql.datasets import QuerySource
    from worlddb.query.sparql.sparql_answer import SparqlAnswer
    from worlddb.query.statements.statement_reads import ErasedStatement, Statement
    from worlddb.query.streams.streamed_recall import Streams

MAX_NUMBER: Final = 2**63 - 1
"""The largest number that a read is asked for."""
MAX_PAGE: Final = 1_000
"""The number of worlds up to which a list is read like one page."""


@limits.typed_calls
class View:
    """A view of what was known at commit ``seq`` about what is true at ``valid``.

    ``seq`` was ingested by ``ingested``; times are in microseconds.

    A view may be confined to a world, which then acts as its root: it finds nothing from outside, and nothing reveals
    that there is more (law 7). The view holds the store's handle, so it bounds what requests may ask for, not what
    code in the same process can reach.
    """

    __slots__ = ("_window", "ingested", "world")

    def __init__(self, window: Window, ingested: int, world: str | None = None) -> None:
        self._window = window
        self.ingested = ingested
        self.world = world
        """The reference of the world that the view is confined to, if it is."""

    def __str__(self) -> str:
        known = f"as known at commit {self.seq} ({times.format_time(self.ingested)})"
        text = f"view of {times.format_time(self.valid)} {known}"
        text = text if self.world is None else f"{text} inside {ids.short(self.world)}"
        return f"{text}, identities as one" if self.unify else text

    def __repr__(self) -> str:
        return f"<worlddb.View: {self}>"

    @property
    def seq(self) -> int:
        """The commit that the view is of."""
        return self.moment.seq

    @property
    def valid(self) -> int:
        """The valid time that the view is of."""
        return int(self.moment.valid)

    @property
    def moment(self) -> asof.Moment:
        """The view's point on both axes."""
        return self._window.place.moment

    @property
    def spec(self) -> Spec:
        """How the view sees edges."""
        return self._window.spec

    @property
    def unify(self) -> bool:
        """True if the view sees the worlds of one identity as one."""
        return self._window.unify

    # -- other views of the same moment

    def confined(self, to: Any) -> View:
        """The same view, confined to a visible world and what that world contains.

        Containment is judged at the view's moment, on both axes. There is no way back to the wider view.

        Raises:
            UnknownReference: this view sees no such world.
        """
        with self._snapshot() as snapshot:
            top = self._named_node(snapshot, to)
            world = None if top == ROOT_NODE else snapshot.ref(top)
        return View(self._window.narrowed(top), self.ingested, world)

    def revealing(self, *, expired: bool = True, deprecated: bool = False) -> View:
        """The same view, which also shows what a deadline hides, or what is deprecated.

        See :meth:`worlddb.Database.expire` and :meth:`worlddb.Database.deprecate`.
        """
        return View(self._revealing_window(expired, deprecated), self.ingested, self.world)

    def _at(self, ingested: str | None, valid: str | None) -> View:
        """The same view of another moment: of an earlier commit, or of another valid time.

        From inside a world a later one is that of the view itself: a refusal would tell when others wrote last.
        """
        known = self.ingested if ingested is None else times.parse_time(ingested, "ingested")
        if known > self.ingested and self.world is None:
            raise errors.InputError(
                f"The view ends at {times.format_time(self.ingested)}, and {ingested} is later",
                "Use a view of that time",
            )
        true_at = (self.valid if ingested is None else known) if valid is None else times.parse_time(valid, "valid")
        with self._window.reader.snapshot() as snapshot:
            seq = self.seq if ingested is None else min(self.seq, snapshot.log.seq_at(known))
        return View(self._window.at(asof.Moment(seq, true_at)), known, self.world)

    def _of_now(self, now: int, told: LastTold) -> View:
        """The same confined view at the present, where only others' commits put that ahead of the clock."""
        if self.world is None or self.moment.valid != self.ingested or now >= self.ingested:
            return self
        return View(self._window.at_valid(told.valid(self._window.place, now)), self.ingested, self.world)

    def _for_users(self, users: Iterable[str]) -> View:
        """The same view, which sees nothing that belongs to other users than these alone."""
        named = frozenset(map(compose_name, users))
        return View(self._window.for_users(named), self.ingested, self.world)

    def _for_users_as(self, other: View) -> View:
        """The same view for the users that another view is for; for everybody if that is."""
        users = other._window.place.users
        return self if users is None else self._for_users(users)

    def _for_users_of(self, scopes: Iterable[Any]) -> View:
        """The same view for the users to whom some of these worlds belong; for everybody if none does."""
        users = set[str]().union(*map(self._users_of, scopes))
        return self._for_users(users) if users else self

    def _users_of(self, ref: Any) -> set[str]:
        """The users to whom a world belongs: whose world it is, or in whose worlds it lies, at any depth."""
        with self._snapshot() as snapshot:
            return snapshot.users_of(self._named_node(snapshot, ref))

    # -- worlds, by reference, name or place

    def get(
        self,
        ref: Any,
        *,
        include_superseded: bool = False,
        include_expired: bool = False,
        include_deprecated: bool = False,
        during: valid_period.Span | None = None,
        overlaps: valid_period.Span | None = None,
        tag: str | None = None,
    ) -> records.World | None:
        """The world of a reference or a name, or ``None`` if no version of it is valid in this view.

        ``None`` also if a deadline hides it by the view's valid time, or it is deprecated, unless ``include_expired``
        or ``include_deprecated`` asks for that too. ``include_superseded`` returns the newest version of a world that
        no longer holds, hidden or not.

        Wherever a view takes a world, it accepts its exact name or an alias instead of a reference, if only one world
        has it.

        ``during=(a, b)`` asks for a version that is valid throughout ``[a, b)`` instead, ``overlaps=(a, b)`` for the
        newest that is valid at some instant of it; :meth:`history` gives all of them. ``tag`` asks for the tagged
        version, whether it holds or not; ``None`` if the world has none. A kref with ``?r=N`` asks for the version of
        that number in the same way.

        Raises:
            UnknownReference: the view knows nothing under the reference or the name.
            AmbiguousReference: a prefix or a name fits several worlds.
        """
        period = valid_period.parse_period(during, overlaps, include_superseded=include_superseded)
        is_plain = tag is not None or period is not None or (type(ref) is str and "?" not in ref)
        asked = None if is_plain else _kref_of_version(ref)
        with self._revealing_window(include_expired, include_deprecated).snapshot() as snapshot:
            if asked is not None and asked.revision is not None:
                node = world_lookup.kref_node(snapshot, self.spec, asked)
                return world_lookup.version_of(snapshot, self.spec, node, asked.revision)
            node = self._named_node(snapshot, ref)
            if tag is not None and (digest := tag_digest(tag)) != world_lookup.CURRENT:
                return world_lookup.tagged_version(snapshot, self.spec, digest, node)
            return build.world(
                snapshot, node, self.moment, self.spec, include_superseded=include_superseded, period=period
            )

    def find(
        self,
        *,
        name: str | None = None,
        type: str | None = None,
        label: str | Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        world: Any = None,
        limit: int | None = None,
        after: Any = None,
        include_superseded: bool = False,
        include_expired: bool = False,
        include_deprecated: bool = False,
        during: valid_period.Span | None = None,
        overlaps: valid_period.Span | None = None,
    ) -> list[records.World]:
        """Worlds by name or alias (case-folded), type (with subtypes and instances), labels and properties.

        They come in log order, without hidden worlds unless ``include_expired`` asks for them, and without deprecated
        ones unless ``include_deprecated`` does; ``include_superseded`` asks for all that is known. Worlds that lie
        only in a fork are left out, as in :meth:`recall`; a name leaves out a fork's world whose origin has it too.

        With ``world``, only what that world contains at any depth. ``after`` is the last world of the previous page;
        the cost of a page does not grow with its position. With ``during`` or ``overlaps`` as :meth:`get` has them,
        but of each world every version that fits, oldest first; the view's moment still determines what lies inside
        ``world``, and which types a type includes.
        """
        for what, text in (("name", name), ("type", type)):
            if not isinstance(text, str | None):
                raise errors.InvalidText(f"{what} is {text.__class__.__name__}, not text", "Give it as str")
        if limit is not None:
            limits.checked_number(limit, "limit", 0, MAX_NUMBER)
        period = valid_period.parse_period(during, overlaps, include_superseded=include_superseded)
        conditions = None if properties is None else Conditions.of(properties)
        with self._revealing_window(include_expired, include_deprecated).snapshot() as snapshot:
            wanted = Lookup(name, type, self._node(snapshot, world), label_digests(label))
            if after is not None and self.unify:
                raise errors.InputError("after was given with unify", "List without unify")
            if after is not None or (limit is not None and limit <= MAX_PAGE and not self.unify):
                wanted = wanted._replace(after=-1 if after is None else self._named_node(snapshot, after))
            how: dict[str, Any] = {"include_superseded": include_superseded, "unify": self.unify}
            found = find(snapshot, self.spec, wanted, period=period, memories=True, **how)
            fitting = found if conditions is None else (each for each in found if conditions.fit(each.properties))
            return list(islice(fitting, limit))

    def _find_others(self, known: Collection[str], overlaps: valid_period.Span) -> list[records.World]:
        """As :meth:`find` with ``overlaps``, without worlds that are known by their references: these are not read."""
        period = valid_period.parse_period(None, overlaps, include_superseded=False)
        with self._snapshot() as snapshot:

            def is_other(node: int) -> bool:
                return snapshot.ref(node) not in known

            wanted = Lookup(None, None, self._node(snapshot, None), ())
            how: dict[str, Any] = {"include_superseded": False, "period": period, "among": is_other}
            return [*find(snapshot, self.spec, wanted, memories=True, unify=self.unify, **how)]

    def children(
        self,
        ref: Any = None,
        *,
        include_superseded: bool = False,
        include_expired: bool = False,
        include_deprecated: bool = False,
        during: valid_period.Span | None = None,
        overlaps: valid_period.Span | None = None,
    ) -> Iterator[records.World]:
        """The members of a world (default: the outermost one), in the order in which they joined.

        Without what is hidden or deprecated, as :meth:`find`.

        With ``during`` or ``overlaps`` as :meth:`get` has them: those that were members, and valid, throughout the
        span, or together at some instant of it. Read in pages, so a world of any size costs little memory and no long
        transaction.
        """
        period = valid_period.parse_period(during, overlaps, include_superseded=include_superseded)
        return adjacency.members(
            self._revealing_window(include_expired, include_deprecated), ref, include_superseded, period
        )

    def containers(self, ref: Any) -> list[str]:
        """References of the worlds that contain a world directly, in log order."""
        with self._snapshot() as snapshot:
            node = self._named_node(snapshot, ref)
            one = self._identity(snapshot, node)
            places = sorted((place.edge, place.source) for each in one for place in snapshot.placings(each))
            return [snapshot.ref(source) for _, source in places]

    def stale(self, world: Any = None) -> list[records.World]:
        """The worlds, inside ``world`` if given, that rest on what no longer holds, in log order.

        ``stale`` of each gives the base, the time and the path: see :class:`worlddb.Stale`. Of what is valid in this
        view, and as the view knows it. Reads all worlds that it looks among.
        """
        with self._snapshot() as snapshot:
            within = self._node(snapshot, world)
            return list(world_lookup.stale_worlds(snapshot, self.spec, within))

    def in_ended(self, ref: Any) -> str:
        """The nearest ended container, if all containers have ended or lie in ended ones; else empty.

        A member of a retired world stays valid, unless it was retired too. Worlds and hits have this as ``in_ended``.

        Raises:
            UnknownReference: the view sees no such world.
        """
        with self._snapshot() as snapshot:
            return build.in_ended(snapshot, self._named_node(snapshot, ref))

    def keyed(self, key: str) -> records.World | None:
        """The world that a caller's ``key`` stands for, valid or not; ``None`` if the view knows none.

        If it has ended and another one was begun under its key, that one. In a view confined to a world, also the one
        of a key that counts within that world.
        """
        with self._snapshot() as snapshot:
            node = world_lookup.keyed_node(snapshot, _checked_key(key))
            if node is None:
                return None
            return build.world(snapshot, node, self.moment, self.spec, include_superseded=True)

    def reference_of(self, ref: Any) -> str:
        """The full reference of a world, by a prefix of it, its exact name or an alias.

        Worlds that are valid in the view come before those that are not.

        Raises:
            UnknownReference: nothing that the view knows is called so.
            AmbiguousReference: several worlds are; ``details["candidates"]`` has their references.
        """
        with self._snapshot() as snapshot:
            return snapshot.ref(self._named_node(snapshot, ref))

    def worlds_of_user(self, name: str, *, world: Any = None) -> list[records.World]:
        """The worlds that hold what is a user's: their scopes ``user:NAME``, or their world of type ``User``.

        Retired ones are among them. With ``world``, only of what that world contains, as a tenant's. The name has to be
        written as it was.

        Raises:
            UnknownReference: there is no such user.
            AmbiguousReference: several are called so; ``details["candidates"]`` has their references.
        """
        limits.checked_text(name, "name", limits.MAX_NAME_BYTES, empty=False)
        with self._snapshot() as snapshot:
            return world_lookup.worlds_of_user(snapshot, self.spec, name, self._node(snapshot, world))

    def hash(self, ref: Any = None) -> str:
        """The world hash as of the view's commit, 64 hex digits (paper §2.1).

        By default that of the outermost world.
        """
        with self._snapshot() as snapshot:
            node = self._node(snapshot, ref)
            found = snapshot.tables.hash_row(node, self.seq)
            if found is None:
                raise errors.UnknownReference("Nothing had been committed yet", table_reads.NOTHING_YET)
            return found[1][: ids.HASH_BYTES].hex()

    def counts(self) -> dict[str, int]:
        """Count the worlds (with the outermost), edges and proposals that the view's commit knew.

        For the whole store at its last commit the numbers are stored; any other view counts them.
        """
        with self._snapshot() as snapshot:
            return store_facts.counts_at(snapshot)

    def resolve_kref(self, text: str | Kref, *, include_deprecated: bool = False) -> records.World | Artifact | None:
        """The world version of a kref in this view, or with ``a=`` an artifact of it.

        Without ``r`` it is the version that holds at the view's valid time, with ``r=N`` the version of that number,
        whether it holds or not. ``None`` if no version holds, or the world is hidden or deprecated.

        Raises:
            InvalidKref: the text breaks the form of krefs.
            UnknownReference: nothing that the view sees is there, or it has no such version or artifact.
        """
        from worlddb.log.beliefs import artifact, kref

        wanted = kref.parse_kref(text.ref if isinstance(text, kref.Kref) else text)
        item = self.get(str(wanted._replace(artifact="")), include_deprecated=include_deprecated)
        if item is None or not wanted.artifact:
            return item
        artifacts = artifact.artifacts_in(item.properties)
        if wanted.artifact not in artifacts:
            raise errors.UnknownReference(
                f"Version {item.number} has no artifact {wanted.artifact!r:.80}",
                f"It has: {', '.join(artifacts)}" if artifacts else "It has none",
            )
        return artifacts[wanted.artifact]

    def kref_of(self, ref: Any) -> Kref | None:
        """The kref of a world by its present name, type and place; ``None`` if no kref leads to it so.

        Raises:
            UnknownReference: the view sees no such world.
        """
        with self._snapshot() as snapshot:
            return world_lookup.kref_of(snapshot, self.spec, self._named_node(snapshot, ref))

    def artifacts(self, ref: Any) -> list[Artifact]:
        """The artifacts of a world, by name, of the version that is valid in this view; of a kref, of its version.

        Raises:
            UnknownReference: the view sees no such world.
        """
        from worlddb.log.beliefs import artifact

        item = self.get(ref, include_expired=True, include_deprecated=True)
        return [] if item is None else list(artifact.artifacts_in(item.properties).values())

    # -- search

    def recall(
        self,
        text: str,
        *,
        world: Any = None,
        k: int = 10,
        exact: bool = False,
        include_superseded: bool | None = None,
        lanes: Sequence[str] = LANES,
        fusion: str = CONVEX,
        asked: times.TimeLike | None = None,
        during: valid_period.Span | None = None,
        overlaps: valid_period.Span | None = None,
        group: int | None = None,
        neighbours: int = 0,
        min_trust: str | None = None,
        trust_weight: float = 0.0,
        min_confidence: float | None = None,
        about: Any = None,
        speaker: Any = None,
        type: str | Sequence[str] | None = None,
        author: str | Sequence[str] | None = None,
        source: Mapping[str, Any] | None = None,
        since: times.TimeLike | None = None,
        until: times.TimeLike | None = None,
        include_expired: bool = False,
        include_deprecated: bool = False,
        label: str | Sequence[str] | None = None,
        tag: str | None = None,
        properties: Mapping[str, Any] | None = None,
        receipt: bool = False,
        prefer_summaries: bool = False,
        decay: Decay | None = None,
        scopes: Sequence[Any] | None = None,
        fields: Mapping[str, float] | None = None,
        streams: Streams | None = None,
        type_weights: Mapping[str, float] | None = None,
        siblings: float | None = None,
        fuzzy: bool = False,
    ) -> records.Recall:
        """The ``k`` worlds that answer a text best, inside ``world`` if one is given.

        Args:
            scopes: in place of ``world``, the nearest first; the next one is asked while the answer is weak. group: the
            ``k`` best containers of hits instead, with so many. include_superseded: also what has ended, with all
            versions (``others``); by default if it asks for change. exact: rank by precisely what the view sees, as a
            replayed store would; receipt: for ``check_recall``. lanes, fusion: some of :data:`LANES` (words, meaning,
            names), and how they are put together, of ``FUSIONS``; asked: when, for "last week" (the view's valid time);
            during, overlaps: valid all of a span, or some of it; neighbours: what an edge joins to so many of each
            lane's best hits may be a hit too. min_trust, min_confidence: the least of a hit; trust_weight: the share of
            its score that no trust costs. about: only what refers to each of these (by name or reference), and they
            themselves. type, author, speaker: only of one of these types, what one of these wrote, and turns that they
            said; source, label, properties, tag: what came with these fields, has all of these, and what the tag stands
            for. since, until: only what began in that span; include_expired, include_deprecated: also what is hidden.
            prefer_summaries, decay, fields, streams, type_weights, siblings, fuzzy: see ``docs/reference.md``.

        Raises:
            InputError: a number is out of its bounds, or there is no such lane, fusion or trust.
        """
        question = Question(text, self.valid if asked is None else times.parse_time(asked, "asked"))
        choice = version_choice(question, include_superseded, during, overlaps, tag)
        texts = {"about": about, "speaker": speaker, "type": type, "author": author, "source": source, "label": label}
        texts |= {"properties": properties, "tag": tag}
        what = question, world, k, exact, choice, _lane_names(lanes), fusion, group, neighbours, min_trust, trust_weight
        request = Request(*what, min_confidence, _filters(**texts, since=since, until=until), prefer_summaries, decay)
        scopes = None if scopes is None else limits.checked_list(scopes, "scopes")
        window = self._for_users_of(scopes or ())._revealing_window(include_expired, include_deprecated)
        rest: dict[str, Any] = {"scopes": scopes, "fields": fields, "streams": streams, "type_weights": type_weights}
        rest |= {"siblings": siblings, "fuzzy": fuzzy or None}
        return _answer_request(window, request, (include_superseded, texts) if receipt else None, rest)

    def near(
        self,
        text: str,
        *,
        about: Any = None,
        world: Any = None,
        since: times.TimeLike | None = None,
        until: times.TimeLike | None = None,
        limit: int = MAX_NEAR,
        include_expired: bool = False,
    ) -> list[Near]:
        """The valid statements that a new one may repeat, replace or contradict, the nearest first.

        English statements are compared by word lists and not by a model, so the relation is a guess that says its
        reason; nothing is written. A text of more than 400 characters is only compared for being the same.

        Args:
            about: whom the statement is about, one or several, by name or reference; else whom it begins with.
            world: only what that world contains.
            since: since when the new one is true, by which it is told which of two is the later; else the new one.
            until: until when the new one is true, if it ends: what it repeats ends then, too.
            limit: how many are given at most, up to 64.
            include_expired: also what a deadline hides.

        Raises:
            InputError: an argument is not what it should be.
        """
        from worlddb.query.recall import near_claims

        window = self._window.revealing() if include_expired else self._window
        when = None if since is None else times.parse_time(since, "since")
        end = None if until is None else times.parse_time(until, "until")
        return near_claims.near(window, text, about=about, world=world, since=when, until=end, limit=limit)

    def why_not(self, ref: Any, text: str, *, k: int = 10, **options: Any) -> records.Absence:
        """Why a world is not among the hits of :meth:`recall` for a text, by step and lane.

        ``options`` are those of the recall, but for ``group`` and ``receipt``. It asks up to three times.

        Raises:
            UnknownReference: the view knows of no such world.
            InputError: as of :meth:`recall`, or groups or a receipt are asked for.
        """
        from worlddb.query.recall import answer

        return answer.why_not(self._window, ref, k, options, partial(self.recall, text))

    def composed(self, ref: Any, *, pool: str = ATTENTION) -> records.Composed | None:
        """The composed embedding of a world: of its own text and all that it contains (paper §5).

        It covers what the view sees, on both time axes. ``pool`` is ``attention`` or ``mean``. ``None`` if none of
        its texts has a vector.

        Raises:
            UnknownReference: the view sees no such world.
            InputError: there is no such pool.
        """
        from worlddb.query.graph_query.planner import composed

        return composed(self._window, ref, pool)

    def receipts_of(self, ref: Any) -> list[receipted_recall.KeptReceipt]:
        """The receipts of recalls that the log keeps and that name a world, oldest first.

        A confined view has those that were left inside of its world. See :meth:`worlddb.Database.keep_receipt`.

        Raises:
            UnknownReference: the view sees no such world.
        """
        from worlddb.query.beliefs import receipted_recall

        with self._snapshot() as snapshot:
            return list(receipted_recall.kept_receipts(snapshot, self._named_node(snapshot, ref)))

    def withdrawal(
        self,
        world: Any = None,
        *,
        author: str | Sequence[str] | None = None,
        source: Mapping[str, Any] | None = None,
        since: times.TimeLike | None = None,
        until: times.TimeLike | None = None,
        artifact: str | None = None,
        how: withdrawal.How = "contract",
        dependents: bool = False,
        questions: Sequence[Any] = (),
        receipts: Sequence[Any] = (),
        types: Sequence[str] | None = None,
        depth: int = 10,
    ) -> withdrawal.Withdrawal:
        """What a source stated, all that rests on it with every path, and what withdrawing it would change.

        Nothing is done: give the plan to :meth:`worlddb.Database.withdraw`.

        Args:
            world, author, source, since, until, artifact: the source: a world with all inside (a document, a session),
                who wrote, what it came with, when it was written, what is attached to it (by name, location or hash).
                Of several that are given all have to hold.
            how: ``contract``: nothing holds any more where the source's versions do; ``deprecate``: what it spoke of
                is not looked at; ``flag``: its versions get the tag ``withdrawn``.
            dependents: do the same to what rests on it, and not to what the source said alone.
            questions: texts, or arguments of :meth:`recall` as mappings, to be asked with it and without.
            receipts: kept receipts of recalls, of which those that name any of it are told.
            types, depth: over which edges, by default ``derived_from``, ``depends_on`` and ``created_from``, and how
                far (1 to 20) is looked for what rests on it.

        Raises:
            InputError: no source was named, or an argument is not what it should be.
            UnknownReference: the view sees no such world.
        """
        from worlddb.query.beliefs import withdrawal

        ref = "" if world is None else self.reference_of(world)
        given = withdrawal.Source.of(ref, author, source, since, until, artifact)
        listed = withdrawal.RESTING if types is None else tuple(limits.checked_list(types, "types"))
        return withdrawal.plan(
            self._window,
            given,
            withdrawal.WithdrawalOptions(how, dependents, listed, depth),
            questions,
            receipts,
            self._ask_window,
        )

    def _ask_window(self, window: Window, text: str, options: Mapping[str, Any]) -> records.Recall:
        """The exact answer to a question in another window; what held before is not shown unless it is asked for."""
        asked: dict[str, Any] = {"include_superseded": False, **options, "exact": True}
        return View(window, self.ingested, self.world).recall(text, **asked)

    # -- edges and what they lead to

    def edge(self, ref: Any) -> records.Edge:
        """One edge by its reference; unlinked ones are unknown to views after the unlink."""
        with self._snapshot() as snapshot:
            identifier = table_reads.find_edge(snapshot.tables, ids.as_ref(ref), self.seq)
            place = snapshot.tables.place_of(identifier)
            row = None if place is None else snapshot.tables.edge(place)
            if place is None or row is None or not asof.edge_known(row, self.seq):
                raise errors.UnknownReference(f"The edge {identifier.hex()[:12]} was unlinked", "Use an earlier view")
            return build.edge(snapshot, place, row, self.moment)

    def edges(
        self,
        ref: Any,
        *,
        type: str | None = None,
        direction: str = "both",
        include_superseded: bool = False,
        during: valid_period.Span | None = None,
        overlaps: valid_period.Span | None = None,
        limit: int | None = None,
        after: Any = None,
    ) -> list[records.Edge]:
        """The edges of a world (``out``, ``in`` or ``both``) in log order; closed ones if asked for.

        At most ``limit`` of them, and those behind the edge ``after``, the last one of the page before.

        ``during=(a, b)`` gives those that are valid throughout ``[a, b)`` instead, ``overlaps=(a, b)`` those that are
        valid at some instant of it. Where identities are seen as one: the edges of all of them, but not those that make
        them one.
        """
        period = valid_period.parse_period(during, overlaps, include_superseded=include_superseded)
        wanted = adjacency.EdgeFilter(type, direction, include_superseded, period)
        wanted.check()
        most = _most(limit)
        with self._snapshot() as snapshot:
            node = self._named_node(snapshot, ref)
            one = self._identity(snapshot, node)
            behind = -1 if after is None else adjacency.find_edge_number(snapshot, after)
            found = adjacency.edges_of(snapshot, self.spec, one, wanted, behind)
            kept = (edge for edge in found if not self.unify or not adjacency.unifies(snapshot, self.spec, edge))
            return list(islice(kept, most))

    def states(self, source: Any, target: Any = None, *, type: str | None = None) -> tuple[records.State, ...]:
        """Every state of the relations of a world, or between it and another one, in the order of the statements.

        Ended and retracted ones are included, each with its span, commit, reason and context. Of one ``type`` (or the
        inverse of a declared relation), or of all but ``contains``.

        Raises:
            UnknownReference: the view sees no such world.
            InputError: the type is no text.
        """
        from worlddb.query.beliefs import states

        with self._snapshot() as snapshot:
            other = None if target is None else self._named_node(snapshot, target)
            return states.states(snapshot, self.spec, self._named_node(snapshot, source), other, type)

    def impact(self, ref: Any, *, types: Sequence[str] | None = None, depth: int = 10) -> records.Reach:
        """All that depends on a world, up to ``depth`` steps away (1 to 20), each with its path.

        It follows edges of some ``types`` backwards, by default ``depends_on``, ``derived_from`` and ``supersedes``.
        Only worlds and edges that are valid in this view are walked; ``cut_off`` names where more lies deeper.

        Raises:
            UnknownReference: the view sees no such world.
            InputError: a type is no text, or the depth is not from 1 to 20.
        """
        from worlddb.query.graph_query import traversal

        with self._snapshot() as snapshot:
            walk = traversal.walk(self._window, snapshot, traversal.DEPENDING if types is None else types, "in")
            return walk.reach(self._named_node(snapshot, ref), traversal.checked_depth(depth))

    def traverse(self, ref: Any, *, types: Sequence[str] = (), direction: str = "out", depth: int = 1) -> records.Reach:
        """All that edges of some types (default: of all but ``contains``) lead to from a world, the nearest first.

        ``direction`` is ``out``, ``in`` or ``both``, ``depth`` from 1 to 20; ``cut_off`` names the worlds beyond
        which more lies. A declared relation may be given by its inverse. :meth:`query` walks with filters on the way.

        Raises:
            UnknownReference: the view sees no such world.
            InputError: a type is no text, there is no such direction, or the depth is not from 1 to 20.
        """
        from worlddb.query.graph_query import traversal

        with self._snapshot() as snapshot:
            walk = traversal.walk(self._window, snapshot, types, direction)
            return walk.reach(self._named_node(snapshot, ref), traversal.checked_depth(depth))

    def shortest_path(
        self, source: Any, target: Any, *, types: Sequence[str] = (), direction: str = "both", depth: int = 20
    ) -> records.Reached | None:
        """A shortest path over edges from one world to another; ``None`` if there is none of at most ``depth`` edges.

        Also ``None`` if both are the same world. Of several paths it is the one of the earliest edges.
        """
        from worlddb.query.graph_query import traversal

        with self._snapshot() as snapshot:
            walk = traversal.walk(self._window, snapshot, types, direction)
            ends = self._named_node(snapshot, source), self._named_node(snapshot, target)
            return walk.to(*ends, traversal.checked_depth(depth))

    def provenance(self, ref: Any) -> list[records.Basis]:
        """All that a world was made of, at any distance, the nearest first, with authors, sources and trust.

        ``rests_on`` of a world has the first 64 of it.

        Raises:
            UnknownReference: the view sees no such world.
        """
        from worlddb.projections.runner import collector_paused

        with collector_paused(), self._snapshot() as snapshot:
            node = self._named_node(snapshot, ref)
            seen = asof.version_at(snapshot.tables, node, self.moment)
            return [] if seen is None else list(provenance.all_bases(snapshot, node, seen.row))

    def density(self, *refs: Any, types: Sequence[str] = (), depth: int = 1) -> Density:
        """How densely edges join the worlds up to ``depth`` edges (1 to 20) around the given ones.

        Edges of some ``types`` count, by default of all but ``contains``. :meth:`traverse` with ``direction="both"``
        lists the worlds.

        Raises:
            UnknownReference: the view sees no such world.
            InputError: an argument is not what it should be.
        """
        from worlddb.query.graph_query import traversal

        return traversal.density_around(self._window, refs, types, depth)

    def conflicts(
        self, ref: Any = None, *, during: valid_period.Span | None = None, overlaps: valid_period.Span | None = None
    ) -> list[records.Edge]:
        """The edges that record contradictions of a world, in log order, while both sides are valid.

        Without a world, those of every world that the view shows; :meth:`contradictions` gives the worlds of them.

        ``during=(a, b)`` gives those where the edge and both sides are valid throughout ``[a, b)``, ``overlaps=(a, b)``
        those where all three are valid together at some instant of it. :meth:`edges` gives them whatever became of the
        two sides.
        """
        period = valid_period.parse_period(during, overlaps)
        with self._snapshot() as snapshot:
            nodes: Iterator[int]
            if ref is None:
                nodes = (node for node in snapshot.inhabitants() if not snapshot.hides(node, period))
            else:
                nodes = iter((self._named_node(snapshot, ref),))
            each = (build.conflicts_of(snapshot, node, self.moment, self.spec, period) for node in nodes)
            found = {place.edge: (place, row) for edges in each for place, row in edges}
            return [build.edge(snapshot, *found[edge], self.moment) for edge in sorted(found)]

    def contradictions(
        self, *, world: Any = None, after: tuple[Any, Any] | None = None
    ) -> Iterator[tuple[records.World, records.World]]:
        """The pairs of worlds that contradict each other while both hold, each once, the first in log order.

        With ``world``, those of which one side lies inside of it; with ``after`` those behind that pair. Reads the
        worlds from there on, as far as it is asked.
        """
        return adjacency.contradictions(self._window, world, after)

    # -- queries, statements and graphs

    def query(
        self,
        *,
        seeds: Any = None,
        text: str | None = None,
        vector: Iterable[float] | None = None,
        world: Any = None,
        k: int = DEFAULT_K,
        lanes: Sequence[str] = (TEXT,),
        exact: bool = False,
        composed: str | None = None,
        min_trust: str | None = None,
    ) -> BoundQuery:
        """A query of this view, to which operators are added before it is run (paper §4.1).

        It starts from ``seeds`` (a reference or several), else from the ``k`` worlds that answer ``text`` best by
        ``lanes``, else from the ``k`` nearest to ``vector``, else from everything; inside ``world`` if one is given.
        With ``composed`` (``attention`` or ``mean``) the start is of worlds with members, ranked by what all of their
        interior is about. What is trusted less than ``min_trust`` (``none``, ``low``, ``fair`` or ``full``) is left out
        of any start; operators may lead to it.

        Raises:
            InputError: something given is not what it should be.
        """
        from worlddb.query.graph_query import query_value
        from worlddb.query.graph_query.planner import BoundQuery

        given = query_value.Query.of(
            seeds=seeds,
            text=text,
            vector=vector,
            world=world,
            k=k,
            lanes=lanes,
            exact=exact,
            composed=composed,
            min_trust=min_trust,
        )
        return BoundQuery(self._window, given)

    def run(self, query: query_value.Query, *, timed: bool = False) -> query_value.Subgraph:
        """Run a query that was made elsewhere; with ``timed``, each stage has its seconds.

        Raises:
            UnknownReference, AmbiguousReference: a reference in it is not known to the view, or fits several worlds.
            InputError: it is as of a moment after the view's, or its vector is not of the embedding space's size.
        """
        from worlddb.query.graph_query import query_value
        from worlddb.query.graph_query.planner import run

        if not isinstance(query, query_value.Query):
            raise errors.InputError(f"query is {type(query).__name__}", "Give a Query, such as Query.from_json makes")
        return run(self._window, query, timed=timed)

    def sparql(
        self,
        query: str,
        *,
        world: Any = None,
        default_graphs: Sequence[str] | None = None,
        named_graphs: Sequence[str] | None = None,
        lanes: Sequence[str] = LANES,
        format: str | None = None,
        timeout_seconds: float | None = None,
        max_rows: int | None = None,
        max_bytes: int | None = None,
        max_memory_bytes: int | None = None,
    ) -> SparqlAnswer:
        """Answer a query in SPARQL 1.1 as of this view: SELECT, ASK, CONSTRUCT or DESCRIBE, with property paths.

        It is asked of the dataset of ``world``: its statements and their graphs. Without one, those of all worlds that
        the view sees are the default graph, and those of each one the graph ``urn:worlddb:world:REF``. The graph
        ``wdb:memory`` is every world and edge that the view sees, by the vocabulary of docs/sparql.md. A graph of ours
        with ``?ingested=TIME&valid=TIME`` is as it was at another moment. SERVICE is closed. ``format`` (``json``,
        ``xml``, ``csv``, ``tsv``, ``turtle`` …, or a media type) chooses that of the answer's ``body``.
        ``default_graphs`` and ``named_graphs``, IRIs, take the place of what FROM and FROM NAMED say (SPARQL 1.1
        Protocol, 2.1.4). Searches in it go by ``lanes``, of which ``text`` (words) and ``vector`` (meaning) search.

        A worker process evaluates it and is ended after ``timeout_seconds`` (10) or beyond ``max_memory_bytes``
        (2 GiB); an answer of more than ``max_rows`` (100,000) or ``max_bytes`` (64 MiB) is an error, too.

        Raises:
            InvalidSparql: it breaks the grammar, or asks for what is closed; the place is named.
            QueryLimit: it was ended at a limit, which ``details`` names.
            UnknownReference: the view sees no such world.
        """
        from worlddb.query.sparql import sparql_query, sparql_workers

        allowed = sparql_query.checked_limits(timeout_seconds, max_rows, max_bytes, max_memory_bytes)
        dataset = sparql_query.checked_dataset(default_graphs, named_graphs)
        named: Any = {"dataset": dataset, "lanes": sparql_query.checked_lanes(_lane_names(lanes))}
        asked, workers = self._query_source(), sparql_workers.workers()
        return sparql_query.evaluate(asked, workers, query, world, allowed, format=format, **named)

    def _query_source(self) -> QuerySource:
        """The view as queries in SPARQL ask it."""
        from worlddb.query.sparql.datasets import QuerySource

        with self._snapshot() as snapshot:
            erasures = self._window.reader.generation, snapshot.erasure_due()
        return QuerySource(self, self._window, erasures, lambda *times: self._at(*times)._query_source())

    def statements(
        self,
        world: Any = None,
        subject: Any = None,
        predicate: Any = None,
        object: Any = None,
        graph: Any = "any",
        *,
        limit: int | None = None,
        after: Statement | tuple[int, int, int, int] | None = None,
    ) -> list[Statement]:
        """The statements that match a pattern of terms, or of their N-Triples texts, in the order of the rows.

        Args:
            world: only those of this world; else of every one that the view sees.
            subject, predicate, object: what the statement has there; ``None`` is anything.
            graph: the name of its graph, ``None`` for the default graph, "any" for all.
            limit: how many at most.
            after: of a world, the last statement of the page before with the same pattern, or its ``row``.

        Raises:
            InputError: one of them is no term, or ``after`` was given without a world.
            UnknownReference: the view sees no such world.
        """
        from worlddb.query.statements import statement_reads

        if after is not None and world is None:
            raise errors.InputError("after was given without a world", "Give the world of the statement")
        row = after.row if isinstance(after, statement_reads.Statement) else after

        pattern = statement_reads.parse_pattern(subject, predicate, object, graph)
        most = _most(limit)
        with self._snapshot() as snapshot:
            worlds = statement_reads.stating_worlds(snapshot) if world is None else [self._named_node(snapshot, world)]
            found = (each for node in worlds for each in statement_reads.find_statements(snapshot, node, pattern, row))
            return list(islice(found, most))

    def erased_statements(self, world: Any) -> list[ErasedStatement]:
        """The statements of a world with an erased text: their remains, and who erased the text and when.

        Raises:
            UnknownReference: the view sees no such world.
        """
        from worlddb.query.statements import statement_reads

        with self._snapshot() as snapshot:
            return list(statement_reads.erased_statements(snapshot, self._named_node(snapshot, world)))

    def count_statements(self, world: Any = None) -> int:
        """How many statements hold in a world, or in all that the view sees.

        Raises:
            UnknownReference: the view sees no such world.
        """
        from worlddb.query.statements import statement_reads

        with self._snapshot() as snapshot:
            worlds = statement_reads.stating_worlds(snapshot) if world is None else [self._named_node(snapshot, world)]
            return sum(statement_reads.count_statements(snapshot, node) for node in worlds)

    def write_rdf(
        self, world: Any, format: str = "turtle", file: IO[bytes] | None = None, *, reifiers: bool = False
    ) -> bytes:
        """The statements of a world in a format of RDF, as bytes, or written to a stream (then none are returned).

        ``format`` is ``turtle``, ``trig``, ``ntriples``, ``nquads``, ``jsonld`` or ``rdfxml``, or a media type. With
        ``reifiers`` each has one (RDF 1.2) that says when it holds, who stated it when, its source, and how sure it is.

        Raises:
            UnknownReference: the view sees no such world.
            InputError: there is no such format, or it has no graphs and a statement lies in one.
        """
        from worlddb.query.sparql import datasets, rdf_formats
        from worlddb.query.statements import statement_reads

        if not (file is None or callable(getattr(file, "write", None))):
            raise errors.InputError(
                f"{errors.shown(file)} is not a file that can be written", "Open one in binary mode"
            )
        out = BytesIO() if file is None else file
        with self._snapshot() as snapshot:
            node = self._named_node(snapshot, world)
            plain = () if reifiers else map(datasets.with_blank_nodes, statement_reads.quad_lines(snapshot, node))
            rdf_formats.write_lines(statement_reads.reified_lines(snapshot, node) if reifiers else plain, out, format)
        return out.getvalue() if isinstance(out, BytesIO) and file is None else b""

    def memory_graph(self, world: Any = None) -> Iterator[dict[str, Any]]:
        """A world and what it contains, or all that the view sees, as lines for the reference server ``memory`` of MCP.

        Entities with a type and observations, then relations by name: what holds in the view, without its times and
        history. Its tools read a file of such lines (``memory.jsonl``).

        Raises:
            UnknownReference: the view sees no such world.
        """
        from worlddb.query.export import json_lines

        top = None if world is None else self.get(world)
        found = [*([] if top is None else [top]), *self.find(world=world)]
        return json_lines.memory_graph(found, lambda ref: self.edges(ref, direction="out"))

    # -- history

    def history(
        self,
        ref: Any,
        *,
        between: valid_period.Span | None = None,
        during: valid_period.Span | None = None,
        overlaps: valid_period.Span | None = None,
    ) -> list[records.Version]:
        """Every version known to the view, oldest first, with its validity in the view.

        ``between=(a, b)`` is a span of ingest time: the versions of which the store learned something in ``[a, b)``,
        their existence or their end. ``during`` and ``overlaps`` are spans of valid time, as :meth:`get` has them.
        """
        from worlddb.query.history import lineage

        learned = None if between is None else valid_period.parse_span(between, "between")
        period = valid_period.parse_period(during, overlaps)
        with self._snapshot() as snapshot:
            node = self._named_node(snapshot, ref)
            return lineage.history(snapshot, node, between=learned, period=period)

    def timeline(self, ref: Any) -> list[records.Learned]:
        """How the store learned when the versions of a world are valid, step by step in log order."""
        from worlddb.query.history import lineage

        with self._snapshot() as snapshot:
            return lineage.timeline(snapshot, self._named_node(snapshot, ref))

    def coalesced(self, ref: Any) -> list[records.Held]:
        """The periods in which a world says the same, in order; adjacent spans, also of different versions, are
        merged."""
        from worlddb.query.history import lineage

        with self._snapshot() as snapshot:
            return lineage.coalesced(snapshot, self._named_node(snapshot, ref))

    def changes(self, ref: Any = None, *, world: Any = None, between: valid_period.Span) -> records.Changes:
        """What changed in a span of valid time, and what was learned of that span after its end.

        Of one world, or of all that lies inside ``world``, now or at some time of the span (default: of all that is
        seen). Reads all that lies there.
        "What changed in May, and what did we learn of May since": the latter was ingested when May was over.

        Raises:
            InputError: both were given, or ``between`` is no span.
        """
        from worlddb.query.history import lineage

        span = valid_period.parse_span(between, "between")
        limits.refuse_both(ref=ref, world=world)
        with self._snapshot() as snapshot:
            if ref is None:
                nodes = lineage.worlds_inside_during(snapshot, self._node(snapshot, world), span)
            else:
                nodes = iter([self._named_node(snapshot, ref)])
            return lineage.changes(snapshot, nodes, span)

    def blame(self, ref: Any) -> Blame:
        """The commit that set each field and edge of a world, with author, time and reason.

        Of the version that is valid in the view, else of the newest.

        Raises:
            UnknownReference: the view sees no such world.
        """
        from worlddb.query.history.lineage import blame

        with self._snapshot() as snapshot:
            return blame(snapshot, self._named_node(snapshot, ref), self.moment)

    def log(self, first: int = 1, last: int | None = None, *, ref: Any = None, skip: int = 0) -> Iterator[Entry]:
        """The events of commits ``first`` to ``last`` (default: the view's) as a person reads them.

        With ``ref`` only those that name that world. Of a confined view, those that name nothing from outside. ``skip``
        passes over so many of them.
        """
        limits.checked_number(skip, "skip", 0, MAX_NUMBER)
        limits.checked_number(first, "first", 0, MAX_NUMBER)
        if last is not None:
            limits.checked_number(last, "last", 0, MAX_NUMBER)
        wanted = None
        if ref is not None:
            with self._snapshot() as snapshot:
                wanted = snapshot.ref(self._node(snapshot, ref))
        through = self.seq if last is None else min(last, self.seq)
        return journal(self._window.reader, first, through, wanted, place=self._window.place, skip=skip)

    # -- marks

    def marks(self, ref: Any) -> list[records.Mark]:
        """All marks that were set and removed on a world, oldest first: deadlines, pins, labels, tags, deprecations.

        Raises:
            UnknownReference: the view sees no such world.
        """
        with self._snapshot() as snapshot:
            return build.marks(snapshot, self._named_node(snapshot, ref))

    def retention(self, ref: Any, decay: Decay | None = None) -> Retained | None:
        """How fresh a world is in this view: R, its tier, and when it was used; ``None`` if it does not hold.

        R is computed from the log as the view knows it, at its valid time. See :class:`worlddb.Decay`.

        Raises:
            InputError: ``decay`` is not what it should be.
            UnknownReference: the view sees no such world.
        """
        from worlddb.projections.tables.dream import retention

        wanted = retention.Decay() if decay is None else retention.checked_decay(decay)
        with self._snapshot() as snapshot:
            node = self._named_node(snapshot, ref)
            seen = asof.version_at(snapshot.tables, node, self.moment)
            return None if seen is None else snapshot.retained(node, seen, wanted)

    def pinned(self, world: Any = None) -> list[records.World]:
        """The pinned worlds that are valid in this view, inside ``world`` if one is given, in log order.

        Erased worlds are left out, and those that lie only in a fork.
        """
        with self._snapshot() as snapshot:
            inside = self._node(snapshot, world)
            scope, is_apart = snapshot.scope(inside), world_lookup.fork_filter(snapshot, inside)
            nodes = (node for node in snapshot.pinned() if scope.holds(node) and not is_apart(node))
            found = [build.world(snapshot, node, self.moment, self.spec) for node in nodes]
            return [each for each in found if each is not None and not each.erased]

    def deprecated(self, world: Any = None) -> list[records.World]:
        """The deprecated worlds that are valid in this view, inside ``world`` if given, in log order."""
        return self.revealing(deprecated=True)._marked(world, visible.VisibleSnapshot.deprecated)

    def tagged(self, tag: str, world: Any = None) -> list[records.World]:
        """Each world with a tag, inside ``world`` if given, in the tagged version, in log order.

        Deprecated and hidden worlds are left out. The version may no longer hold: ``closed`` says so.
        """
        with self._snapshot() as snapshot:
            return list(world_lookup.tagged(snapshot, self.spec, tag_digest(tag), self._node(snapshot, world)))

    def tag_history(self, ref: Any, tag: str) -> list[records.Mark]:
        """Every version that had a tag, and when the tag was removed, oldest first.

        Raises:
            UnknownReference: the view sees no such world.
        """
        digest = tag_digest(tag)
        return [mark for mark in self.marks(ref) if mark.tag and tag_digest(mark.tag) == digest]

    def expired(self, world: Any = None) -> list[records.World]:
        """The worlds that are valid in this view but hidden by a deadline, in log order.

        With ``world``, those inside of it.
        """
        return self.revealing()._marked(world, visible.VisibleSnapshot.hidden)

    def _marked(self, world: Any, listed: Callable[[visible.VisibleSnapshot], Iterable[int]]) -> list[records.World]:
        """Those of some worlds that are valid in this view, inside ``world`` if given."""
        with self._snapshot() as snapshot:
            scope = snapshot.scope(self._node(snapshot, world))
            nodes = (node for node in listed(snapshot) if scope.holds(node))
            found = [build.world(snapshot, node, self.moment, self.spec) for node in nodes]
            return [each for each in found if each is not None]

    # -- who is who, and what is believed

    def proposals(
        self, *, status: str | None = "pending", limit: int | None = None, after: Any = None
    ) -> list[records.Proposal]:
        """Proposals in the order in which they were staged; ``status=None`` for all of them.

        At most ``limit`` of them, and those behind the proposal ``after``, the last one of the page before.
        """
        if status is not None and status not in STATUS_NAMES:
            raise errors.InputError(
                f"There is no status {errors.shown(status)}", f"Give one of: {', '.join(STATUS_NAMES)}, or None"
            )
        most = _most(limit)
        with self._snapshot() as snapshot:
            behind = None if after is None else self._find_proposal(snapshot, after)
            known = islice(build.proposals_until(snapshot, self.seq, status, behind), most)
            return [build.proposal(snapshot, found, row, self.seq) for found, row in known]

    def proposal(self, ref: Any) -> records.Proposal:
        """One proposal, whatever was decided about it, by its full reference."""
        with self._snapshot() as snapshot:
            return build.proposal(snapshot, *self._find_proposal(snapshot, ref), self.seq)

    def _find_proposal(self, snapshot: visible.VisibleSnapshot, ref: Any) -> tuple[bytes, ProposalRow]:
        identifier = ids.as_ref(ref)
        row = snapshot.tables.proposal(identifier) if isinstance(identifier, bytes) else None
        if row is None or row.seq > self.seq or not isinstance(identifier, bytes):
            raise errors.UnknownReference(f"There is no proposal {str(ref)[:80]!r}", "List them with proposals()")
        return identifier, row

    def equivalence_class(self, ref: Any) -> list[str]:
        """References of the worlds with the same identity by accepted ``same_as`` edges, this one included.

        So do edges of types that are registered with ``unify_identities``. Follows the ingest axis alone, so that undo
        and as-of are exact (paper §3.1).
        """
        with self._snapshot() as snapshot:
            start = self._named_node(snapshot, ref)
            one = world_lookup.identity_class(snapshot, start, self.seq, self.spec)
            return [snapshot.ref(node) for node in one]

    def export_identity(self, ref: Any) -> records.Identity:
        """All that the view knows of one identity, as one document for an access request."""
        from worlddb.query.history.lineage import identity_document

        with self._snapshot() as snapshot:
            node = self._named_node(snapshot, ref)
            return identity_document(snapshot, self.spec, node, unify=self.unify)

    def belief_base(self, world: Any = None, *, of: Any = None) -> frozenset[atoms.Atom]:
        """All that is believed in this view, inside ``world`` or ``of`` one item if that is given: ``docs/beliefs.md``.

        That is the content of each version that holds at the view's valid time, or that has a tag which bears
        beliefs. Deprecated worlds are included. Reads all worlds in its scope.
        """
        return self._beliefs(world, of, is_shown=False)

    def retrieval_surface(self, world: Any = None, *, of: Any = None) -> frozenset[atoms.Atom]:
        """The part of the belief base that reads show by default: without what is deprecated or hidden."""
        return self._beliefs(world, of, is_shown=True)

    def _beliefs(self, world: Any, of: Any, *, is_shown: bool) -> frozenset[atoms.Atom]:
        from worlddb.query.beliefs.belief_base import Base

        limits.refuse_both(world=world, of=of)
        with self._snapshot() as snapshot:
            if of is not None:
                within = iter([self._named_node(snapshot, of)])
            else:
                within = snapshot.inhabitants(self._node(snapshot, world))
            return Base(self._window, snapshot).believed(within, is_shown=is_shown)

    def belief_settings(self) -> BeliefSettings:
        """What counts as believed, as known to the view: see :meth:`worlddb.Database.set_beliefs`."""
        from worlddb.query.beliefs.belief_base import Base

        with self._snapshot() as snapshot:
            return Base(self._window, snapshot).settings

    def entrenchment(self, beliefs: Any) -> list[Entrenched]:
        """The given beliefs, the least entrenched first, without those that are not believed.

        Each is an atom, or ``(item, predicate, value)``.

        Raises:
            InputError: something is no atom.
            UnknownReference: the view sees no such item.
        """
        from worlddb.query.beliefs.belief_base import Base, contraction_of

        with self._snapshot() as snapshot:
            base = Base(self._window, snapshot)
            return base.entrenched(base.claims(contraction_of(beliefs), lambda ref: self._named_node(snapshot, ref)))

    def contraction(self, beliefs: Any, *, whole: bool = False, each: bool = False) -> Plan:
        """What a contraction by some beliefs would change, as :meth:`worlddb.Database.contract` takes them.

        Nothing is written: give the plan to ``contract`` to execute it.

        Raises:
            InputError: something is no atom.
            UnknownReference: the view sees no such item.
        """
        from worlddb.query.beliefs import receipted_recall
        from worlddb.query.beliefs.belief_base import Base, contraction_of

        given = contraction_of(beliefs, whole=whole, each=each)
        with self._snapshot() as snapshot:
            kept = partial(receipted_recall.kept_hashes, snapshot)
            return Base(self._window, snapshot).plan(given, kept, lambda ref: self._named_node(snapshot, ref))

    def preferences(self, subject: Any, *, relation: str | None = None) -> list[records.Preference]:
        """What somebody prefers, avoids, rejected or optimises for, the most confident first, as valid in this view.

        Confidence grows with each statement and each outcome that speaks for it: see :class:`worlddb.Preference`.

        Raises:
            UnknownReference: the view sees no such world.
            InputError: ``relation`` is no preference.
        """
        from worlddb.query.beliefs import preferences

        wanted = None if relation is None else preferences.checked_relation(relation)
        with self._snapshot() as snapshot:
            node = self._named_node(snapshot, subject)
            one = self._identity(snapshot, node)
            return preferences.preferences(snapshot, self.spec, one, wanted)

    # -- settings and forks

    def bookmarks(self) -> list[records.Bookmark]:
        """The named moments that the view knows, in the order in which they were set.

        They are the whole store's, so a confined view has none.
        """
        with self._snapshot() as snapshot:
            return [] if snapshot.whole is None else known_bookmarks(snapshot.whole, self.seq)

    def edge_types(self, world: Any = None, *, include_ended: bool = False) -> list[records.EdgeType]:
        """The edge types in force: every registration, or with ``world`` those that apply to edges in it.

        The built-in types come first, then the registered ones in log order. In a confined view, what holds there from
        outside is shown as if it were registered for the world that the view is confined to. ``include_ended`` adds
        the registrations that hold no longer; it asks about all worlds, so it goes without ``world``.
        """
        _refuse_both(world, include_ended)
        with self._snapshot() as snapshot:
            node = None if world is None else self._named_node(snapshot, world)
            return edge_types(snapshot, self.spec, node, ended=include_ended)

    @property
    def missing_edge_types(self) -> tuple[str, ...]:
        """Registered edge types whose handler this process lacks: it can read but not write their edges."""
        return self.spec.missing_types

    def tunings(self, world: Any = None, *, include_ended: bool = False) -> list[records.Tuning]:
        """The resolver's thresholds in log order, or with ``world`` those that hold there.

        Where none was set, those hold that the store was opened with. A confined view has what holds in its world from
        outside as if it were set for that world. ``include_ended`` adds what holds no longer; it asks about all worlds,
        so it goes without ``world``.
        """
        _refuse_both(world, include_ended)
        with self._snapshot() as snapshot:
            return tunings(snapshot, None if world is None else self._named_node(snapshot, world), ended=include_ended)

    def profiles(self, world: Any = None) -> list[records.Vocabulary]:
        """The profiles that close the vocabulary of worlds, in log order; with ``world`` those that hold in it.

        A confined view has what holds in its world from outside as if it were set for that world.
        """
        with self._snapshot() as snapshot:
            return store_facts.profiles(snapshot, None if world is None else self._named_node(snapshot, world))

    def guards(self) -> list[records.Guarded]:
        """The settings of worlds for credentials and personal data, in the order in which they were made.

        A confined view lists what is said of worlds inside.
        """
        with self._snapshot() as snapshot:
            return store_facts.guards(snapshot)

    def guards_at(self, world: Any = None) -> records.Guarded:
        """How writes into a world (default: the outermost) handle credentials and personal data."""
        with self._snapshot() as snapshot:
            return store_facts.guards_at(
                snapshot, snapshot.place.top if world is None else self._named_node(snapshot, world)
            )

    def trusts(self) -> list[records.Trusted]:
        """The levels of trust that the view knows, in the order in which they were set.

        A confined view lists only the levels of worlds inside, and none of authors, of sources or of what lies
        outside; those still apply to what it sees.
        """
        with self._snapshot() as snapshot:
            return store_facts.trusts(snapshot)

    def forks(self, world: Any) -> list[Fork]:
        """The forks of a world that this view sees, in the order of their creation; see ``docs/forks.md``.

        Raises:
            UnknownReference: the view sees no such world.
        """
        from worlddb.query.forks import fork_reads

        with self._snapshot() as snapshot:
            return fork_reads.forks_of(snapshot, self._named_node(snapshot, world))

    def forked_from(self, world: Any) -> Fork | None:
        """The origin of a world, if it or a container was forked; ``None`` if the view does not see it.

        Raises:
            UnknownReference: the view sees no such world.
        """
        from worlddb.query.forks import fork_reads

        with self._snapshot() as snapshot:
            return fork_reads.forked_from(snapshot, self._named_node(snapshot, world))

    # -- for the façade and the tools

    def _reference_to_write(self, ref: Any) -> str:
        """As :meth:`reference_of`, for a write: a name never reaches into a user's world.

        Raises:
            UnknownReference: the only world that is called so lies in the world of a user, or in another scope.
        """
        with self._snapshot() as snapshot:
            node = world_lookup.node_to_write(snapshot, self.spec, ref, unify=self.unify)
            return snapshot.ref(node)

    def _user_world_of(self, ref: Any) -> str | None:
        """The user's world, or another scope, in which a world lies; ``None`` if there is none."""
        with self._snapshot() as snapshot:
            holder = world_lookup.user_world_around(snapshot, self._named_node(snapshot, ref))
            return None if holder is None else snapshot.ref(holder)

    def _reference_by_prefix(self, digits: str) -> str:
        """The full reference of the world with a prefix; names do not count."""
        with self._snapshot() as snapshot:
            node = table_reads.find_node(snapshot.tables, digits, self.seq)
            return snapshot.ref(node)

    def _top_level_namesakes(self, name: str, is_meant: Callable[[records.World], bool]) -> list[records.World]:
        """The worlds of a name that no other world inside this view contains, valid ones before all others."""
        with self._snapshot() as snapshot:
            return world_lookup.top_level_namesakes(snapshot, self.spec, name, is_meant)

    def _in_log_order(self, refs: list[str]) -> list[str]:
        """References in the order in which the log first has them."""
        with self._snapshot() as snapshot:
            return sorted(refs, key=lambda ref: self._named_node(snapshot, ref))

    def _keyed_reference(self, key: str) -> str | None:
        """The reference of the world that :meth:`keyed` gives."""
        with self._snapshot() as snapshot:
            node = world_lookup.keyed_node(snapshot, _checked_key(key))
            return None if node is None else snapshot.ref(node)

    def _contradicted_after(self, world: Any, after: str | None) -> Iterator[records.World]:
        """See :func:`adjacency.contradicted_after`."""
        return adjacency.contradicted_after(self._window, world, after)

    def _precedes(self, ref: str, other: str, world: Any) -> bool:
        """See :func:`adjacency.precedes`."""
        return adjacency.precedes(self._window, ref, other, world)

    def _with_forks(self, refs: Iterable[str]) -> list[str]:
        """Some worlds, and their copies in forks, at any distance."""
        from worlddb.query.forks import fork_reads

        with self._snapshot() as snapshot:
            nodes = [self._named_node(snapshot, ref) for ref in refs]
            return [snapshot.ref(node) for node in fork_reads.with_forks(snapshot, nodes)]

    def _saying_the_same(self, text: str, **how: Any) -> SaidElsewhere:
        """See :func:`said_elsewhere.saying_the_same`."""
        from worlddb.query.recall import said_elsewhere

        return said_elsewhere.saying_the_same(self._window, text, **how)

    def _telling_elsewhere(self, refs: Iterable[Any]) -> Iterator[tuple[str, list[str]]]:
        """See :func:`said_elsewhere.telling_elsewhere`."""
        from worlddb.query.recall import said_elsewhere

        return said_elsewhere.telling_elsewhere(self._window, refs)

    def _retired_saying(self, texts: Iterable[str]) -> dict[str, list[str]]:
        """See :func:`said_elsewhere.retired_saying`."""
        from worlddb.query.recall import said_elsewhere

        return said_elsewhere.retired_saying(self._window, texts)

    def _near_of_no_user(self, text: str, **how: Any) -> list[Near]:
        """As :meth:`near`, for a statement in no user's world: it repeats and replaces nothing of a user."""
        from worlddb.query.recall import near_claims

        window = self._window.revealing() if how.pop("include_expired") else self._window
        until = how.pop("until")
        end = None if until is None else times.parse_time(until, "until")
        return near_claims.near(window, text, until=end, **how, nobodys=True)

    # -- what every read uses

    def _snapshot(self) -> AbstractContextManager[visible.VisibleSnapshot]:
        """The transaction of one read; it ends with it."""
        return self._window.snapshot()

    def _revealing_window(self, include_expired: bool, include_deprecated: bool) -> Window:
        """The window of a read that may ask for what a deadline hides, and for what is deprecated."""
        expired = limits.checked_flag(include_expired, "include_expired")
        deprecated = limits.checked_flag(include_deprecated, "include_deprecated")
        if not (expired or deprecated):
            return self._window
        return self._window.revealing(expired=expired, deprecated=deprecated)

    def _node(self, snapshot: visible.VisibleSnapshot, ref: Any) -> int:
        """The node of a reference; by default the outermost world that the view sees."""
        return self._window.place.top if ref is None else self._named_node(snapshot, ref)

    def _identity(self, snapshot: visible.VisibleSnapshot, node: int) -> Sequence[int]:
        """The worlds that the view sees as one with a world, which is the first."""
        return world_lookup.identity_class(snapshot, node, self.seq, self.spec) if self.unify else [node]

    def _named_node(self, snapshot: visible.VisibleSnapshot, ref: Any) -> int:
        """The node of a world that is named by a reference or by its name."""
        return named_node(snapshot, self.spec, ref, unify=self.unify)


def _most(limit: int | None) -> int | None:
    return None if limit is None else limits.checked_number(limit, "limit", 0, MAX_NUMBER)


def _checked_key(key: Any) -> str:
    return limits.checked_text(key, "key", limits.MAX_KEY_BYTES, empty=False)


def _kref_of_version(ref: Any) -> Kref | None:
    """The kref of a version, if a reference is one."""
    given = getattr(ref, "ref", ref)
    if type(given) is not str or "?" not in given or not ids.is_kref(given):
        return None
    from worlddb.log.beliefs import kref

    found = kref.parse_kref(given)
    return None if found.artifact else found


def _filters(**given: Any) -> Filters | None:
    return None if all(each is None for each in given.values()) else Filters.of(**given)


def _answer_request(
    window: Window,
    request: Request,
    receipt: tuple[bool | None, Mapping[str, Any]] | None,
    variants: Mapping[str, Any],
) -> records.Recall:
    """The answer to a caller's request.

    For an exact one with its receipt, ``receipt`` is whether what has ended was asked for, and the filters that hold
    texts, both as they were given. ``variants`` are what :func:`streamed_recall.recall_in_variants` takes, or ``None``.
    """
    asked = {name: value for name, value in variants.items() if value is not None}
    if not asked:
        return _answer_told(window, request, receipt)
    from worlddb.query.streams.streamed_recall import recall_in_variants

    ask = partial(_answer_told, window, receipt=receipt)
    return recall_in_variants(window, request, ask, asked, with_receipt=receipt is not None)


def _answer_told(
    window: Window, request: Request, receipt: tuple[bool | None, Mapping[str, Any]] | None
) -> records.Recall:
    """The answer to a request, which is reported to who counts hits."""
    if request.question.may_ask_for_all:
        # Loaded by who asks for it; a recall from the shell waits for what it loads.
        from worlddb.query.coverage.exchanges import covering_all

        request = covering_all(window, request)
    if receipt is None:
        found = recall_with_future(window, request)
    else:
        from worlddb.query.beliefs import receipted_recall

        if request.decay is not None:
            raise errors.InputError("A receipt cannot cover scores with decay", "Leave decay or the receipt out")
        found = receipted_recall.with_receipt(window, request, *receipt, recall(window, request))
    window.reader.on_hits(found)
    return found


def _refuse_both(world: Any, include_ended: bool) -> None:
    if include_ended and world is not None:
        raise errors.InputError("Both world and include_ended were given", "Leave one of them out")


def _lane_names(lanes: Sequence[str]) -> tuple[str, ...]:
    """The lanes that a recall names, as a tuple."""
    if isinstance(lanes, str) or not isinstance(lanes, Iterable):
        raise errors.InputError(
            f"lanes is {errors.shown(lanes)}, not a list of lanes", f"Name some of: {', '.join(LANES)}, as a list"
        )
    return tuple(limits.checked_list(lanes, "lanes"))
