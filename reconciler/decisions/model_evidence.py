"""Ask models about new worlds before the store is locked (paper §3.1: the embedding tier and the tiebreaker).

The text of each new world that all tiers resolve is embedded and compared with the index, and a caller's tiebreaker
chooses between the contenders. The evidence travels with the command. Under the lock it is applied to the state at that
time, and no model is asked again: not by a retry, nor by a redecision, which reads from the log that models were asked
and from the proposals what resulted.
"""

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from worlddb.log.model import errors
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply import log_marks
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.edge_types.registry import Ontology
from worlddb.reconciler.embedding import vectors_of_texts
from worlddb.reconciler.entity_resolution import namesakes, resolver
from worlddb.reconciler.similarity import verdict
from worlddb.reconciler.transaction import context, receipts
from worlddb.reconciler.transaction.draft import Draft, Nonces
from worlddb.reconciler.transaction.interiors import Interiors

AUTHOR: Final = "worlddb.advisers"
"""The author of the draft in which is looked; it is never committed."""


class ResolverModels:
    """The models of a handle that judge new worlds; several threads may use them.

    ``meaning`` gives the index of the space in use, if there are texts in it and a model; ``embed`` a vector of that
    space for each text, as it would be stored.
    """

    def __init__(
        self,
        meaning: Callable[[], vectors_of_texts.NearestTexts | None],
        embed: Callable[[Sequence[str]], Sequence[Any]],
        tiebreaker: verdict.Tiebreaker | None,
    ) -> None:
        self.meaning = meaning
        self.embed = embed
        self.tiebreaker = tiebreaker
        self.interiors = Interiors()
        """The insides of worlds that were looked in, for one thread at a time."""
        self.looking = Lock()


class AdvisedCommands(NamedTuple):
    """Commands with the models' evidence, and the reason if a model failed and texts were not compared."""

    commands: list[cmd.Command]
    failure: str = ""


class Store(NamedTuple):
    """The store to read, with its ontology and thresholds."""

    env: Environment
    ontology: Ontology
    resolving: verdict.StoreThresholds
    nonces: Nonces


class _NewWorld(NamedTuple):
    """A new world to ask about: the position of its command, and the input of the resolver."""

    at: int
    candidate: namesakes.Candidate
    thresholds: verdict.Thresholds
    text: str
    inside: list[int] | None
    """The worlds whose texts are compared with its own; ``None`` for all."""


def add_model_evidence(
    store: Store, advisers: ResolverModels, commands: list[cmd.Command], key: str | None
) -> AdvisedCommands:
    """Ask the models of a handle about the new worlds of a request; it only reads and takes no lock.

    Raises:
        InputError: the tiebreaker chose a world that was no contender.
    """
    with advisers.looking, store.env.read() as txn:
        ctx = _context(store, txn, advisers.interiors)
        digest = receipts.key_digest(ctx.secret, key)
        if digest and ctx.tables.keys.get(digest) is not None:
            return AdvisedCommands(commands)
        asks = advisers.tiebreaker is not None
        newcomers = [each for each in _new_worlds(ctx, store, commands) if asks or not _has_exact_namesake(ctx, each)]
    meaning = advisers.meaning() if any(each.text for each in newcomers) else None
    nearest, failure = _nearest_texts(advisers, meaning, newcomers)
    if meaning is None and not asks:
        return AdvisedCommands(commands, failure)
    told = list(commands)
    with advisers.looking, store.env.read() as txn:
        ctx = _context(store, txn, advisers.interiors)
        compared = [_compare(ctx, each, nearest.get(each.at, ()), every=asks) for each in newcomers]
    for each, comparisons, near in compared:
        evidence = _evidence_for(each, comparisons, near, meaning, advisers.tiebreaker)
        if evidence is not None:
            told[each.at] = replace(told[each.at], judged=True, evidence=evidence)
    return AdvisedCommands(told, failure)


def find_matches(
    ctx: context.Context, command: cmd.Create, setting: resolver.ThresholdSetting
) -> list[namesakes.Match]:
    """The worlds that a new one may be, by all tiers of the resolver and the models' evidence."""
    evidence = command.evidence
    if evidence is None:
        return [_as_match(match, setting) for match in resolver.match_all_tiers(ctx, command, setting.thresholds)]
    if evidence.found is not None:
        nodes = ((ctx.tables.node_of(lineage), why) for lineage, why in evidence.found)
        return [namesakes.Match(node, why) for node, why in nodes if node is not None and not ctx.has_ended(node)]
    near = {}
    for lineage, version, cosine in evidence.near:
        node = ctx.tables.node_of(lineage)
        if node is not None and ctx.tables.node(node).versions == version:
            near[node] = cosine
    choice = _RecordedChoice(evidence, setting.thresholds.margin) if evidence.asked else None
    found = resolver.match_all_tiers(ctx, command, setting.thresholds, near, choice)
    compared = {"space": evidence.space, "model": evidence.model} if near else {}
    return [_as_match(match._replace(evidence=match.evidence | compared), setting) for match in found]


def _as_match(match: namesakes.Match, setting: resolver.ThresholdSetting) -> namesakes.Match:
    return match._replace(evidence=match.evidence | setting.as_evidence())


def _context(store: Store, txn: Any, interiors: Interiors) -> context.Context:
    log, tables = LmdbLog(txn), rows.Tables(txn)
    draft = Draft(log, tables, log.head(), store.nonces, ingest_time=0, wall_time=0, author=AUTHOR)
    ctx = context.Context(draft, store.ontology, log_marks.secret_of(log))
    ctx.interiors = interiors
    return ctx


def _new_worlds(ctx: context.Context, store: Store, commands: list[cmd.Command]) -> Iterator[_NewWorld]:
    """The new worlds of a request whose scope exists already."""
    for at, command in enumerate(commands):
        if type(command) is not cmd.Create or command.resolve != "all":
            continue
        scope = _find_node(ctx, commands, command.world if command.scope is None else command.scope)
        names = (command.name, *command.aliases)
        if scope is None or not vectors_of_texts.has_identifying_name(names) or _find_keyed(ctx, command) is not None:
            continue
        home = _find_node(ctx, commands, command.world)
        setting = resolver.thresholds_for(ctx, store.resolving, command.type, scope if home is None else home)
        candidate = namesakes.Candidate(names, command.type, scope)
        inside = vectors_of_texts.searched_worlds(ctx, scope) if command.content else None
        yield _NewWorld(at, candidate, setting.thresholds, command.content, inside)


def _find_node(ctx: context.Context, commands: list[cmd.Command], ref: cmd.Ref | None) -> int | None:
    """The world that a reference stands for; ``None`` if it is created by this request, or unknown."""
    if ref is None:
        return schema.ROOT_NODE
    if isinstance(ref, int):
        made = commands[ref] if 0 <= ref < len(commands) else None
        return _find_keyed(ctx, made) if isinstance(made, cmd.Create) else None
    try:
        return context.node_ref(ctx, ref)
    except errors.InputError:
        return None


def _find_keyed(ctx: context.Context, command: cmd.Create) -> int | None:
    if command.key is None:
        return None
    try:
        return ctx.keyed_world(command.key, anew=command.anew, revive=command.revive).node
    except errors.InputError:
        # The world that it counts in is yet to be made, or unknown, which the decision says.
        return None


def _has_exact_namesake(ctx: context.Context, new_world: _NewWorld) -> bool:
    """True if the exact tier finds a match, so that no other tier runs."""
    inside = namesakes.SearchScope(new_world.candidate.world)
    return next(namesakes.holders_of(ctx, new_world.candidate, inside), None) is not None


def _nearest_texts(
    advisers: ResolverModels, meaning: vectors_of_texts.NearestTexts | None, newcomers: Sequence[_NewWorld]
) -> tuple[dict[int, Sequence[Any]], str]:
    """The nearest texts to each new world's text, by the position of its command."""
    written = [each for each in newcomers if each.text]
    if meaning is None or not written:
        return {}, ""
    try:
        vectors = advisers.embed([each.text for each in written])
    except (errors.ModelUnavailable, errors.InputError) as error:
        return {}, str(error)
    found = zip(written, vectors, strict=True)
    return {each.at: meaning.find(vector, vectors_of_texts.MAX_NEAR, each.inside) for each, vector in found}, ""


def _compare(
    ctx: context.Context, new_world: _NewWorld, nearest: Sequence[Any], *, every: bool
) -> tuple[_NewWorld, resolver.Comparisons, tuple[tuple[bytes, int, float], ...]]:
    """Compare a new world with its candidates.

    Returns the new world, the comparisons, and (lineage, version, cosine) of the candidates near in meaning.
    """
    near = vectors_of_texts.near_worlds(ctx, nearest, new_world.thresholds.embedding)
    cosines = {node: cosine for node, (_, cosine) in near.items() if not vectors_of_texts.is_tool_made_place(ctx, node)}
    comparisons = resolver.considered(ctx, new_world.candidate, new_world.thresholds, cosines, every=every)
    kept = {each.node for each in comparisons.considered if each.embedding}
    told = tuple((ctx.lineage(node), version, cosine) for node, (version, cosine) in near.items() if node in kept)
    return new_world, comparisons, told


def _evidence_for(
    new_world: _NewWorld,
    comparisons: resolver.Comparisons,
    near: tuple[tuple[bytes, int, float], ...],
    meaning: vectors_of_texts.NearestTexts | None,
    tiebreaker: verdict.Tiebreaker | None,
) -> cmd.ModelEvidence | None:
    """The models' evidence about a new world; ``None`` if there is none."""
    asked: list[bytes] = []
    chosen: list[bytes] = []

    def ask(contenders: Sequence[verdict.Contender]) -> Sequence[verdict.Contender]:
        remaining = tiebreaker(contenders) if tiebreaker is not None and contenders else []
        asked.extend(bytes.fromhex(each.considered.ref) for each in contenders)
        chosen.extend(bytes.fromhex(each.considered.ref) for each in remaining)
        return remaining

    if tiebreaker is not None:
        verdict.judge(comparisons.considered, new_world.thresholds, ask)
    if not near and not asked:
        return None
    space, model = ("", "") if meaning is None or not near else (meaning.name, meaning.model)
    tiebreaker_name = verdict.name_of(tiebreaker) if tiebreaker is not None and asked else ""
    return cmd.ModelEvidence(
        near=near, space=space, model=model, asked=tuple(asked), chosen=tuple(chosen), tiebreaker=tiebreaker_name
    )


class _RecordedChoice:
    """Replays a tiebreaker's answer. If a contender is new since then, the default tiebreaker decides."""

    def __init__(self, evidence: cmd.ModelEvidence, margin: float) -> None:
        self._evidence = evidence
        self._margin = margin
        self.__qualname__ = evidence.tiebreaker

    def __call__(self, contenders: Sequence[verdict.Contender]) -> Sequence[verdict.Contender]:
        refs = {bytes.fromhex(each.considered.ref): each for each in contenders}
        if refs.keys() <= set(self._evidence.asked):
            return [refs[ref] for ref in self._evidence.chosen if ref in refs]
        self.__qualname__ = verdict.ByTier.__qualname__
        return verdict.ByTier(self._margin)(contenders)
