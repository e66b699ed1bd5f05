"""The edge handlers that a process has.

With them is the description by which the log knows their code again.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from worlddb.log.model import errors, events, limits
from worlddb.log.model.hashing import HANDLER, digest
from worlddb.projections.tables.storage.schema import LATER_BUILT_IN, REWRITES
from worlddb.reconciler.edge_types.handler import EdgeHandler

_METHODS: Final = ("default_valid_from", "on_insert", "on_delete", "on_query_rewrite")
_OUR_OWN: Final = ("worlddb.", "builtins", "typing", "abc")
"""Classes of these modules are no part of a digest: a new release would otherwise change all of them."""


class HandlerDescription(NamedTuple):
    """The description of a handler in a registration, by which its code is recognised."""

    type: str
    handler_version: int
    digest: bytes
    digest_of: events.DigestOf
    rewrites: tuple[events.RewriteName, ...]


class Ontology:
    """The handlers that a process has: the built-in ones, and those that it was given."""

    def __init__(self, built_in: Iterable[EdgeHandler], given: object = ()) -> None:
        """``given`` is a list of handlers as a caller gave it.

        Raises:
            InputError, HandlerFailed: it is no list, or as :meth:`add`.
        """
        self.built_in: Final = {handler.name: handler for handler in built_in}
        self._given: dict[tuple[str, int, bytes], EdgeHandler] = {}
        self.codes: Final = self._given.keys()
        """Type, version and digest of every handler that the process was given, up to date at any time."""
        self._instead: dict[str, EdgeHandler] = {}
        for handler in given_handlers(given):
            self.add(handler)

    def deciding_with(self, given: object) -> Ontology:
        """The same ontology with some handlers in place of those registered for their types.

        Raises:
            InputError, HandlerFailed: it is no list, or as :meth:`add`.
        """
        other = Ontology(self.built_in.values())
        other._given.update(self._given)
        for handler in given_handlers(given):
            other._instead[other.add(handler).type] = handler  # type: ignore[assignment]
        return other

    def add(self, handler: object) -> HandlerDescription:
        """Add the code of an edge type; a process may have several versions of one type.

        Raises:
            InputError: it is no handler, or has the name of a built-in type.
            HandlerFailed: its ``on_query_rewrite`` raised something.
        """
        describe_registration = describe(handler)
        if describe_registration.type in self.built_in and describe_registration.type not in LATER_BUILT_IN:
            raise errors.InputError(
                f"{type(handler).__qualname__} has the name of the built-in edge type {describe_registration.type!r}",
                "Choose another name for your type",
            )
        return self.describe_registration(handler)

    def describe_registration(self, edge_type: object) -> HandlerDescription:
        """Describe what to register: a handler, which is added here, or a built-in type by its name.

        Raises:
            InputError, HandlerFailed: as :func:`describe`.
        """
        if isinstance(edge_type, str):
            built_in = self.built_in.get(edge_type)
            return HandlerDescription(edge_type, 1 if built_in is None else built_in.version, b"", "built_in", ())
        describe_registration = describe(edge_type)
        if describe_registration.type not in self.built_in or describe_registration.type in LATER_BUILT_IN:
            self._given[describe_registration[:3]] = edge_type  # type: ignore[assignment]
        return describe_registration

    def find(self, type_name: str, handler_version: int, code: bytes) -> EdgeHandler | None:
        """The handler of exactly this code, unless another one decides in its place."""
        return self._instead.get(type_name) or self._given.get((type_name, handler_version, code))

    def versions(self, type_name: str) -> list[int]:
        """The versions of a type that the process has."""
        return sorted(version for name, version, _ in self._given if name == type_name)


def given_handlers(given: object) -> Iterable[object]:
    """The handlers in a caller's list.

    Raises:
        InputError: it is no list.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise errors.InputError(f"edge_types is {type(given).__name__}", "Give a list: edge_types=[MyType()]")
    return given


def describe(handler: object) -> HandlerDescription:
    """Describe a handler for its registration.

    The digest is of the source of the handler's class and of the classes that it derives from, WorldDB's own left out.
    Where no source is to be had (a class typed into a console), it is of the qualified name and the version.

    Raises:
        InputError: it is no handler.
        HandlerFailed: its ``on_query_rewrite`` raised something.
    """
    if isinstance(handler, type):
        raise errors.InputError(f"{handler.__qualname__} is a class", f"Give an instance: {handler.__qualname__}()")
    kind = type(handler)
    lacking = [name for name in _METHODS if not callable(getattr(handler, name, None))]
    if lacking:
        raise errors.InputError(
            f"{kind.__qualname__} is not an edge handler: it lacks {', '.join(lacking)}",
            "Derive it from worlddb.PlainHandler, or implement the protocol worlddb.EdgeHandler",
        )
    what = f"the {{}} of {kind.__qualname__}"
    name = limits.checked_text(getattr(handler, "name", None), what.format("name"), limits.MAX_TYPE_BYTES, empty=False)
    version = limits.checked_number(
        getattr(handler, "version", None), what.format("version"), 1, limits.MAX_HANDLER_VERSION
    )
    sources = _source_code(kind)
    said = [name, str(version), f"{kind.__module__}.{kind.__qualname__}" if sources is None else "", *(sources or ())]
    code = digest(HANDLER, *(text.encode("utf-8", "surrogatepass") for text in said))
    return HandlerDescription(
        name, version, code, "name" if sources is None else "source", _recorded_rewrites(handler, name)
    )


def _source_code(kind: type) -> list[str] | None:
    """The sources of a class and its bases; ``None`` if one of them is not available."""
    classes = [each for each in kind.__mro__ if not f"{each.__module__}.".startswith(_OUR_OWN)]
    try:
        return [inspect.getsource(each) for each in classes]
    except (OSError, TypeError, SyntaxError):
        return None


class _RewriteRecorder:
    """A query that only records the rewrites requested of it."""

    def __init__(self, own: str) -> None:
        self._own = own
        self.names: list[events.RewriteName] = []

    def hide_closed(self) -> _RewriteRecorder:
        return self._add("hide_closed", self._own)

    def show_conflicts(self, edge_type: str) -> _RewriteRecorder:
        return self._add("show_conflicts", edge_type)

    def widen_types(self, edge_type: str) -> _RewriteRecorder:
        return self._add("widen_types", edge_type)

    def cross_worlds(self, edge_type: str) -> _RewriteRecorder:
        return self._add("cross_worlds", edge_type)

    def unify_identities(self, edge_type: str) -> _RewriteRecorder:
        return self._add("unify_identities", edge_type)

    def _add(self, name: events.RewriteName, edge_type: str) -> _RewriteRecorder:
        if edge_type != self._own:
            raise errors.InputError(
                f"The rewrite {name} names the edge type {errors.shown(edge_type)}", f"Name only {self._own!r}"
            )
        self.names.append(name)
        return self


def _recorded_rewrites(handler: Any, name: str) -> tuple[events.RewriteName, ...]:
    """The rewrites that a handler asks of queries.

    The protocol allows no others, so the log can keep them.
    """
    asked = _RewriteRecorder(name)
    try:
        answer = handler.on_query_rewrite(asked)
    except errors.InputError:
        raise
    except Exception as error:
        raise errors.HandlerFailed(*describe_failure(name, "on_query_rewrite", error)) from error
    if answer is not asked:
        raise errors.HandlerFailed(
            f"The handler of {name!r} failed: on_query_rewrite returned {type(answer).__name__}",
            "Return the given query, or what its methods return",
        )
    return tuple(known for known in REWRITES if known in asked.names)


def describe_failure(name: str, method: str, error: BaseException) -> tuple[str, str]:
    """The message about a handler that raised, and its remedy."""
    try:
        said = str(error)
    except Exception:  # Of a class of the handler's own.
        said = ""
    told = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return f"The handler of {name!r} failed in {method}: {told:.400}", "Nothing was written. Correct the handler"
