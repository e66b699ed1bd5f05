"""Check that the log is what was written.

The checks cover its pages, its chain of commits, and its last time against the clock.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from worlddb.log.model import errors, times
from worlddb.log.model.clock import Clock, now_of
from worlddb.log.store import copies, environment, verify
from worlddb.log.store.log import LmdbLog
from worlddb.projections.runner import Progress
from worlddb.reconciler.diagnostics.symptom import Symptom, on, quoted, restored

FULL_SHARE: Final = 0.8
"""A map that is fuller than this grows soon, which needs a moment without readers."""
_SECOND: Final = 1_000_000
_AHEAD: Final = 60 * _SECOND
"""How far the last commit may be ahead of the clock: two machines' clocks differ by a little."""


def pages(env: environment.Environment) -> Iterator[Symptom]:
    """Can the structure of the data file be followed."""
    yield from _damaged(env.folder, verify.page_findings(env.damaged_pages()))


def chain(env: environment.Environment, progress: Progress | None = None) -> Iterator[Symptom]:
    """Is every commit, event and text what was written."""

    def read(work: Callable[[LmdbLog], object]) -> object:
        with env.read() as txn:
            return work(LmdbLog(txn))

    with env.read() as txn:
        log = LmdbLog(txn)
        last, head, due = log.last_stored(), log.head().seq, log.scrub_due()
        beside = list(copies.remarks_on(env.folder, log))
        gaps = [verify.Finding(0, problem) for problem in copies.problems_of(log)]
    _, findings = verify.verify_log(read, last, progress=progress)
    if head != last:
        told = f"the log says that it ends at {head}, but its last commit is {last}"
        findings.append(verify.Finding(min(head, last) + 1, told))
    if due is not None:
        findings = [finding for finding in findings if "open it to finish" not in finding.problem]
        yield _unfinished(env.folder, due)
    yield from _damaged(env.folder, sorted([*findings, *gaps]))
    for problem in beside:
        yield Symptom(
            "copies_altered",
            False,
            str(env.folder / copies.COPIES_FILE),
            problem,
            "Somebody tidied up, or wanted a copy to be forgotten",
            "Make the next copy, a backup say: that writes the list again",
            on(env.folder, "backup PLACE"),
        )


def _damaged(folder: Path, findings: list[verify.Finding]) -> Iterator[Symptom]:
    """The first of the findings, and how many there are; `worlddb verify` lists all."""
    if not findings:
        return
    first, *others = findings
    more = f" (and {len(others):,} more findings: see `worlddb verify`)" if others else ""
    yield Symptom(
        "damaged",
        True,
        f"{folder}, commit {first.seq}" if first.seq else f"{folder}, outside the commits",
        first.problem + more,
        "The file was changed, and not by the engine. Commits before the first bad one can be trusted",
        "Restore the store from a backup that is older than the damage, and check the disk",
        restored(folder),
    )


def _unfinished(folder: Path, seq: int) -> Symptom:
    return Symptom(
        "erasure_unfinished",
        True,
        f"{folder}, commit {seq}",
        "An erasure was not finished: the bytes that it erased may still lie in the files",
        "Somebody was promised that they are gone",
        "Open the store once, with room on the disk; that finishes it",
        on(folder, "stats"),
    )


def moment(env: environment.Environment, clock: Clock) -> Iterator[Symptom]:
    """Is the clock behind the last commit."""
    try:
        with env.read() as txn:
            log = LmdbLog(txn)
            head = log.head().seq
            last = log.header(head).ingest_time if head else 0
    except errors.WorldDBError:
        return  # What cannot be read is told where the chain is.
    behind = last - now_of(clock)
    if behind > _AHEAD:
        yield Symptom(
            "clock_behind",
            True,
            f"commit {head}",
            f"The last commit is of {times.format_time(last)}, and the clock says {times.format_time(now_of(clock))}",
            "Until the clock is past it, commits are a microsecond apart, and 'now' does not see what is newest",
            "Set the clock if it is wrong; if the commit's was, the times pass by themselves",
            "timedatectl status",
        )


def map_size(env: environment.Environment, reserved: int, used: int) -> Iterator[Symptom]:
    """Does the file have room in the map that was reserved for it."""
    if used > FULL_SHARE * reserved:
        yield Symptom(
            "map_nearly_full",
            False,
            str(env.folder),
            f"{used:,} of {reserved:,} bytes of the memory map are used",
            "It grows by itself, for which every transaction of a process has to end; less was reserved than usual",
            "Lift the limit on the address space, if there is one",
            "ulimit -v unlimited",
        )


def kind(env: environment.Environment) -> Iterator[Symptom]:
    """Is this a store that can be written to."""
    with env.read() as txn:
        copy = LmdbLog(txn).copy_kind()
    if copy:
        yield Symptom(
            "is_copy",
            False,
            str(env.folder),
            f"This is a copy ({copy}): it can be read, and nothing may be written but by copying",
            "A backup that somebody wrote to could not be brought up to date any more",
            "Make a store of it if you want to write",
            f"worlddb restore {quoted(env.folder)} --into {quoted(env.folder)}.restored",
        )
