"""The records of Dream State in the log: reports, their cursors, and the judgement of each memory.

A run has one report, a world in ``Dreams``. During the run, each judged memory is joined to it by an edge that holds
the assessment, so that a killed run asks no question twice, and an erasure of the memory erases its assessment. The
text of the report, and the cursor for the next run, are written last. The text names memories by reference and reasons
by kind, and quotes no memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from worlddb.log.model import events as ev
from worlddb.log.model import hashing, ids
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply import log_marks
from worlddb.projections.tables.consolidation.interior_witness import AUTHOR as CONSOLIDATION
from worlddb.projections.tables.consolidation.interior_witness import DREAM_AUTHOR, DREAM_REPORT
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.background import reclustering
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.dream.assessor import WHYS, Assessment
from worlddb.reconciler.transaction import context

AUTHOR: Final = DREAM_AUTHOR
REPORT: Final = DREAM_REPORT
ASSESSED: Final = "relates_to"
"""The type of the edges from a report to what was judged: one that nothing else follows from."""
_HOME: Final = f"{AUTHOR}/reports"
_BY_ITSELF: Final = frozenset({AUTHOR, CONSOLIDATION, reclustering.AUTHOR})
"""Whose commits are no news to it."""
_RESTING: Final = ("derived_from", "depends_on", "created_from")

Cursor = tuple[int, int]
"""A commit, and the last node of those that it touched that was judged."""


class Report(NamedTuple):
    """A report in the log. ``through`` is the last commit that its run covers."""

    node: int
    ref: bytes
    number: int
    start: Cursor
    through: int
    ratio: str
    cursor: Cursor | None
    """The cursor of a finished run."""


class JudgedMemory(NamedTuple):
    """A judged memory: the version, the assessment, and the last commit that touched it."""

    node: int
    version: int
    said: Assessment
    touched: int


def home_of(ctx: context.Context, log: LmdbLog) -> int | None:
    """The world that contains all reports, if there is one."""
    return ctx.tables.node_of(ids.Lineage(hashing.keyed_lineage(log_marks.secret_of(log), _HOME.encode())))


def last_reports(ctx: context.Context, log: LmdbLog) -> tuple[Report | None, Report | None]:
    """The report of the unfinished run, if there is one, and that of the newest finished run.

    One whose texts were erased is passed over.
    """
    home, is_open = home_of(ctx, log), None
    for node in () if home is None else reversed(ctx.targets(home, schema.CONTAINS)):
        body = ctx.body(node)
        said = {} if body is None else ctx.properties_of(node, ctx.tables.node(node).versions)
        if body is None or body.type != REPORT or "start" not in said:
            continue
        cursor = said.get("cursor")
        start, ended = _cursor(said["start"]), None if cursor is None else _cursor(cursor)
        report = Report(
            node, ctx.lineage(node), int(said["number"]), start, int(said["through"]), str(said["ratio"]), ended
        )
        if ended is not None:
            return is_open, report
        is_open = is_open or report
    return is_open, None


def _cursor(said: Sequence[Any]) -> Cursor:
    return int(said[0]), int(said[1])


def begin_commands(number: int, start: Cursor, through: int, ratio: str, home: bytes | None) -> list[cmd.Command]:
    """The commands that begin a report; the last one creates it.

    The world that contains all reports is deprecated: nobody sums up what they say.
    """
    commands: list[cmd.Command] = []
    if home is None:
        commands.append(
            cmd.Create(type="Dreams", name="Dreams", key=_HOME, resolve=False, why="reports of Dream State")
        )
        commands.append(cmd.Deprecate(ref=0, why="it is not a memory"))
    report = cmd.Create(
        type=REPORT,
        name=f"Dream {number}",
        world=0 if home is None else home,
        key=f"{AUTHOR}/report/{number}",
        properties={"number": number, "start": list(start), "through": through, "ratio": ratio},
        resolve=False,
    )
    return [*commands, report]


def judgement_command(report: cmd.Ref, world: bytes, judged: JudgedMemory) -> cmd.Link:
    """The command that stores the judgement of a memory, in an edge whose home is the report."""
    said = judged.said
    properties: dict[str, Any] = {
        "relevance": said.relevance,
        "deprecate": said.deprecate,
        "version": judged.version,
        "touched": judged.touched,
    }
    more = {
        "reason": said.reason,
        "tags": list(said.tags),
        "metadata": dict(said.metadata),
        "related": [list(each) for each in said.related],
    }
    properties |= {name: value for name, value in more.items() if value}
    return cmd.Link(source_ref=report, type=ASSESSED, target_ref=world, home=report, properties=properties)


def judgements_in(ctx: context.Context, report: int) -> Iterator[JudgedMemory]:
    """The judgements in a report, in log order, without those of erased memories."""
    for edge in ctx.edges(report, ASSESSED):
        properties = ctx.kept_properties(edge)
        if properties is not None and "relevance" in properties:
            related = tuple((str(ref), str(kind)) for ref, kind in properties.get("related", ()))
            metadata: Mapping[str, str] = properties.get("metadata", {})
            assessment = Assessment(
                ctx.lineage(edge.target).hex(),
                float(properties["relevance"]),
                bool(properties["deprecate"]),
                str(properties.get("reason", "")),
                tuple(properties.get("tags", ())),
                metadata,
                related,
            )
            yield JudgedMemory(edge.target, int(properties["version"]), assessment, int(properties["touched"]))


# -- what has happened since


_OF_A_MEMORY: Final = (ev.Created, ev.Revised, ev.Restated, ev.Filled, ev.Tagged, ev.Pinned, ev.Deprecated)
_OF_A_BASIS: Final = (ev.Closed, ev.Lost, ev.Ended, ev.Voided)
_KINDS: Final[frozenset[type[ev.Event]]] = frozenset((*_OF_A_MEMORY, *_OF_A_BASIS, ev.Linked))


def worlds_touched_since(log: LmdbLog, tables: rows.Tables, start: Cursor, through: int) -> tuple[dict[int, int], int]:
    """The worlds that others touched between a cursor and a commit, each with the last commit; and the event count."""
    found: dict[int, int] = {}
    count = 0
    resting = [code for code in map(tables.type_code, _RESTING) if code is not None]
    for seq in range(max(start[0], 1), through + 1):
        if log.header(seq).author in _BY_ITSELF:
            continue
        for event in log.some_events(seq, _KINDS):
            count += seq > start[0]
            for node in _touched_worlds(tables, event, resting):
                if (seq, node) > start:
                    found[node] = seq
    return found, count


def _touched_worlds(tables: rows.Tables, event: ev.AnyEvent, resting: Sequence[int]) -> Iterator[int]:
    ends: tuple[bytes, ...] = ()
    if isinstance(event, ev.Linked):
        ends = () if event.type == schema.CONTAINS else (event.source, event.target)
    elif isinstance(event, _OF_A_MEMORY):
        ends = (event.lineage,)
    elif isinstance(event, _OF_A_BASIS) and (basis := tables.node_of(event.lineage)) is not None:
        for code in resting:
            yield from (place.source for place, _ in tables.incoming(basis, code))
    yield from (node for node in map(tables.node_of, ends) if node is not None)


# -- the text of a report


class ReportContents(NamedTuple):
    """The contents of a report. ``said`` has the assessments by memory, ``done`` references by kind of action."""

    number: int
    seen: int
    assessed: int
    left: int
    protected: int
    ratio: str
    most: int
    said: Mapping[str, Assessment]
    done: Mapping[str, Sequence[str]]
    failed: Sequence[tuple[str, str]]
    cursor: Cursor
    assessor: str
    allow_published: bool


_MAX_LISTED: Final = 200
_TITLES: Final = {
    "deprecated": "Deprecated",
    "held_back": "Held back by the breaker",
    "labelled": "Labels added",
    "updated": "Metadata updated",
    "related": "Relations drawn",
}


def report_markdown(contents: ReportContents) -> str:
    """The text of a report, in Markdown."""
    held = len(contents.done["held_back"])
    breaker = f"tripped: {held} more were recommended" if held else "did not trip"
    lines = [
        f"# Dream {contents.number}",
        "",
        f"**Events:** {contents.seen} | **Assessed:** {contents.assessed} by {contents.assessor}"
        f" | **Left:** {contents.left}",
        f"**Breaker:** at most {contents.most} deprecations, a share of {contents.ratio}; it {breaker}",
        f"**Protected:** {contents.protected} pinned or published memories were left alone",
    ]
    if contents.allow_published:
        lines.append("**Published memories were not protected in this run.**")
    for kind, title in _TITLES.items():
        refs = contents.done[kind]
        if refs:
            lines += ["", f"## {title} ({len(refs)})", ""]
            lines += (f"- `{ref}`{_reason_in_words(kind, contents.said.get(ref))}" for ref in refs[:_MAX_LISTED])
            lines += [f"- and {len(refs) - _MAX_LISTED} more"] if len(refs) > _MAX_LISTED else []
    if contents.failed:
        lines += ["", f"## Failed ({len(contents.failed)})", ""]
        lines += (f"- `{ref}`" if ref else "- the assessor" for ref, _ in contents.failed[:_MAX_LISTED])
    return "\n".join([*lines, "", "## Cursor", "", f"`{contents.cursor[0]}:{contents.cursor[1]}`", ""])


def _reason_in_words(kind: str, said: Assessment | None) -> str:
    """The reason of an action, in words that quote nothing of the memory."""
    if said is None or kind not in ("deprecated", "held_back"):
        return ""
    why = said.reason.partition(":")[0]
    return f", relevance {said.relevance:g}, {why if why in WHYS else 'as the assessor says'}"
