"""The symptoms of an examination, worded for the person who repairs the store; checks of the installation.

These are of Python, the libraries in versions that fit, the extras. Nothing here needs any of them.
"""

from __future__ import annotations

import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from packaging.requirements import Requirement


class Symptom(NamedTuple):
    """One finding of an examination.

    ``wrong`` if it damages, stops or endangers something, else it is only worth knowing. ``command`` is what mends it,
    as it is typed into a shell; empty if no command does. ``remedy`` says it in words.
    """

    code: str
    wrong: bool
    where: str
    what: str
    why: str
    remedy: str
    command: str = ""


class Diagnosis(NamedTuple):
    """All findings of an examination. ``ok`` if none is an error.

    ``checked`` names the checks that were made, ``skipped`` those that could not be, each with the reason.
    """

    ok: bool
    store: str
    deep: bool
    checked: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    symptoms: tuple[Symptom, ...]


def command_for(folder: Path, words: str) -> str:
    """A command line about a store."""
    return f"worlddb --store {quoted(folder)} {words}"


def quoted(path: Path) -> str:
    """A path, quoted for a shell."""
    return shlex.quote(str(path))


def restore_command(folder: Path) -> str:
    """The command line that restores a backup.

    The new store lies beside one that cannot be trusted any more.
    """
    return f"worlddb restore BACKUP --into {quoted(folder)}.restored"


DISTRIBUTION: Final = "worlddb"
EXTRAS: Final = {
    "mcp": "`worlddb mcp` does not start",
    "embed": "`--embedder minilm`, the stronger offline model, is missing",
    "rerank": "`CrossEncoderReranker`, which reads question and text together, is missing",
    "languages": "`--embedder multilingual`, the model for languages other than English, is missing",
}
"""Extras for users, and what is missing without one."""
LIBRARIES: Final = (
    *("anyascii", "blake3", "cryptography", "faiss", "filelock", "jinja2", "jellyfish", "lmdb", "markdown_it"),
    *("msgspec", "nicknames", "numpy", "packaging", "rapidfuzz", "rich", "safetensors", "shtab", "tantivy"),
    *("tokenizers", "wordllama", "zstandard"),
)
"""The modules of the libraries that are always needed."""
_SECONDS: Final = 120.0
_TRY: Final = """
import importlib, importlib.util, sys
for name in sys.argv[1:]:
    print(name, flush=True)
    try:
        importlib.import_module(name) if name != "wordllama" else importlib.util.find_spec(name).name
    except BaseException as error:
        print("!", name, type(error).__name__, str(error).replace(chr(10), " ")[:300], flush=True)
print("all", flush=True)
"""
"""Only the files of wordllama are read; its code is not run."""


def clone() -> Path | None:
    """The clone that this is part of; ``None`` where it was installed as a package."""
    folder = Path(__file__).resolve().parents[2]
    return folder if (folder / "pyproject.toml").is_file() else None


def requirement_of_itself() -> str:
    """What pip installs WorldDB from."""
    return DISTRIBUTION if (folder := clone()) is None else f"-e {shlex.quote(str(folder))}"


def python(version: tuple[int, ...] = sys.version_info[:3], required: str = "") -> Iterator[Symptom]:
    """Check that this Python is new enough.

    ``required`` is what the installed distribution says, if not asked for here.
    """
    try:
        from packaging.specifiers import SpecifierSet
    except ImportError:
        return  # The check of packages says so.
    wanted = required or _metadata_field("Requires-Python") or ">=3.11"
    shown = ".".join(map(str, version))
    if shown not in SpecifierSet(wanted):
        yield Symptom(
            "old_python",
            True,
            sys.executable or "python",
            f"Python is {shown}, and WorldDB needs {wanted}",
            "Parts of it fail when they are used",
            "Make an environment with a newer Python and install WorldDB there",
            f"python3.12 -m venv .venv && .venv/bin/pip install {requirement_of_itself()}",
        )
    if sys.maxsize < 2**32:
        yield Symptom(
            "narrow_python",
            True,
            platform.platform(),
            "This Python has 32-bit addresses",
            "A store is mapped into memory, and a large one does not fit",
            "Use a 64-bit Python",
        )


def packages(requirements: Iterable[str] | None = None) -> Iterator[Symptom]:
    """Check that every required library is installed in a fitting version.

    Installed libraries of extras are checked too. An extra that is not installed is no finding here, but where a store
    needs it.
    """
    try:
        from packaging.requirements import Requirement
    except ImportError:
        yield _wrong_version("packaging is not installed", "packaging", "packaging")
        return
    try:
        listed = metadata.requires(DISTRIBUTION) or [] if requirements is None else requirements
    except metadata.PackageNotFoundError:
        yield Symptom(
            "not_installed",
            True,
            sys.prefix,
            "WorldDB runs from a folder and is not installed",
            "The library versions that it needs are unknown, so they were not compared",
            "Install it in this environment",
            f"{sys.executable} -m pip install {requirement_of_itself()}",
        )
        return
    unfit: dict[str, list[str]] = {}
    for line in listed:
        needed = Requirement(line)
        extra = "" if needed.marker is None or needed.marker.evaluate({"extra": ""}) else _extra_of(needed)
        what = "" if extra is None else _unmet_requirement(needed)
        if what and not extra:
            yield _wrong_version(what, needed.name, f"{needed.name}{needed.specifier}")
        elif what and extra and _version(needed):
            unfit.setdefault(extra, []).append(what)
    yield from (missing_extra(extra, found, EXTRAS[extra].capitalize()) for extra, found in unfit.items())


def describe_missing(extra: str, requirements: Iterable[str] | None = None) -> list[str]:
    """Describe which libraries of an extra are missing or have a version that does not fit.

    For an extra that is not used, neither is a problem.
    """
    from packaging.requirements import Requirement

    try:
        listed = metadata.requires(DISTRIBUTION) or [] if requirements is None else requirements
    except metadata.PackageNotFoundError:
        return []
    needed = (each for each in map(Requirement, listed) if each.marker is not None and _extra_of(each) == extra)
    return [what for each in needed if (what := _unmet_requirement(each))]


def _extra_of(needed: Requirement) -> str | None:
    """The extra that a library belongs to; ``None`` for extras of developers."""
    return next((name for name in EXTRAS if needed.marker and needed.marker.evaluate({"extra": name})), None)


def _version(needed: Requirement) -> str:
    """The version of a library that is installed; empty if none is."""
    try:
        return metadata.version(needed.name)
    except metadata.PackageNotFoundError:
        return ""


def _unmet_requirement(needed: Requirement) -> str:
    """Describe what is wrong with an installed library; empty if nothing is."""
    found = _version(needed)
    if not found:
        return f"{needed.name} is not installed"
    fits = needed.specifier.contains(found, prereleases=True)
    return "" if fits else f"{needed.name} is {found}, not {needed.specifier}"


def missing_extra(extra: str, unmet: Sequence[str], why: str) -> Symptom:
    """The symptom of a used extra with a missing or unsuitable library."""
    return Symptom(
        "missing_extra",
        False,
        f"the extra {extra!r}",
        "; ".join(unmet),
        why,
        "Install the extra if you want it",
        f"{sys.executable} -m pip install 'worlddb[{extra}]'",
    )


def _wrong_version(what: str, name: str, requirement: str) -> Symptom:
    return Symptom(
        "wrong_package",
        True,
        name,
        what,
        "Features that use it fail, or answer differently than tested",
        "Install the version that WorldDB requires",
        f"{sys.executable} -m pip install '{requirement}'",
    )


def libraries(modules: Iterable[str] = LIBRARIES) -> Iterator[Symptom]:
    """Check that every library can be loaded.

    It is tried in another process, which one that was built for another processor may end.
    """
    if not sys.executable:
        return
    command = [sys.executable, "-c", _TRY, *modules]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        yield _not_tried(str(error))
        return
    lines = done.stdout.splitlines()
    for line in lines:
        if line.startswith("! "):
            _, name, kind, told = line.split(" ", 3)
            yield _cannot_load(name, f"{kind}: {told}")
    if not lines:
        yield _not_tried(f"the process ends with {done.returncode}")
    elif lines[-1] != "all":
        yield _cannot_load(lines[-1], f"the process that loads it ends with {done.returncode}")


def _not_tried(told: str) -> Symptom:
    return Symptom(
        "unloadable_library",
        True,
        sys.executable,
        f"The libraries could not be loaded for a test: {told}",
        "They may work or not",
        "Run it as a user who may run this Python, when it has time to start",
    )


def _cannot_load(name: str, told: str) -> Symptom:
    distribution = {"faiss": "faiss-cpu", "markdown_it": "markdown-it-py"}.get(name, name)
    return Symptom(
        "unloadable_library",
        True,
        name,
        f"{name} cannot be loaded: {told}",
        "Features that use it fail; recall leaves out a lane whose library is missing",
        "Install it again; if that does not help, it was built for another processor or operating system",
        f"{sys.executable} -m pip install --force-reinstall --no-deps {distribution}",
    )


def _metadata_field(name: str) -> str:
    try:
        return str(metadata.metadata(DISTRIBUTION)[name] or "")
    except (metadata.PackageNotFoundError, KeyError):
        return ""


CHECKS: Final = (("python", python), ("packages", packages), ("libraries", libraries))
