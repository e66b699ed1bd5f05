"""Call a third-party edge handler; any misbehaviour aborts the commit.

The handler gets a context that ends with the call and offers only what the protocol documents. Every exception but a
refusal becomes one typed error. After a refusal or a failed write the commit is off, even if the handler swallows it.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NoReturn, Protocol

from worlddb.log.model import errors, limits, times
from worlddb.reconciler.commands import commands, validation
from worlddb.reconciler.commands.outcome import NOTES, Refusal
from worlddb.reconciler.edge_types import handler
from worlddb.reconciler.edge_types.registry import describe_failure

_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


class SandboxContext(handler.HandlerContext, Protocol):
    """What the sandbox needs of the reconciler's own context."""

    stopped: Exception | None
    """Why nothing of this commit may be written any more."""

    def has_world(self, node: int) -> bool:
        """True if a node number is one of this transaction."""

    def has_lineage(self, lineage: bytes) -> bool:
        """True if a full reference is that of a world."""

    def has_edge(self, edge: bytes) -> bool:
        """True if an edge has the id."""

    def is_proposal(self, edge: bytes) -> bool:
        """True if the id is that of a proposal, decided or not."""


class SandboxedHandler:
    """A third-party handler behind the sandbox; call it with the reconciler's own context."""

    def __init__(self, third_party: handler.EdgeHandler, name: str, version: int) -> None:
        self.name = name
        self.version = version
        self._handler = third_party

    def default_valid_from(self, ctx: Any, source: int, target: int) -> int:
        found = self._call(ctx, "default_valid_from", source, target)
        if type(found) is not int or not times.ALWAYS <= found < times.FOREVER:
            self._fail("default_valid_from", f"returned {errors.shown(found)}, not a time in microseconds")
        return int(found)

    def on_insert(self, ctx: Any, edge: handler.HandledEdge) -> handler.Insert:
        found: object = self._call(ctx, "on_insert", edge)
        if not isinstance(found, handler.Insert):
            self._fail("on_insert", f"returned {errors.shown(found)}, not Insert.WRITE or Insert.STAGE")
        return found

    def on_delete(self, ctx: Any, edge: handler.HandledEdge) -> None:
        self._call(ctx, "on_delete", edge)

    def on_query_rewrite(self, query: handler.Q) -> handler.Q:
        return query  # Registration recorded its rewrites.

    def _call(self, ctx: SandboxContext, method: str, *arguments: Any) -> Any:
        given = SandboxedContext(ctx, self.name, may_create=method != "default_valid_from")
        try:
            answer = getattr(self._handler, method)(given, *arguments)
        except (Refusal, errors.WorldDBError) as error:
            ctx.stopped = error
            raise
        except Exception as error:
            ctx.stopped = errors.HandlerFailed(*describe_failure(self.name, method, error))
            raise ctx.stopped from error
        except BaseException as error:  # The caller of this handler may swallow it and continue.
            ctx.stopped = ctx.stopped or errors.HandlerFailed(*describe_failure(self.name, method, error))
            raise
        finally:
            given.end_call()
        if ctx.stopped is not None:
            raise ctx.stopped
        if inspect.iscoroutine(answer) or inspect.isgenerator(answer):
            answer.close()
            self._fail(method, f"returned a {type(answer).__name__}, which the engine does not await")
        return answer

    def _fail(self, method: str, problem: str) -> NoReturn:
        raise errors.HandlerFailed(f"The handler of {self.name!r} failed: {method} {problem}", "Correct the handler")


class SandboxedContext:
    """The context that a third-party handler gets.

    It has the documented calls, with their arguments checked.
    """

    __slots__ = ("_ctx", "_ended", "_may_create", "_name")

    def __init__(self, ctx: SandboxContext, name: str, *, may_create: bool) -> None:
        self._ctx = ctx
        self._name = name
        self._may_create = may_create
        self._ended = False

    def end_call(self) -> None:
        """Make the context unusable."""
        self._ended = True

    @property
    def now(self) -> int:
        return self._ctx.now

    @property
    def author(self) -> str:
        return self._ctx.author

    @property
    def root(self) -> int:
        return self._ctx.root

    # -- what a handler may read

    def begins(self, world: int) -> int:
        return self._context_in_use.begins(self._check_world(world))

    def spans(self, world: int) -> list[times.Interval]:
        return list(self._context_in_use.spans(self._check_world(world)))

    def text(self, world: int) -> handler.WorldText | None:
        return self._context_in_use.text(self._check_world(world))

    def shown(self, world: int) -> str:
        return self._context_in_use.shown(self._check_world(world))

    def lineage(self, world: int) -> bytes:
        return self._context_in_use.lineage(self._check_world(world))

    def edges(self, world: int, type_name: str, *, incoming: bool = False) -> list[handler.HandledEdge]:
        # A list, because the handler may write edges of this type while it goes through them.
        return list(self._context_in_use.edges(self._check_world(world), type_name, incoming=incoming))

    def properties(self, edge: handler.HandledEdge) -> dict[str, Any]:
        return self._context_in_use.properties(edge)

    def reaches(self, start: int, goal: int, type_name: str) -> bool:
        return self._context_in_use.reaches(self._check_world(start), self._check_world(goal), type_name)

    def inside(self, world: int, container: int) -> bool:
        return self._context_in_use.inside(self._check_world(world), self._check_world(container))

    def containers(self, world: int) -> list[int]:
        return list(self._context_in_use.containers(self._check_world(world)))

    def home_of(self, world: int) -> int:
        return self._context_in_use.home_of(self._check_world(world))

    def proposal(self, one: int, other: int) -> handler.PairProposal | None:
        return self._context_in_use.proposal(self._check_world(one), self._check_world(other))

    # -- what a handler may do

    def link(
        self,
        source: int,
        type_name: str,
        target: int,
        *,
        home: int | None = None,
        valid_from: int | None = None,
        valid_to: int = times.FOREVER,
        properties: dict[str, Any] | None = None,
        key: str | None = None,
    ) -> handler.Written:
        ends = (
            self._check_world(source),
            limits.checked_text(type_name, "the edge type", limits.MAX_REASON_BYTES),
            self._check_world(target),
        )
        limits.checked_record({} if properties is None else properties, "properties")
        if key is not None:
            limits.checked_text(key, "key", limits.MAX_KEY_BYTES, empty=False)
        where = None if home is None else self._check_world(home)
        written: handler.Written = self._write_or_abort(
            self._context_in_use.link,
            *ends,
            home=where,
            valid_from=None if valid_from is None else self._check_time(valid_from),
            valid_to=self._check_time(valid_to),
            properties=properties,
            key=key,
        )
        return written

    def create(
        self,
        type_name: str,
        name: str,
        *,
        content: str = "",
        aliases: Sequence[str] = (),
        world: int | None = None,
        valid_from: int | None = None,
        valid_to: int = times.FOREVER,
        source: dict[str, Any] | None = None,
        why: str = "",
        derived_from: Iterable[int] | None = None,
    ) -> int:
        if not self._may_create:
            self._fail("created a world in default_valid_from, which may only return a time; create it in on_insert")
        told: Any = tuple(aliases) if isinstance(aliases, list | tuple) else aliases
        given = commands.Create(
            type=type_name, name=name, content=content, aliases=told, source={} if source is None else source, why=why
        )
        validation.check([given])
        made: int = self._write_or_abort(
            self._context_in_use.create,
            type_name,
            name,
            content=content,
            aliases=given.aliases,
            world=None if world is None else self._check_world(world),
            valid_from=None if valid_from is None else self._check_time(valid_from),
            valid_to=self._check_time(valid_to),
            source=given.source,
            why=why,
            derived_from=None if derived_from is None else [self._check_world(each) for each in derived_from],
        )
        return made

    def stage(self, one: int, other: int, *, evidence: dict[str, Any] | None = None) -> handler.Written:
        limits.checked_record({} if evidence is None else evidence, "evidence")
        ends = self._check_world(one), self._check_world(other)
        written: handler.Written = self._write_or_abort(self._context_in_use.stage, *ends, evidence=evidence)
        return written

    def unlink(self, edge: bytes) -> None:
        self._write_or_abort(self._context_in_use.unlink, self._check_edge(edge))

    def close(self, world: int, at: int, *, by: bytes = b"") -> bool:
        return bool(
            self._write_or_abort(
                self._context_in_use.close,
                self._check_closable(world),
                self._check_time(at),
                by=self._check_lineage(by),
            )
        )

    def close_edge(self, edge: bytes, at: int) -> bool:
        return bool(self._write_or_abort(self._context_in_use.close_edge, self._check_edge(edge), self._check_time(at)))

    def end(self, world: int, at: int, *, by: bytes = b"") -> None:
        self._write_or_abort(
            self._context_in_use.end, self._check_closable(world), self._check_time(at), by=self._check_lineage(by)
        )

    def conflict(
        self,
        one: int,
        other: int,
        *,
        home: int | None = None,
        valid_from: int | None = None,
        valid_to: int = times.FOREVER,
    ) -> bytes:
        return self.link(one, "contradicts", other, home=home, valid_from=valid_from, valid_to=valid_to).id

    def note(self, code: str, *refs: bytes) -> None:
        self._check_code(code)
        if code in NOTES:
            self._fail(f"gave a note the code {code}, which the engine reserves")
        for ref in refs:
            self._check_note_reference(ref)
        self._context_in_use.note(code, *refs)

    def refuse(self, code: str, reason: str, remedy: str = "") -> NoReturn:
        self._check_code(code)
        for what, text in (("reason", reason), ("remedy", remedy)):
            limits.checked_text(text, f"the {what} of {self._name}", limits.MAX_REASON_BYTES)
        self._context_in_use.refuse(code, reason, remedy)

    # -- what the arguments must be

    @property
    def _context_in_use(self) -> SandboxContext:
        if self._ended:
            self._fail("used its context after its call had ended")
        return self._ctx

    def _write_or_abort(self, write: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Run a write; a failed one may be half done, so it aborts the whole commit."""
        try:
            return write(*arguments, **options)
        except Exception as error:
            self._ctx.stopped = self._ctx.stopped or error
            raise
        except BaseException as error:
            self._ctx.stopped = self._ctx.stopped or errors.HandlerFailed(
                *describe_failure(self._name, "a write", error)
            )
            raise

    def _check_world(self, world: object) -> int:
        if type(world) is not int or not self._context_in_use.has_world(world):
            self._fail(f"names the world {errors.shown(world)}, which does not exist")
        return world

    def _check_closable(self, world: object) -> int:
        node = self._check_world(world)
        if node == self._ctx.root:
            self._ctx.refuse("root_is_permanent", f"{self._name} would close the root world, which never ends")
        return node

    def _check_edge(self, edge: object) -> bytes:
        if not isinstance(edge, bytes) or not self._context_in_use.has_edge(edge):
            self._fail(f"names the edge {errors.shown(edge)}, which does not exist")
        if self._ctx.is_proposal(edge):
            self._ctx.refuse("is_a_proposal", f"{edge.hex()[:12]} is an accepted proposal", "Undo it")
        return edge

    def _check_lineage(self, lineage: object) -> bytes:
        if not isinstance(lineage, bytes) or (lineage and not self._context_in_use.has_lineage(lineage)):
            self._fail(f"names the world {errors.shown(lineage)}, which does not exist")
        return lineage

    def _check_time(self, time: object) -> int:
        if type(time) is not int or not times.ALWAYS <= time <= times.FOREVER:
            self._fail(f"gave {errors.shown(time)} as a time, not microseconds")
        return time

    def _check_note_reference(self, ref: object) -> None:
        """Check that a note refers to something that exists: the log keeps notes for good, so they may hold no text."""
        live = self._context_in_use
        if not isinstance(ref, bytes) or not (live.has_lineage(ref) or live.has_edge(ref) or live.is_proposal(ref)):
            self._fail(f"gave {errors.shown(ref)} as the subject of a note, not a full reference")

    def _check_code(self, code: object) -> None:
        if not isinstance(code, str) or not _CODE.fullmatch(code):
            self._fail(f"gave {errors.shown(code)} as a code, not lower-case letters, digits and _")

    def _fail(self, problem: str) -> NoReturn:
        raise errors.HandlerFailed(f"The handler of {self._name!r} {problem}", "Correct the handler")
