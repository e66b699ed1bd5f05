"""Background jobs of the server: they run in a thread pool, report progress, and keep their results."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Lock
from typing import Any, Final, TypeVar

import msgspec

from worlddb import SystemEntropy, UnavailableError, UnknownReference, WorldDBError, scratch_folder
from worlddb.client.wire_records import Problem

WORKERS: Final = 2
"""Jobs of all clients that run at the same time."""
MAX_JOBS: Final = 20
"""Jobs kept for one client; the oldest ended one is dropped first."""
_ID_BYTES: Final = 8
_MAX_ATTEMPTS: Final = 64
"""How often a job begins again, each time for a new erasure."""

T = TypeVar("T")
Step = Callable[[int, int], None]


class JobStopped(UnavailableError):
    """The server is ending, or the key of the job has ended, so the job does too."""

    code = "stopped"


class Job:
    """One job. It may have a file at ``path``, until an erasure removes that."""

    def __init__(self, kind: str) -> None:
        self.kind, self.id = kind, SystemEntropy().bytes(_ID_BYTES).hex()
        self.path: Path | None = None
        self.status = "running"
        self.done = self.total = 0
        self.result: dict[str, Any] | None = None
        self.problem: Problem | None = None

    @property
    def has_file(self) -> bool:
        """Whether it has ended, and its file is there."""
        return self.status == "done" and self.path is not None and self.path.exists()

    def to_wire(self) -> dict[str, Any]:
        """Return the job as JSON."""
        return {
            "id": self.id,
            "kind": self.kind,
            "status": self.status,
            "progress": {"done": self.done, "total": self.total},
            "result": self.result,
            "problem": None if self.problem is None else msgspec.to_builtins(self.problem),
            "file": f"/v1/jobs/{self.id}/file" if self.has_file else None,
        }


class JobPool:
    """Runs the jobs of all clients, and keeps their files until the server ends.

    The files may have texts of the store, so they lie in its directory: an erasure removes them, and so does the next
    opening of the store after a kill.
    """

    def __init__(self, store: Path, has_ended: Callable[[str], bool]) -> None:
        self._store, self._has_ended = store, has_ended
        self._clients: dict[str, Jobs] = {}
        """The jobs of each key, by its id."""
        self.stopping = Event()
        self._threads = ThreadPoolExecutor(WORKERS, "worlddb-job")
        self._lock, self._folders = Lock(), ExitStack()
        self._folder: Path | None = None

    def of_key(self, key: str) -> "Jobs":
        """Return the jobs of a key, whatever became of its plan, name or connection since they began."""
        with self._lock:
            return self._clients.setdefault(key, Jobs(self, key))

    def require_key(self, key: str) -> None:
        """Require that the key of a job is still there.

        Raises:
            JobStopped: it has ended.
        """
        if self._has_ended(key):
            raise JobStopped("The key of the job has ended", "Begin it with another key")

    def write_file(self, job: Job, write: Callable[[Path], T]) -> T:
        """Call ``write`` with the place of a job's file; again, from its beginning, if an erasure removed it meanwhile.

        Raises:
            JobStopped: the server is ending.
            UnavailableError: the store's directory is not writable, or erasures came in between again and again.
        """
        for _ in range(_MAX_ATTEMPTS):
            if self.stopping.is_set():
                raise JobStopped("The server is shutting down", "Start it again later")
            folder = self._make_folder()
            job.path = folder / job.id
            try:
                return write(job.path)
            except (WorldDBError, OSError):
                if folder.exists():
                    raise
        raise UnavailableError(
            f"{_MAX_ATTEMPTS} erasures removed the file before it was complete",
            "Begin the job again once no erasures are running, or export a smaller world",
        )

    def _make_folder(self) -> Path:
        with self._lock:
            if self._folder is None or not self._folder.exists():
                self._folders.close()
                self._folder = self._folders.enter_context(scratch_folder(self._store, derived=True))
            return self._folder

    def begin(
        self, job: Job, key: str, work: Callable[[Job, Step], dict[str, Any]], explain: Callable[[Any], Problem]
    ) -> None:
        """Run a job in the pool until its key ends; ``explain`` turns an error into problem details."""

        def step(done: int, total: int) -> None:
            job.done, job.total = done, total
            if self.stopping.is_set():
                raise JobStopped("The server is shutting down", "Start it again later")
            self.require_key(key)

        def run() -> None:
            try:
                self._drop_ended_keys()
                step(0, 0)
                job.result = work(job, step)
                job.status = "done"
            except WorldDBError as error:
                job.problem, job.status = explain(error), "failed"
            except BaseException:
                job.status = "failed"
                raise
            finally:
                self._drop_ended_keys()

        self._threads.submit(run)

    def remove_file(self, job: Job) -> None:
        """Remove the file of a job that has ended, if there is one."""
        if job.path is not None:
            job.path.unlink(missing_ok=True)

    def _drop_ended_keys(self) -> None:
        """Drop jobs that nobody can ask about any more, with their files."""
        for key, jobs in list(self._clients.items()):
            if not jobs.are_running and self._has_ended(key):
                self._clients.pop(key, None)
                for job in jobs.all():
                    self.remove_file(job)

    def close(self) -> None:
        """End all jobs, and remove their files."""
        self.stopping.set()
        self._threads.shutdown(cancel_futures=True)
        self._folders.close()


class Jobs:
    """The jobs of one key, newest last."""

    def __init__(self, workshop: JobPool, key: str) -> None:
        self.workshop, self._key = workshop, key
        self._jobs: dict[str, Job] = {}

    def begin(self, kind: str, work: Callable[[Job, Step], dict[str, Any]], explain: Callable[[Any], Problem]) -> Job:
        """Begin a job.

        Raises:
            UnavailableError: too many of the client's are running.
        """
        while len(self._jobs) >= MAX_JOBS:
            ended = next((job for job in self._jobs.values() if job.status != "running"), None)
            if ended is None:
                raise UnavailableError(f"{MAX_JOBS} jobs are running already", "Wait until one of them ends")
            self.workshop.remove_file(ended)
            self._jobs.pop(ended.id, None)
        job = Job(kind)
        self._jobs[job.id] = job
        self.workshop.begin(job, self._key, work, explain)
        return job

    def write_file(self, job: Job, write: Callable[[Path], T]) -> T:
        """Call ``write`` with the place of a job's file, as :meth:`JobPool.write_file` does."""
        return self.workshop.write_file(job, write)

    def require_key(self) -> None:
        """Require that the key is still there; raises as :meth:`JobPool.require_key`."""
        self.workshop.require_key(self._key)

    @property
    def are_running(self) -> bool:
        """Whether one of them has not ended."""
        return any(job.status == "running" for job in list(self._jobs.values()))

    def get(self, job_id: str) -> Job:
        """Return a job.

        Raises:
            UnknownReference: there is none, or it ended long ago.
        """
        found = self._jobs.get(job_id)
        if found is None:
            raise UnknownReference(
                f"There is no job {job_id!r:.40}",
                f"List them with /v1/jobs: a key has its last {MAX_JOBS}, and jobs end with the server",
            )
        return found

    def all(self) -> list[Job]:
        """Return all of them, newest first."""
        return list(reversed(self._jobs.values()))
