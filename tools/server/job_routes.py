"""Routes of long-running jobs: erasure, bundles and verification, and their progress."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from worlddb import InputError, InvalidBundle, Receipt, UnknownReference
from worlddb.client import wire_records as wire
from worlddb.tools.server import problems, wire_values
from worlddb.tools.server import request_types as types
from worlddb.tools.server.client_store import ClientStore
from worlddb.tools.server.jobs import Job, Step
from worlddb.tools.server.route import BYTES, Reply, Request, Route
from worlddb.tools.server.world_routes import WORLD, precondition

MAX_FINDINGS: Final = 100


def _begin_job(store: ClientStore, kind: str, work: Callable[[Job, Step], dict[str, Any]]) -> Reply:
    def explain(error: Any) -> wire.Problem:
        return problems.problem_of(error, store.session, conditional=False).problem

    job = store.jobs.begin(kind, work, explain)
    return Reply(job.to_wire(), 202, headers={"Location": f"/v1/jobs/{job.id}"})


def erase(store: ClientStore, request: Request) -> Reply:
    """Erase the texts of a world for good; with ``plan`` only show what would be erased."""
    body: types.Erasing = request.body
    view = store.session.view_to_write()
    ref = store.target_ref(view, request.path["world"])
    precondition(store, request, view, ref)
    if not (body.plan or body.reason.strip()):
        raise InputError(
            "The reason is missing",
            'Give the reason of the erasure in reason, or send {"plan": true} to see what it would erase',
        )
    options: Any = {name: getattr(body, name) for name in ("turns", "everywhere", "forbid", "derived", "members")}

    if body.literal is not None and options | {"everywhere": False} != _DEFAULT_OPTIONS:
        raise InputError("literal was given with other options", "Leave out turns, forbid, derived and members")

    def work(job: Job, step: Step) -> dict[str, Any]:
        if body.plan and body.literal is not None:
            return dict(
                msgspec.to_builtins(store.db.literal_erasure_plan(ref, body.literal, everywhere=body.everywhere))
            )
        if body.plan:
            return dict(msgspec.to_builtins(store.db.erasure_plan(ref, **options)))
        key, db = store.key(request.idempotency_key), store.db_of_jobs
        if body.literal is not None:
            receipt = db.erase_literal(
                ref, body.literal, reason=body.reason, everywhere=body.everywhere, idempotency_key=key
            )
        else:
            receipt = db.erase(ref, reason=body.reason, idempotency_key=key, **options)
        receipt.raise_if_refused()
        return {"receipt": store.receipt(receipt), "erasure": _erasure(store, receipt.seq)}

    return _begin_job(store, "erasure_plan" if body.plan else "erasure", work)


_DEFAULT_OPTIONS: Final = {"turns": False, "everywhere": False, "forbid": False, "derived": True, "members": None}


def _erasure(store: ClientStore, seq: int) -> dict[str, Any]:
    found = store.db.erasure_receipt(seq)
    document: dict[str, Any] = msgspec.to_builtins(found)
    return document | {"ingested_at": wire_values.time(found.ingested_at)}


def get_erasure(store: ClientStore, request: Request) -> Reply:
    """The receipt of the erasure in a commit, for ``worlddb check-receipt``."""
    number = request.path["seq"]
    if not (number.isascii() and number.isdigit() and len(number) < 16):
        raise UnknownReference(f"There is no commit {number!r:.40}", "Give its number")
    try:
        return Reply(_erasure(store, int(number)))
    except InputError as error:  # The commit is no erasure.
        raise UnknownReference(error.message, error.remedy, **error.details) from None


def verify(store: ClientStore, request: Request) -> Reply:
    """Verify the store."""
    body: types.Verifying = request.body

    def work(job: Job, step: Step) -> dict[str, Any]:
        found = store.db.verify(deep=body.deep, head=body.head, progress=step)
        document = found._asdict() | {"findings": [each._asdict() for each in found.findings[:MAX_FINDINGS]]}
        return document | {"remarks": list(found.remarks)}

    return _begin_job(store, "verify", work)


def export(store: ClientStore, request: Request) -> Reply:
    """Write a world and everything inside it as a bundle, the file of the job."""
    body: types.Exporting = request.body
    view = store.session.for_user(store.db.view(ingested=body.ingested, seq=body.seq), None)
    ref = None if body.world is None else store.ref(view, body.world)

    def work(job: Job, step: Step) -> dict[str, Any]:
        how: Any = {"seq": view.seq, "proof": body.proof, "progress": step}
        made = store.jobs.write_file(job, lambda path: store.db.export(ref, path, **how))
        return {"bundle": made.hash, "world": made.world, "worlds": made.worlds, "size": made.size}

    return _begin_job(store, "export", work)


def import_bundle(store: ClientStore, request: Request) -> Reply:
    """Import a bundle."""
    query: types.Importing = request.query
    into = None if query.into is None else store.ref(store.session.view_to_write(), query.into)
    if not request.body:
        raise InputError("The body has no bundle", "Send the bytes of a bundle")

    how: Any = {"into": into, "why": query.why, "allow_outside": query.allow_outside, "join": query.join}

    def take(path: Path) -> Receipt:
        path.write_bytes(request.body)
        try:
            return store.db_of_jobs.import_bundle(path, idempotency_key=store.key(request.idempotency_key), **how)
        except InvalidBundle as error:  # The path on the server means nothing to the client.
            said = error.message.replace(repr(str(path)), "The body").replace(str(path), "The body")
            raise InvalidBundle(said, error.remedy, **error.details | {"file": ""}) from None
        finally:
            path.unlink(missing_ok=True)

    def work(job: Job, step: Step) -> dict[str, Any]:
        receipt = store.jobs.write_file(job, take)
        receipt.raise_if_refused()
        return {"receipt": store.receipt(receipt)}

    return _begin_job(store, "import", work)


def list_jobs(store: ClientStore, request: Request) -> Reply:
    """The jobs of a key, newest first."""
    return Reply({"jobs": [job.to_wire() for job in store.jobs.all()]})


def get_job(store: ClientStore, request: Request) -> Reply:
    """The progress and result of a job."""
    return Reply(store.jobs.get(request.path["job"]).to_wire())


def get_file(store: ClientStore, request: Request) -> Reply:
    """The file that a job has left."""
    job = store.jobs.get(request.path["job"])
    with suppress(FileNotFoundError):  # An erasure may remove it now.
        if job.has_file and job.path is not None:
            return Reply(job.path.read_bytes(), media_type=BYTES)
    raise UnknownReference(
        "The job has no file", "Check its status; if it was done, an erasure has removed the file: begin it again"
    )


_JOB_ROUTE: Final[Any] = {"statuses": (202,), "whole": True, "feature": "jobs"}

ROUTES = (
    Route(
        "POST",
        f"{WORLD}/erase",
        "erase",
        erase,
        "Remove the texts of a world for good.",
        wire.Job,
        body=types.Erasing,
        right="admin",
        **_JOB_ROUTE,
    ),
    Route(
        "GET",
        "/v1/erasures/{seq}",
        "get_erasure",
        get_erasure,
        "Read the receipt of an erasure.",
        wire.ErasureReceipt,
        whole=True,
    ),
    Route(
        "POST",
        "/v1/verify",
        "verify",
        verify,
        "Verify the store.",
        wire.Job,
        body=types.Verifying,
        needs_body=False,
        **_JOB_ROUTE,
    ),
    Route(
        "POST",
        "/v1/bundles",
        "export",
        export,
        "Export a world as a bundle.",
        wire.Job,
        body=types.Exporting,
        needs_body=False,
        **_JOB_ROUTE,
    ),
    Route(
        "POST",
        "/v1/bundles/import",
        "import_bundle",
        import_bundle,
        "Import a bundle.",
        wire.Job,
        types.Importing,
        body=bytes,
        right="admin",
        **_JOB_ROUTE,
    ),
    Route("GET", "/v1/jobs", "list_jobs", list_jobs, "List jobs.", wire.Jobs),
    Route("GET", "/v1/jobs/{job}", "get_job", get_job, "Read the progress of a job.", wire.Job),
    Route(
        "GET",
        "/v1/jobs/{job}/file",
        "get_file",
        get_file,
        "Read the file of a finished job.",
        None,
        produces=(BYTES,),
    ),
)
