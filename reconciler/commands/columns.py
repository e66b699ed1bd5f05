"""Column tables of worlds and edges as commands, for loads of a million rows.

A table is a dictionary of columns (lists, tuples, NumPy or Arrow arrays), an Arrow table, record batch or stream of
them, or any object with an Arrow interface. Rows count from 0. All worlds are written before all edges, in commits of
a fixed number of commands. An integer reference is a row of the worlds table. A row means the same as a call with its
values, and gives the same events and hashes as a batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, repeat
from typing import Any, Final, NamedTuple, overload

import msgspec

from worlddb.log.model import errors, ids, limits, times
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome

Take = Callable[[Any, str], Any]
"""Makes of a value of a column what a command has; what it raises names the column."""
Execute = Callable[..., outcome.Receipt]

BATCH_COMMANDS: Final = 10_000
"""How many rows go into one commit."""


class _Column(NamedTuple):
    take: Take
    default: Any = None
    needed: bool = False


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise errors.InputError(f"{what} is {type(value).__name__}, not a text", "Give a text")
    return value


def _texts(value: Any, what: str) -> tuple[str, ...]:
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        raise errors.InputError(f"{what} is {type(value).__name__}, not a list of texts", "Give a list")
    return tuple(value)


def _record(value: Any, what: str) -> dict[str, Any]:
    # A column of Arrow's maps has lists of pairs.
    found = dict(value) if isinstance(value, list) and all(isinstance(pair, tuple) for pair in value) else value
    if not isinstance(found, dict):
        raise errors.InputError(f"{what} is {type(value).__name__}, not a dictionary", "Give a dictionary")
    return found


def _ref(value: Any, what: str) -> cmd.Ref:
    return value if type(value) is int else ids.as_ref(value)


def _any_value(value: Any, what: str) -> Any:
    return value


_TIMES: Final = {"valid_from": _Column(times.parse_time), "valid_to": _Column(times.parse_time)}
WORLD_COLUMNS: Final[dict[str, _Column]] = {
    "type": _Column(_text, needed=True),
    "name": _Column(_text, needed=True),
    "content": _Column(_text, ""),
    "aliases": _Column(_texts, ()),
    "world": _Column(_ref),
    "key": _Column(_text),
    **_TIMES,
    "source": _Column(_record, {}),
    "properties": _Column(_record, {}),
    "why": _Column(_text, ""),
    "resolve": _Column(_any_value, "exact"),
}
EDGE_COLUMNS: Final[dict[str, _Column]] = {
    "source": _Column(_ref, needed=True),
    "type": _Column(_text, needed=True),
    "target": _Column(_ref, needed=True),
    "home": _Column(_ref),
    "key": _Column(_text),
    "properties": _Column(_record, {}),
    **_TIMES,
    "why": _Column(_text, ""),
}


class References(Sequence[str]):
    """The references of many rows, in few bytes."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._ids = bytearray()

    def add(self, refs: Sequence[str]) -> None:
        """Append the references of the next rows."""
        self._ids += b"".join(bytes.fromhex(ref).ljust(self._width, b"\0") for ref in refs)

    def id(self, row: int) -> bytes:
        """The reference of a row, in bytes."""
        return bytes(self._ids[row * self._width : (row + 1) * self._width])

    def __len__(self) -> int:
        return len(self._ids) // self._width

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self.id(each).hex() for each in range(*row.indices(len(self)))]
        return self.id(range(len(self))[row]).hex()


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """What a load has written.

    ``worlds`` and ``edges`` are the references of the rows, in their order. ``seq`` is the last of the ``commits``;
    ``events`` is 0 if nothing had to change. ``proposals`` counts what was staged, ``notes`` the notes of the receipts
    by code.
    """

    worlds: References
    edges: References
    commits: int
    events: int
    seq: int
    proposals: int
    notes: dict[str, int]


class _ColumnTable:
    """Columns of one length with known names."""

    def __init__(self, given: Any, what: str, known: Mapping[str, _Column]) -> None:
        self._what = what
        self._known = known
        self._columns = {} if given is None else _columns_of(given, what)
        self.has_texts = False
        """True if a reference is a text, which may be a name."""
        lengths = {name: _length(column, name, what) for name, column in self._columns.items()}
        self.count = next(iter(lengths.values()), 0)
        for name, length in lengths.items():
            if name not in known:
                raise errors.InputError(
                    f"{what} have the unknown column {errors.shown(name)}", f"Use some of: {', '.join(known)}"
                )
            if length != self.count:
                raise errors.InputError(
                    f"The column {name} of {what} has {length:,} rows, and the first one has {self.count:,}",
                    "Give columns of one length, with None where a row has nothing",
                )
        for name, column in known.items():
            if column.needed and self._columns and name not in self._columns:
                raise errors.InputError(f"{what} lack the column {name}", "Add it: every row needs a value")

    def rows(self, first: int, last: int, worlds: int | None) -> Iterator[tuple[Any, ...]]:
        """The values of some rows, in the order of the known columns.

        ``worlds`` is how many rows a reference may be one of, if not only of those before its own.

        Raises:
            InputError: one of them is not what the column has; the row and the column are named.
        """
        taken = (self._column_values(name, column, first, last, worlds) for name, column in self._known.items())
        return islice(zip(*taken, strict=False), max(0, last - first))

    def _column_values(self, name: str, column: _Column, first: int, last: int, worlds: int | None) -> Iterable[Any]:
        if name not in self._columns:
            return repeat(column.default)
        values = []
        for row, given in enumerate(_values(self._columns[name], first, last), first):
            try:
                if given is None and column.needed:
                    raise errors.InputError(f"{name} is missing", "Give a value, or leave the row out")
                value = column.default if given is None else column.take(given, name)
                if column.take is _ref:
                    self.has_texts |= type(value) is str
                    if type(value) is int and not 0 <= value < (row if worlds is None else worlds):
                        raise errors.InputError(
                            f"{name} is {value}, and there is no such row" + (" before it" if worlds is None else ""),
                            "Give the row of a world of this load, a reference or a name",
                        )
            except errors.InputError as error:
                raise self.with_row(error, row) from error
            values.append(value)
        return values

    def with_row(self, error: errors.WorldDBError, row: int) -> errors.WorldDBError:
        """An error of one row, with its place in front."""
        error.message = f"{self._what} row {row:,}: {error.message}"
        error.args = (error.message, error.remedy)
        error.details |= {"table": self._what, "row": row}
        return error


class Load:
    """Tables of worlds and edges to be written.

    Raises:
        InputError: a table or a value in it is wrong; ``details`` has ``table`` and ``row``. Nothing was written.
    """

    def __init__(self, worlds: Any, edges: Any) -> None:
        self._worlds = _ColumnTable(worlds, "worlds", WORLD_COLUMNS)
        self._edges = _ColumnTable(edges, "edges", EDGE_COLUMNS)
        for table, known in ((self._worlds, None), (self._edges, self._worlds.count)):
            for first in range(0, table.count, BATCH_COMMANDS):
                for _ in table.rows(first, min(first + BATCH_COMMANDS, table.count), known):
                    pass

    def write(
        self, execute: Execute, batch: int, idempotency_key: str | None, progress: Callable[[int, int], None] | None
    ) -> Loaded:
        """Write the tables in commits of ``batch`` rows, each by ``execute``.

        Raises:
            InputError, RefusedError: a row cannot be written; ``details`` has ``table`` and ``row``. The commits before
                are there, and nothing of the one that would have it.
        """
        limits.checked_number(batch, "batch", 1, limits.MAX_BATCH_COMMANDS)
        worlds, edges = References(ids.LINEAGE_BYTES), References(ids.HASH_BYTES)
        total, has_texts = self._worlds.count + self._edges.count, self._worlds.has_texts or self._edges.has_texts
        events = proposals = seq = commits = 0
        notes: Counter[str] = Counter()
        for commits, first in enumerate(range(0, total, batch), 1):
            last = min(first + batch, total)
            worlds_in_batch = min(last, self._worlds.count) - first
            key = None if idempotency_key is None else f"{idempotency_key}/{commits}"
            commands = list(self._commands(first, last, worlds))
            try:
                receipt = execute(commands, key, has_texts=has_texts)
                receipt.raise_if_refused()
            except (errors.InputError, errors.RefusedError) as error:
                if "command" not in error.details:
                    raise
                row = first + error.details["command"]
                in_worlds = row < self._worlds.count
                table = self._worlds if in_worlds else self._edges
                raise table.with_row(error, row if in_worlds else row - self._worlds.count) from error
            worlds.add(receipt.refs[: max(0, worlds_in_batch)])
            edges.add(receipt.refs[max(0, worlds_in_batch) :])
            events, proposals, seq = events + receipt.events, proposals + len(receipt.proposals), receipt.seq
            notes.update(note.code for note in receipt.notes)
            if progress is not None:
                progress(last, total)
        return Loaded(
            worlds=worlds,
            edges=edges,
            commits=commits,
            events=events,
            seq=seq,
            proposals=proposals,
            notes=dict(sorted(notes.items())),
        )

    def _commands(self, first: int, last: int, made: References) -> Iterator[cmd.Command]:
        """The commands of some rows of both tables together."""
        count, known = self._worlds.count, len(made)

        def at(ref: cmd.Ref | None) -> Any:
            return ref if type(ref) is not int else made.id(ref) if ref < known else ref - known

        for values in self._worlds.rows(first, min(last, count), None):
            type_, name, content, aliases, world, key, begins, ends, source, properties, why, resolve = values
            yield cmd.Create(
                type=type_,
                name=name,
                content=content,
                aliases=aliases,
                world=at(world),
                key=key,
                valid_from=begins,
                valid_to=ends,
                source=source,
                properties=properties,
                why=why,
                resolve=True if resolve == "exact" else resolve,
            )
        for values in self._edges.rows(max(first - count, 0), last - count, count):
            one, type_, other, home, key, properties, begins, ends, why = values
            yield cmd.Link(
                source_ref=at(one),
                type=type_,
                target_ref=at(other),
                home=at(home),
                key=key,
                properties=properties,
                valid_from=begins,
                valid_to=ends,
                why=why,
            )


def _columns_of(given: Any, what: str) -> dict[str, Any]:
    """The columns of a table in any of its forms, by name."""
    if isinstance(given, Mapping):
        return dict(given)
    batches = isinstance(given, list | tuple) and given and all(hasattr(each, "__arrow_c_array__") for each in given)
    if not batches and not hasattr(given, "__arrow_c_stream__") and not hasattr(given, "__arrow_c_array__"):
        raise errors.InputError(
            f"{what} are {type(given).__name__}, not a table",
            "Give a dictionary of columns, or a table of Arrow, Polars or DuckDB",
        )
    try:
        import pyarrow
    except ImportError as error:
        raise errors.InputError(
            f"{what} are {type(given).__name__}, which needs pyarrow, and that is not installed",
            "pip install 'worlddb[arrow]', or give a dictionary of lists",
        ) from error
    table = pyarrow.Table.from_batches(map(pyarrow.record_batch, given)) if batches else pyarrow.table(given)
    return dict(zip(table.column_names, table.columns, strict=True))


def _length(column: Any, name: str, what: str) -> int:
    if (
        not hasattr(column, "__len__")
        or not hasattr(column, "__getitem__")
        or isinstance(column, str | bytes | Mapping)
    ):
        raise errors.InputError(f"The column {name} of {what} is {type(column).__name__}", "Give a list or an array")
    return len(column)


def _values(column: Any, first: int, last: int) -> Sequence[Any]:
    """Some of a column's values as Python values; ``None`` for missing ones."""
    part = column[first:last]
    if hasattr(part, "to_pylist"):
        kind = str(part.type)
        if kind.startswith("timestamp["):
            part = part.cast(_in_microseconds(kind), safe=False)
        found: list[Any] = part.to_pylist()
        # A struct has all of its fields in every row.
        return [_without_none(each) for each in found] if kind.startswith("struct") else found
    if hasattr(part, "tolist"):
        if getattr(getattr(part, "dtype", None), "kind", "") == "M":
            # Such times have no zone; NaT is the lowest number.
            micros = part.astype("datetime64[us]").astype("int64").tolist()
            return [None if each == _NAT else each for each in micros]
        listed: list[Any] = part.tolist()
        return listed
    return list(part)


def _in_microseconds(kind: str) -> Any:
    import pyarrow

    _, _, zone = kind.removesuffix("]").partition(", tz=")
    return pyarrow.timestamp("us", zone or None)


def _without_none(record: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if record is None else {name: value for name, value in record.items() if value is not None}


_NAT: Final = -(2**63)
