"""The commands of a merge's steps, as one batch."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, Final

from worlddb.log.model import bundle, times
from worlddb.log.statements.bundled_statements import Texts, Windows
from worlddb.query.forks.merge_plan import Plan, Side, SpanContent, Step
from worlddb.reconciler.commands import commands as cmd
from worlddb.statements import stating


def commands_of(plan: Plan, ours: Side, fork: bytes, into: bytes, why: str, root: bytes) -> list[cmd.Command]:
    """The commands of a merge; the last one records the merge."""
    return _Batch(ours, why, root).of(plan, fork, into)


class _Batch:
    def __init__(self, ours: Side, why: str, root: bytes) -> None:
        self._ours, self._why, self._root = ours, why, root
        self._commands: list[cmd.Command] = []
        self._made: dict[bytes, int] = {}
        self._lifted: dict[bytes, int] = {}
        self._stated: dict[tuple[bytes, times.Interval], list[Texts]] = {}
        self._unstated: dict[tuple[bytes, int], list[Texts]] = {}

    def of(self, plan: Plan, fork: bytes, into: bytes) -> list[cmd.Command]:
        for step in plan.steps:
            _DO[step.do](self, step)
        self._say_statements()
        copies = tuple(self._made)
        origins = tuple(self._made.values())
        self._commands.append(cmd.Merge(ref=fork, into=into, origins=origins, copies=copies, why=self._why))
        return self._commands

    def _ref(self, world: bytes) -> cmd.Ref:
        return self._made.get(world, world)

    def add(self, command: cmd.Command) -> None:
        self._commands.append(command)

    def create(self, step: Step) -> None:
        said, span = step.values["said"], step.values["span"]
        made = cmd.Create(
            **_text(said),
            aliases=step.values["aliases"],
            world=self._ref(step.values["container"]),
            valid_from=span.start,
            valid_to=_end(span),
            resolve=False,
        )
        self._made[step.world] = len(self._commands)
        self.add(made)

    def lift(self, step: Step) -> None:
        """Take a new world out of its first container, because it lies there at other times; it lies in the root."""
        made = self._made[step.world]
        self._lifted[step.world] = len(self._commands)
        self.add(cmd.Link(source_ref=self._root, type="contains", target_ref=made))
        self.add(cmd.Unlink(edge=made))

    def say(self, step: Step) -> None:
        said, span = step.values["said"], step.values["span"]
        ref, ends = self._ref(step.world), _end(span)
        if step.values["is_empty"]:
            self.add(cmd.Reassert(ref=ref, content=said.content, valid_from=span.start, valid_to=ends))
        text, ours = _text(said), self._ours.worlds.get(step.world)
        here = None if ours is None or step.world in self._made else ours.at(span.start)
        if here is not None:
            # What stays as it is here is not said anew: since when that holds is no more stated by it.
            text |= {name: None for name in ("type", "name", "content") if text[name] == getattr(here, name)}
        self.add(cmd.Revise(ref=ref, **text, valid_from=span.start, valid_to=ends, replace_later=ends is None))

    def end(self, step: Step) -> None:
        span = step.values["span"]
        self.add(cmd.Retire(ref=self._ref(step.world), at=span.start, until=_end(span)))

    def expire(self, step: Step) -> None:
        at = step.values["at"]
        self.add(cmd.Expire(ref=self._ref(step.world), at=None if at == times.FOREVER else at))

    def tag(self, step: Step) -> None:
        """Tag the present version if the tag means it, else the version with the same text, if there is one."""
        said, now = step.values["said"], step.values["now"]
        version = None
        if now is None or now.compared != said.compared:
            version = self._ours.numbered(step.world, said) or None
            if version is None:
                return
        self.add(cmd.Tag(ref=self._ref(step.world), labels=(step.values["tag"],), version=version))

    def state(self, step: Step) -> None:
        """Give a statement other windows: it ends at its first surplus time and is stated from there on."""
        texts, (here, windows) = step.values["texts"], (step.values[name] for name in ("here", "windows"))
        ends = first_lost(here, windows)
        if ends is not None:
            self._unstated.setdefault((step.world, ends), []).append(texts)
        for window in windows:
            self._stated.setdefault((step.world, window), []).append(texts)

    def _say_statements(self) -> None:
        """Write the collected statements, many in one command, retractions first."""
        for (world, at), ending in self._unstated.items():
            self._statements(ending, partial(_unstate, self._ref(world), None if at == times.ALWAYS else at))
        for (world, window), stated in self._stated.items():
            self._statements(stated, partial(_state, self._ref(world), window))

    def _statements(
        self, statements: list[Texts], make: Callable[[tuple[str, ...], tuple[int, ...]], cmd.Command]
    ) -> None:
        given = ((*texts[:3], texts[3] or None) for texts in statements)
        self._commands += stating.commands(make, given, lambda: b"")

    def member(self, step: Step) -> None:
        span = step.values["span"]
        self.add(
            cmd.Link(
                source_ref=self._ref(step.world),
                type="contains",
                target_ref=self._ref(step.values["member"]),
                valid_from=span.start,
                valid_to=_end(span),
            )
        )

    def close(self, step: Step) -> None:
        span = step.values["span"]
        self.add(cmd.Retire(ref=step.values["edge"], at=span.start, until=_end(span)))

    def link(self, step: Step) -> None:
        values = step.values
        edge, at = values["edge"], len(self._commands)
        ends = None if edge.frame.valid_to == times.FOREVER else edge.frame.valid_to
        said: dict[str, Any] = {
            "source_ref": self._ref(values["source"]),
            "type": values["type"],
            "target_ref": self._ref(values["target"]),
            "home": self._ref(values["home"]),
            "properties": edge.properties,
            "valid_from": edge.frame.valid_from,
            "valid_to": ends,
            "why": edge.why,
        }
        versions = values.get("versions")
        self.add(cmd.Link(**said) if versions is None else cmd.LinkVersions(versions=versions, **said))
        held = bundle.validity_of(edge.frame.valid_from, edge.frame.valid_to, edge.frame.spans)
        for before, behind in pairwise(held.pieces):
            self.add(cmd.Retire(ref=at, at=before.end, until=behind.start))


def first_lost(here: Windows, windows: Windows) -> int | None:
    """The first time at which something holds here and must not; ``None`` if there is none."""
    for held in here:
        at = held.start
        for window in windows:
            if window.start <= at < window.end:
                at = window.end
        if at < held.end:
            return at
    return None


def _state(ref: cmd.Ref, window: times.Interval, terms: tuple[str, ...], quads: tuple[int, ...]) -> cmd.Command:
    return cmd.State(ref=ref, aliases=terms, quads=quads, valid_from=window.start, valid_to=_end(window))


def _unstate(ref: cmd.Ref, at: int | None, terms: tuple[str, ...], quads: tuple[int, ...]) -> cmd.Command:
    return cmd.Unstate(ref=ref, aliases=terms, quads=quads, at=at)


def _text(said: SpanContent) -> dict[str, Any]:
    return {
        "type": said.type,
        "name": said.name,
        "content": said.content,
        "properties": said.properties,
        "source": said.source,
    }


def _end(span: times.Interval) -> int | None:
    return None if span.end == times.FOREVER else span.end


def _named(kind: type[Any], field: str) -> Callable[[_Batch, Step], None]:
    return lambda batch, step: batch.add(kind(ref=batch._ref(step.world), **{field: (step.values["name"],)}))


_DO: Final[dict[str, Callable[[_Batch, Step], None]]] = {
    "create": _Batch.create,
    "say": _Batch.say,
    "end": _Batch.end,
    "expire": _Batch.expire,
    "tag": _Batch.tag,
    "untag": lambda batch, step: batch.add(cmd.Untag(ref=batch._ref(step.world), labels=(step.values["tag"],))),
    "state": _Batch.state,
    "unstate": _Batch.state,
    "member": _Batch.member,
    "link": _Batch.link,
    "leave": lambda batch, step: batch.add(cmd.Unlink(edge=step.values["edge"])),
    "unlink": lambda batch, step: batch.add(cmd.Unlink(edge=step.values["edge"])),
    "lift": _Batch.lift,
    "set_down": lambda batch, step: batch.add(cmd.Unlink(edge=batch._lifted[step.world])),
    "close": _Batch.close,
    "alias": _named(cmd.Alias, "aliases"),
    "unalias": _named(cmd.Unalias, "aliases"),
    "label": _named(cmd.Label, "labels"),
    "unlabel": _named(cmd.Unlabel, "labels"),
    "pin": lambda batch, step: batch.add(cmd.Pin(ref=batch._ref(step.world), is_pinned=step.values["is_set"])),
    "deprecate": lambda batch, step: batch.add(
        cmd.Deprecate(ref=batch._ref(step.world), is_deprecated=step.values["is_set"])
    ),
}
