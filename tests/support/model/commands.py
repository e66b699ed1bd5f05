"""One command for engine and model alike: method, arguments, references as values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Known(NamedTuple):
    """A world, edge or proposal by its model number; ``digits`` of its reference, 0 for all."""

    number: int
    digits: int = 0


class Nth(NamedTuple):
    """The result of an earlier command of the same batch."""

    position: int


class Nobody(NamedTuple):
    """A reference without a world."""

    text: str = "00000000000000000000000000000bad"


Reference = Known | Nth | Nobody


class Command(NamedTuple):
    """A call: ``arguments`` by name; ``aliases`` of alias and unalias are given by position."""

    method: str
    arguments: dict[str, Any]

    def with_references(self, change: Callable[[Any], Any]) -> dict[str, Any]:
        """The arguments with every reference changed."""
        return {name: _changed(value, change) for name, value in self.arguments.items()}

    def call(self, writing: Any, change: Callable[[Any], Any]) -> Any:
        """Ask the engine, or one of its batches."""
        given = self.with_references(change)
        if self.method == "accessed":
            # It waits for others, so it is no part of a batch, and has no key.
            writing.accessed(given["ref"], at=given["at"])
            return writing.write_accesses()
        positional = [given.pop(name) for name in _POSITIONAL[self.method] if name in given]
        if self.method in ("alias", "unalias"):
            positional.extend(given.pop("aliases"))
        if self.method in ("label", "unlabel"):
            positional.extend(given.pop("labels"))
        return getattr(writing, self.method)(*positional, **given)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, Known | Nth | Nobody):
        return change(value)
    if isinstance(value, list) and value and isinstance(value[0], Known | Nth | Nobody):
        return [change(one) for one in value]
    return value


_POSITIONAL = {
    "create": ("type", "name"),
    "revise": ("ref",),
    "retire": ("ref",),
    "reassert": ("ref",),
    "link": ("source", "type", "target"),
    "unlink": ("edge",),
    "move": ("refs", "to"),
    "alias": ("ref",),
    "unalias": ("ref",),
    "restate": ("ref",),
    **dict.fromkeys(("state", "unstate"), ("world", "statements")),
    **dict.fromkeys(("expire", "unexpire", "label", "unlabel", "pin", "unpin", "deprecate", "undeprecate"), ("ref",)),
    **dict.fromkeys(("tag", "untag"), ("ref", "tag")),
    **dict.fromkeys(("refresh", "sweep"), ("refs",)),
    "erase": ("refs",),
    "erase_literal": ("world", "literal"),
    "accept": ("proposal",),
    "reject": ("proposal",),
    "undo": ("proposal",),
    "tune": ("thresholds",),
    "untune": (),
}
