"""Artifacts: pointers from a version of a world to what is kept elsewhere (Kumiho §6.4.2). Nothing opens them.

They are one property of the version, by name, so that all that carries properties carries them, and an erasure takes
them with the rest.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from worlddb.log.model import errors, limits

PROPERTY: Final = "artifacts"
"""The property of a version that has its artifacts."""
MAX_ARTIFACTS: Final = 256
MAX_LOCATION_BYTES: Final = 4 * 1024
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}( ?;.{1,200})?")
_HASH: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}:[0-9a-f]{8,256}")


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A pointer to something kept elsewhere: its name, and where it is.

    ``media_type`` and ``hash`` (``sha256:`` and hex digits) are empty, and ``size`` in bytes is ``None``, where they
    were not given. All of it is what the caller said: nothing was opened or compared.
    """

    name: str
    location: str
    media_type: str = ""
    size: int | None = None
    hash: str = ""


def checked_artifact(given: Artifact) -> Artifact:
    """An artifact that can be attached, its name in the form in which krefs compare names.

    Raises:
        InputError: something in it is not what it should be; the message names the field.
    """
    if not isinstance(given, Artifact):
        raise errors.InputError(
            f"The artifact is {type(given).__name__}", "Give worlddb.Artifact(name=..., location=...)"
        )
    named = limits.checked_text(given.name, "The artifact's name", limits.MAX_LABEL_BYTES, empty=False, nul=False)
    name = unicodedata.normalize("NFC", named)
    control = next((each for each in name if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp")), None)
    if control is not None or name != name.strip():
        what = "begins or ends with a blank" if control is None else f"has the character {control!r}"
        raise errors.InvalidText(f"The artifact's name {name!r:.80} {what}", "Leave it out")
    limits.checked_text(given.location, f"The location of {name!r:.80}", MAX_LOCATION_BYTES, empty=False)
    if given.size is not None:
        limits.checked_number(given.size, f"The size of {name!r:.80}", 0, limits.HIGHEST_SEQ)
    for what, text, form, example in (
        ("media type", given.media_type, _MEDIA_TYPE, "application/pdf"),
        ("hash", given.hash, _HASH, "sha256: and the digest in lower-case hex digits"),
    ):
        limits.checked_text(text, f"The {what} of {name!r:.80}", limits.MAX_KEY_BYTES)
        if text and form.fullmatch(text) is None:
            raise errors.InputError(f"The {what} of {name!r:.80} is {text!r:.80}", f"Give one such as {example}")
    return msgspec.structs.replace(given, name=name)


def artifacts_in(properties: Mapping[str, Any]) -> dict[str, Artifact]:
    """The artifacts in the properties of a version, by name; none where the property is something of the caller's."""
    try:
        fields = msgspec.convert(properties.get(PROPERTY) or {}, dict[str, dict[str, Any]])
        return {name: msgspec.convert(each | {"name": name}, Artifact) for name, each in sorted(fields.items())}
    except msgspec.ValidationError:
        return {}


def with_artifacts(properties: Mapping[str, Any], artifacts: Iterable[Artifact]) -> dict[str, Any]:
    """Properties with exactly these artifacts, the last one of a name.

    Raises:
        InputError: the property is something of the caller's own.
        LimitExceeded: there are more than ``MAX_ARTIFACTS``.
    """
    if properties.get(PROPERTY) and not artifacts_in(properties):
        raise errors.InputError(
            f"The property {PROPERTY!r} of the world is not a list of artifacts", "Rename that property"
        )
    by_name = {each.name: each for each in map(checked_artifact, artifacts)}
    if len(by_name) > MAX_ARTIFACTS:
        raise errors.LimitExceeded(f"A version would have more than {MAX_ARTIFACTS} artifacts", "Attach fewer")
    told = {name: _fields_of(each) for name, each in sorted(by_name.items())}
    kept = {name: value for name, value in properties.items() if name != PROPERTY}
    # What is empty says so: a revision without it keeps those before.
    return kept | {PROPERTY: told}


def keep_artifacts(given: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a version that a revision gave some: the artifacts from before stay unless it names them."""
    if PROPERTY in given:
        return {name: value for name, value in given.items() if name != PROPERTY or value != {}}
    return {**given, PROPERTY: before[PROPERTY]} if artifacts_in(before) else dict(given)


def _fields_of(artifact: Artifact) -> dict[str, Any]:
    fields = msgspec.structs.asdict(artifact)
    return {name: value for name, value in fields.items() if name != "name" and value not in ("", None)}
