"""The limits of users' values, and the checks of texts, numbers and records against them.

A value above a limit is a :class:`LimitExceeded` error. A *record* is what a caller attaches to a command as
provenance, properties or evidence. Records are kept as msgpack and given back as they were, so they hold only values
that have one form there and in JSON.
"""

import functools
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from types import CodeType, FunctionType
from typing import Any, Final, ParamSpec, TypeVar

import msgspec

from worlddb.log.model.errors import InputError, InvalidText, LimitExceeded, shown

MAX_TYPE_BYTES: Final = 256
MAX_NAME_BYTES: Final = 16 * 1024
MAX_CONTENT_BYTES: Final = 16 * 1024 * 1024
MAX_REASON_BYTES: Final = 64 * 1024
MAX_RECORD_BYTES: Final = 256 * 1024
"""Properties, provenance or evidence of one command, encoded."""
MAX_RECORD_DEPTH: Final = 32
"""How deep lists and dictionaries may be nested in properties, provenance or evidence."""
MAX_ALIASES: Final = 256
MAX_LABELS: Final = 256
"""How many labels one world may ever have been given."""
MAX_LABEL_BYTES: Final = 256
MAX_TAGS: Final = 256
"""How many tags of different names one world may ever have been given; a name is as long as a label at most."""
MAX_LISTED: Final = 1_024
"""How many values an argument may list for which no other limit is set, such as the keys that signed a head."""
MAX_AUTHOR_BYTES: Final = 256
MAX_KEY_BYTES: Final = 4 * 1024
MAX_BATCH_COMMANDS: Final = 1_000_000
MAX_CHECKPOINT_BYTES: Final = 256 * 1024
"""A checkpoint with all its signatures."""
MAX_PROOF_BYTES: Final = 64 * 1024 * 1024
"""A proof as it is written."""
MAX_DIMENSION: Final = 8192
"""Numbers in one vector of an embedding space."""
HIGHEST_SEQ: Final = 2**63 - 1
"""The last sequence number that a log could have."""
MAX_BUNDLE_BYTES: Final = 1024 * 1024 * 1024
"""All of a bundle, decompressed."""
MAX_BUNDLE_FRAMES: Final = 1_000_000
MAX_FRAME_BYTES: Final = 32 * 1024 * 1024
MAX_BUNDLE_EDGE_TYPES: Final = 1_024
"""How many edge types one bundle may speak of; each gets a code of its own in the tables."""
MAX_EDGE_TYPES: Final = 1_000
"""How many different edge types may ever be registered in one store."""
MAX_VOCABULARY: Final = 1_000
"""How many node types, and how many relations, a profile allows at most."""
MAX_TRUSTED: Final = 1_000
"""How many sources may have a level of trust in one store."""
MAX_QUADS: Final = 1_000
"""How many statements one command holds; a call makes as many commands as it needs."""
MAX_HANDLER_VERSION: Final = 65_535


def checked_number(number: object, what: str, lowest: int, highest: int) -> int:
    """Return the number if it is whole and within its bounds, both inclusive.

    Raises:
        InputError: it is not an ``int``, or lies outside.
    """
    if not isinstance(number, int) or isinstance(number, bool):
        raise InputError(f"{what} is {type(number).__name__}, not a whole number", f"Give {_bounds(lowest, highest)}")
    if not lowest <= number <= highest:
        raise InputError(f"{what} is {shown(number)}", f"Give {_bounds(lowest, highest)}")
    return number


def _bounds(lowest: int, highest: int) -> str:
    """Describe the bounds in words; 64-bit bounds as a number of digits, which people understand better."""
    if highest < HIGHEST_SEQ:
        return f"{lowest:,} to {highest:,}"
    kind = "a whole number" if lowest <= -HIGHEST_SEQ else f"a whole number from {lowest:,} up"
    return f"{kind}, of no more than 18 digits"


def checked_flag(value: object, what: str) -> bool:
    """The boolean itself.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(value, bool):
        raise InputError(f"{what} is {type(value).__name__}, not a boolean", "Give True or False")
    return value


def checked_amount(value: object, what: str) -> float:
    """The number itself if it is finite and not negative.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise InputError(f"{what} is {shown(value)}", "Give a number, 0 or more")
    return value


Value = TypeVar("Value")
Given = ParamSpec("Given")


def checked_callable(value: Value, what: str, method: str = "") -> Value:
    """The value itself if it is ``None`` or callable, or has the method.

    Raises:
        InputError: it is something else.
    """
    if value is None or callable(getattr(value, method, None) if method else value):
        return value
    lacks = f"which has no method {method}()" if method else "which cannot be called"
    remedy = "Give an object with that method" if method else "Give a function"
    raise InputError(f"{what} is {type(value).__name__}, {lacks}", remedy)


def checked_list(values: Iterable[Value], what: str) -> list[Value]:
    """The values as a list; a single text is not accepted as one.

    Raises:
        InputError: it is something else.
        LimitExceeded: there are more than ``MAX_LISTED``.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{what} is {type(values).__name__}, not a list", "Give a list, even of one")
    listed = list(islice(values, MAX_LISTED + 1))
    if len(listed) > MAX_LISTED:
        raise LimitExceeded(f"{what} has more than {MAX_LISTED} values", "Give fewer")
    return listed


def refuse_both(**given: object) -> None:
    """Refuse two arguments of which a call takes one at most; ``None`` is as if it were not given.

    Raises:
        InputError: two were given.
    """
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise InputError(f"Both {named[0]} and {named[1]} were given", "Give one of them")


FILLERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800")
"""Letters and signs that are drawn as nothing: fillers of Hangul, and braille without a dot."""
_UNSEEN: Final = ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs")
_ON_OTHERS: Final = re.compile("[\u034f\u17b4\u17b5\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Marks that say how the character before is drawn, and are drawn as nothing by themselves."""


def is_blank(text: str) -> bool:
    """True if a text is invisible: empty, or only blanks, control characters, joiners and fillers."""
    return all(
        unicodedata.category(each) in _UNSEEN or each in FILLERS or _ON_OTHERS.match(each) is not None for each in text
    )


def _describe_non_character(error: UnicodeEncodeError) -> str:
    """Describe the invalid character of a text; a byte that was not UTF-8 is kept as one of U+DC80 to U+DCFF."""
    code = ord(error.object[error.start])
    found = f"the byte 0x{code - 0xDC00:02x}, which is not UTF-8," if 0xDC80 <= code <= 0xDCFF else "half of a pair,"
    return f"{found} U+{code:04X}, at character {error.start}"


def checked_text(text: object, what: str, max_bytes: int, *, empty: bool = True, nul: bool = True) -> str:
    """The text itself if it can be stored.

    Raises:
        InvalidText: it is not a plain ``str``, has no UTF-8 form (lone surrogates), or is empty, or has a NUL, and may
            not be or have one.
        LimitExceeded: its UTF-8 form is longer than ``max_bytes``.
    """
    # A subclass would be stored as something else, or not at all.
    if type(text) is not str:
        raise InvalidText(f"{what} is {type(text).__name__}, not text", "Give it as str")
    if text.isascii():
        size = len(text)
    else:
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise InvalidText(
                f"{what} is not valid Unicode: {_describe_non_character(error)}",
                "Decode the bytes with errors='replace' or correct them at their source",
            ) from None
    if size > max_bytes:
        raise LimitExceeded(
            f"{what} has {size:,} bytes, above the limit of {max_bytes:,}",
            "Shorten it, or split it over several worlds",
        )
    if not empty and not text.strip():
        raise InvalidText(f"{what} is empty", "Give at least one visible character")
    if not nul and "\0" in text:
        raise InvalidText(f"{what} has a NUL at character {text.index(chr(0))}", "Remove it: no text may contain one")
    return text


def checked_line(text: object, what: str, max_bytes: int, *, empty: bool = True) -> str:
    """The text itself if it can be stored and stands on one line, as a name or a type does.

    Raises:
        InvalidText: as of :func:`checked_text`; it has a line end or another control character.
        LimitExceeded: its UTF-8 form is longer than ``max_bytes``.
    """
    given = checked_text(text, what, max_bytes, empty=empty, nul=False)
    if not given.isprintable():
        for at, sign in enumerate(given, 1):
            if unicodedata.category(sign) in _CONTROLS:
                kind = "a line end" if sign in _LINE_ENDS else f"the control character U+{ord(sign):04X}"
                raise InvalidText(
                    f"{what} is {shown(given)}, with {kind} at character {at}",
                    "Give it on one line; longer text belongs in the content",
                )
    return given


_CONTROLS: Final = ("Cc", "Zl", "Zp")
_LINE_ENDS: Final = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


_MIN_INT: Final = -(2**63)
_MAX_INT: Final = 2**64 - 1
_MAX_OVERHEAD: Final = 16
"""More bytes than msgpack adds to a key and a value, a whole number being all overhead."""
_SHOWN: Final = 80
_REMEDY: Final = "Use text, finite numbers, booleans, None, lists, and dictionaries with text as keys"


def checked_record(record: Any, what: str) -> None:
    """Check that a record can be stored and read back unchanged.

    Raises:
        InputError: something in it is not plain; the message names the place, as in ``properties.pages[3]``.
        LimitExceeded: it is larger than ``MAX_RECORD_BYTES``, or nested deeper than ``MAX_RECORD_DEPTH``.
    """
    if not isinstance(record, dict):
        raise InputError(f"{what} is {type(record).__name__}, not a dictionary", _REMEDY)
    if _is_small_and_flat(record):
        return
    pending: list[tuple[str, Any, int]] = [(what, record, 0)]
    seen = 0
    while pending:
        place, value, depth = pending.pop()
        if isinstance(value, dict | list | tuple):
            seen += len(value)
            # Every value takes a byte at least. A record that holds itself is found by its depth.
            if depth > MAX_RECORD_DEPTH or seen > MAX_RECORD_BYTES:
                raise LimitExceeded(f"{place[:_SHOWN]} is nested too deeply, or holds too much", "Make it smaller")
            pending.extend((where, inner, depth + 1) for where, inner in _list_inner(place, value))
        else:
            _check_value(place, value)
    _check_size(what, record)


def _is_small_and_flat(record: dict[Any, Any]) -> bool:
    """True for a few plain named values, which need no further checks. Nearly all records are like this."""
    size = 0
    for key, value in record.items():
        if type(key) is not str or not key.isascii():
            return False
        size += len(key) + _MAX_OVERHEAD
        kind = type(value)
        if kind is str:
            if not value.isascii():
                return False
            size += len(value)
        elif kind is int:
            if not _MIN_INT <= value <= _MAX_INT:
                return False
        elif kind is not bool and value is not None:
            return False
    return size <= MAX_RECORD_BYTES


def _list_inner(place: str, value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return [(f"{place}[{position}]", inner) for position, inner in enumerate(value)]
    for key in value:
        if not isinstance(key, str):
            raise InputError(f"{place[:_SHOWN]} has the key {shown(key)}, which is not text", _REMEDY)
        checked_text(key, f"a key of {place[:_SHOWN]}", MAX_RECORD_BYTES)
    return [(f"{place}.{key}", inner) for key, inner in value.items()]


def _check_value(place: str, value: Any) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        checked_text(value, place[:_SHOWN], MAX_RECORD_BYTES)
    elif isinstance(value, int):
        if not _MIN_INT <= value <= _MAX_INT:
            raise InputError(f"{place[:_SHOWN]} is a number of more than 64 bits", "Give it as text")
    elif not isinstance(value, float):
        raise InputError(f"{place[:_SHOWN]} is {type(value).__name__}, which cannot be stored", _REMEDY)
    elif not math.isfinite(value):
        raise InputError(f"{place[:_SHOWN]} is {value}", "Leave it out, or give None or text in its place")


def _check_size(what: str, record: dict[str, Any]) -> None:
    try:
        size = len(msgspec.msgpack.encode(record))
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} cannot be stored: {error}", _REMEDY) from None
    if size > MAX_RECORD_BYTES:
        raise LimitExceeded(
            f"{what} has {size:,} bytes, above the limit of {MAX_RECORD_BYTES:,}", "Put long text into content"
        )


_CO_VARARGS: Final = 0x04
_CO_VARKEYWORDS: Final = 0x08
"""Flags of code objects, as ``inspect`` has them: that module takes long to import."""
_MEANT: Final[Mapping[str, Sequence[str]]] = {
    "why": ("reason",),
    "reason": ("why",),
    "valid_from": ("since",),
    "valid_to": ("until",),
    "since": ("valid_from",),
    "until": ("valid_to",),
    **dict.fromkeys(("q", "query", "question"), ("query", "question", "text")),
    "k": ("max_tokens", "limit"),
    **dict.fromkeys(("limit", "top_k", "n", "max_results"), ("k", "max_tokens", "limit")),
    **dict.fromkeys(("content", "message", "messages", "memory", "data"), ("text", "content")),
    "text": ("content",),
}
"""What an argument of other calls, or of other libraries, is called here."""


def argument_names(method: Any) -> tuple[str, ...]:
    """Return the names of a call's arguments; a star is before one that takes many, two before one that takes any."""
    code: CodeType = getattr(method, "__wrapped__", method).__code__
    first, count = int(code.co_varnames[:1] == ("self",)), code.co_argcount + code.co_kwonlyargcount
    rest, stars = iter(code.co_varnames[count:]), (("*", _CO_VARARGS), ("**", _CO_VARKEYWORDS))
    return (*code.co_varnames[first:count], *(f"{star}{next(rest)}" for star, flag in stars if code.co_flags & flag))


def meant_arguments(unknown: str, known: Sequence[str]) -> list[str]:
    """Return which of the known arguments an unknown one may mean, best first: by its meaning, else by its spelling."""
    from difflib import get_close_matches

    return [name for name in _MEANT.get(unknown, ()) if name in known] or get_close_matches(unknown, known, n=1)


_MOMENT: Final = ("valid", "ingested", "known", "seq")


def check_argument_names(call: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Check the names of a call's arguments.

    Raises:
        InputError: one is unknown; the remedy has the nearest of the known ones, or all if none is near.
    """
    unknown = next((name for name in given if name not in known), None)
    if unknown is None:
        return
    near = meant_arguments(unknown, known)
    remedy = f"Did you mean {near[0]}?" if near else f"It takes {', '.join(known) or 'none'}"
    if unknown in _MOMENT and not near:
        remedy += (
            ". Choose a moment before: view(valid=..., ingested=...) of a store, as_of(..., known=...) of a memory"
        )
    if f"*{unknown}" in known:
        remedy = f"Give {unknown} one after the other and without that name"
    raise InputError(f"{call} takes no argument {shown(unknown)}", remedy)


def typed_arguments(call: Callable[Given, Value], *, none_is_absent: bool = False) -> Callable[Given, Value]:
    """Wrap a call so that a wrong list of arguments is an :class:`InputError`, as any other wrong argument is.

    An argument may be unknown, missing, given twice, or one too many without a name. The names are looked at only then.
    With ``none_is_absent``, ``None`` by name counts as left out where the argument has another default, and no use for
    ``None``.
    """

    @functools.wraps(call)
    def checked(*given: Given.args, **named: Given.kwargs) -> Value:
        if none_is_absent and named:
            for name, value in tuple(named.items()):
                if value is None and name in _meaningless_none(call):
                    del named[name]
        try:
            return call(*given, **named)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # It comes from within the call, which has begun.
            told = _explain_arguments(call, given, named)
        raise told

    return checked


@functools.cache
def _meaningless_none(call: Any) -> frozenset[str]:
    """The arguments that may be left out of a call, and do not take ``None``; of any type only those empty by default.

    ``graph=None`` is the default graph, where "any" is all of them.
    """
    by_place = call.__code__.co_varnames[: call.__code__.co_argcount]
    placed = call.__defaults__ or ()
    defaults = dict(zip(by_place[len(by_place) - len(placed) :], placed, strict=True)) | (call.__kwdefaults__ or {})
    takes = {name: str(call.__annotations__.get(name, "Any")) for name in defaults}
    return frozenset(
        name
        for name, value in defaults.items()
        if value is not None and "None" not in takes[name] and (takes[name] != "Any" or value == ())
    )


def typed_calls(kind: type[Value]) -> type[Value]:
    """Wrap the public methods that a class itself has with :func:`typed_arguments`."""
    for name, value in tuple(vars(kind).items()):
        if isinstance(value, FunctionType) and not name.startswith("_"):
            setattr(kind, name, typed_arguments(value, none_is_absent=True))
    return kind


class TypedFields(msgspec.StructMeta):
    """The class of settings, given by name, for which a wrong list of fields is an :class:`InputError`."""

    def __call__(cls, *given: Any, **named: Any) -> Any:
        try:
            return super().__call__(*given, **named)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # It comes from within the checks of the values.
            needed = cls.__struct_fields__[: len(cls.__struct_fields__) - len(cls.__struct_defaults__)]
            told = _explain_fields(cls.__name__, cls.__struct_fields__, needed, (), given, named)
        raise told


def typed_fields(kind: type[Value]) -> type[Value]:
    """Give a named tuple of settings what :class:`TypedFields` gives others."""
    made: Any = kind
    fields, make = tuple(made._fields), made.__new__
    needed = [name for name in fields if name not in made._field_defaults]

    @functools.wraps(make)
    def checked(kind: Any, /, *given: Any, **named: Any) -> Any:
        try:
            return make(kind, *given, **named)
        except TypeError:
            told = _explain_fields(made.__name__, fields, needed, fields, given, named)
        raise told

    made.__new__ = checked
    return kind


def _explain_fields(
    name: str,
    fields: Sequence[str],
    needed: Sequence[str],
    by_place: Sequence[str],
    given: Sequence[object],
    named: Mapping[str, object],
) -> InputError:
    """Return what is wrong with the fields of a value that Python did not make."""
    try:
        check_argument_names(name, named, fields)
    except InputError as error:
        return error
    if len(given) > len(by_place):
        takes = f"only {' and '.join(by_place)}" if by_place else "none"
        values = "1 value" if len(given) == 1 else f"{len(given)} values"
        return InputError(
            f"{name} was given {values} without a name, and takes {takes} so", f"It has {', '.join(fields)}"
        )
    if (twice := next((field for field in by_place[: len(given)] if field in named), None)) is not None:
        return InputError(f"{name} was given {twice} twice", "Give it once, with its name or without")
    missing = [field for field in needed if field not in named and field not in by_place[: len(given)]]
    return InputError(f"{name} needs {' and '.join(missing)}", f"It has {', '.join(fields)}")


def _explain_arguments(call: Any, given: Sequence[object], named: Mapping[str, object]) -> InputError:
    """Return what is wrong with arguments with which Python did not begin a call."""
    known, code = argument_names(call), call.__code__
    try:
        check_argument_names(call.__name__, named, known)
    except InputError as error:
        return error
    own = code.co_varnames[: code.co_argcount]
    by_place = own[1:] if own[:1] == ("self",) else own
    first = given[len(own) - len(by_place) :]
    twice = next((name for name in by_place[: len(first)] if name in named), None)
    if twice is not None:
        return InputError(f"{call.__name__} was given {twice} twice", "Give it once, with its name or without")
    if len(first) > len(by_place):
        takes = f"only {' and '.join(by_place)}" if by_place else "none"
        values = "1 value" if len(first) == 1 else f"{len(first)} values"
        rest = [name for name in known[len(by_place) :] if name[0] != "*"]
        remedy = f"Name the others: {', '.join(rest)}" if rest else "Leave the others out"
        return InputError(f"{call.__name__} was given {values} without a name, and takes {takes} so", remedy)
    needed = by_place[: len(by_place) - len(call.__defaults__ or ())][len(first) :]
    named_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    missing = [name for name in (*needed, *named_only) if name not in named and name not in (call.__kwdefaults__ or {})]
    others = [name for name in known if name not in missing and name[0] != "*"]
    remedy = f"It also takes {', '.join(others)}" if others else "Give it"
    return InputError(f"{call.__name__} needs {' and '.join(missing)}", remedy)
