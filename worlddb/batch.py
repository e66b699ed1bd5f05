"""A batch: many commands as one commit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from worlddb.log.model import errors, ids, limits
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.edge_types import registry
from worlddb.writing import Pending, WriteCalls

if TYPE_CHECKING:
    from worlddb.beliefs.items import BatchReader, Decision
    from worlddb.query.view.view import View
    from worlddb.reconciler.transaction import inputs

_pending: Final[Callable[[tuple[int, int]], Pending]] = functools.partial(tuple.__new__, Pending)
"""As `rows.py` makes its rows: a load makes one for each command."""

Execute = Callable[..., outcome.Receipt]


@limits.typed_calls
class Batch(WriteCalls):
    """Collects commands and decides them together, as one commit, when the ``with`` block ends."""

    def __init__(
        self,
        execute: Execute,
        ontology: registry.Ontology,
        idempotency_key: str | None,
        view: Callable[[], View],
        seen: View | None = None,
        look: inputs.Look | None = None,
        *,
        to_draw: Callable[[], Callable[[], bytes]],
    ) -> None:
        """``view`` opens one, ``seen`` is what the caller had looked at, and ``look`` what rests on that.

        A view of a batch that was made under the key already is that of the commit before. ``to_draw`` begins to draw
        the ids of blank nodes.
        """
        self._to_draw = to_draw
        self._drawn: Callable[[], bytes] | None = None
        self._receipt: outcome.Receipt | None = None
        self._view = view
        self._seen = seen
        self._look = look
        self._desk: BatchReader | None = None
        self._commit = execute
        self._ontology = ontology
        self._idempotency_key = idempotency_key
        self._commands: list[cmd.Command] = []
        self._notes: list[outcome.Note] = []
        """What evaluations of updates say beside what is written."""
        self._has_texts = False
        """Whether a reference was given as a text, which may be a name."""
        self._ended = False

    def __enter__(self) -> Batch:
        if self._ended:
            raise errors.InputError("This batch has ended", "Begin another with db.batch()")
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        self._ended = True
        if kind is None:
            self._receipt = self._commit(
                self._commands, self._idempotency_key, look=self._look, has_texts=self._has_texts
            )
            self._receipt.raise_if_refused()
            self._receipt = self._receipt.with_notes(dict.fromkeys(self._notes))

    @property
    def receipt(self) -> outcome.Receipt:
        """The receipt of the batch, once its block has ended."""
        if self._receipt is None:
            raise errors.InputError(
                "The batch has not been committed", "Ask for the receipt after its with block has ended"
            )
        return self._receipt

    def _execute(self, commands: Sequence[cmd.Command], idempotency_key: str | None) -> Pending:
        if self._ended:
            raise errors.InputError("This batch has ended, so the command would not be written", "Begin another")
        if idempotency_key is not None:
            raise errors.InputError("An idempotency key was given inside a batch", "Give it to db.batch()")
        self._commands.extend(commands)
        return _pending((id(self), len(self._commands) - 1))

    def _execute_decision(self, look: Callable[[BatchReader], Decision]) -> Pending:
        from worlddb.beliefs.items import BatchReader
        from worlddb.reconciler.transaction import inputs

        view = self._first_view()
        if self._desk is None:
            self._desk = BatchReader(view, self._commands)
            self._look = self._look or inputs.Look(view.seq, view.valid, only_these=True)
        found = look(self._desk)
        assert self._look is not None, "the desk was made with it"
        made = self._execute(found.commands, None)
        new = (ref for ref in found.rests_on if ref not in self._look.rests_on and not isinstance(ref, int))
        self._look = self._look._replace(rests_on=(*self._look.rests_on, *new))
        return made

    def _first_view(self, *, repeats: bool = False) -> View:
        """The view for all reads of the batch, so that refusals depend on one moment.

        ``repeats``: a retry reads the same moment and makes the same commands.
        """
        if self._idempotency_key is not None and not repeats:
            raise self._refuse_key()
        if self._seen is None:
            self._seen = self._view()
        return self._seen

    @staticmethod
    def _refuse_key() -> errors.InputError:
        return errors.InputError(
            "The batch has an idempotency key, but this looks at the store: a retry could come to other commands",
            "Call it outside of the batch, or leave the key out",
        )

    def sparql_update(
        self,
        update: str,
        *,
        world: Any,
        within: Any = None,
        using_graphs: Sequence[str] | None = None,
        using_named_graphs: Sequence[str] | None = None,
        lanes: Sequence[str] | None = None,
        timeout_seconds: float | None = None,
        max_bytes: int | None = None,
        max_memory_bytes: int | None = None,
        idempotency_key: str | None = None,
    ) -> Pending:
        """Change the statements of a world by an update in SPARQL 1.1, as :meth:`Database.sparql_update` does.

        It is evaluated at once: on what held at the first look of the batch, and on what the batch has stated and taken
        back in this world up to here; of a world that the batch makes, on that alone. Of its other writes it sees
        nothing. The batch is refused as ``changed_meanwhile`` if anybody writes anything before it ends.

        Raises:
            InputError: the batch has an idempotency key, and did not make the world, or what it stated there would be
                taken back; and as outside of a batch.
        """
        from worlddb.query.sparql import sparql_query, sparql_workers
        from worlddb.reconciler.transaction import inputs
        from worlddb.statements import updating

        allowed = sparql_query.checked_limits(timeout_seconds, None, max_bytes, max_memory_bytes)
        dataset = sparql_query.checked_dataset(using_graphs, using_named_graphs, "using_graphs", "using_named_graphs")
        named: Any = {"dataset": dataset, "lanes": sparql_query.checked_lanes(lanes)}
        new, is_keyed = self._ref(world), self._idempotency_key is not None
        seen = self._first_view(repeats=isinstance(new, int))
        view = seen if within is None else seen.confined(within)
        ref = None if isinstance(new, int) else view._reference_to_write(world)
        here = new if ref is None else ref
        before = updating.pending_lines(self._commands, lambda each: self._is_world(each, here), view.valid)
        asked, workers = view._query_source(), sparql_workers.workers()
        change = updating.change_of(asked, workers, update, ref, allowed, before=before, repeatable=is_keyed, **named)
        if is_keyed and change.removed:
            raise self._refuse_key()
        look = self._look or inputs.Look(seen.seq, seen.valid, only_these=True)
        self._look = look._replace(whole=True)
        drawn, at = self._entropy_for(None), world if ref is None else ref
        commands = self._unstate_commands(at, change.removed, view.valid, drawn)
        commands += self._state_commands(at, change.added, None, None, None, drawn)
        self._notes += change.notes
        return self._execute(commands, idempotency_key)

    def _is_world(self, ref: cmd.Ref, world: cmd.Ref) -> bool:
        """Whether a reference of a command stands for a world: one that was there at the first look, or a new one."""
        if isinstance(ref, int) or isinstance(world, int):
            return ref == world
        return self._first_view().reference_of(ref) == world

    def _next_compound(self) -> int:
        return len(self._commands) + 1

    def _execute_marked(
        self, command: cmd.Command, marks: Sequence[Callable[[cmd.Ref], cmd.Command]], idempotency_key: str | None
    ) -> Pending:
        made = self._execute([command], idempotency_key)
        self._commands.extend(mark(made.position) for mark in marks)
        return made

    def _ref(self, ref: Any) -> cmd.Ref:
        if type(ref) is bytes:
            return ref
        if isinstance(ref, Pending):
            if ref.batch != id(self):
                raise errors.InputError(
                    "A pending reference of another batch was used", "Use that batch's receipt.refs"
                )
            return ref.position
        found = ids.as_ref(ref)
        self._has_texts |= type(found) is str
        return found

    def _view_for_key(self, idempotency_key: str | None) -> View:
        return self._view()

    def _entropy_for(self, idempotency_key: str | None) -> Callable[[], bytes]:
        if self._drawn is None:
            self._drawn = self._to_draw()
        return self._drawn
