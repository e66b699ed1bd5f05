"""Routes of work that takes time: erasures, bundles, verification; and of its progress."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from worlddb import InputError, InvalidBundle, UnknownReference
from worlddb.client import wire_records as wire
from worlddb.tools.server import problems, wire_values
from worlddb.tools.server import request_types as types
from worlddb.tools.server.client_desk import Desk
from worlddb.tools.server.jobs import Job, Step
from worlddb.tools.server.route import BYTES, Asked, Reply, Route
from worlddb.tools.server.world_routes import WORLD, precondition

MAX_FINDINGS: Final = 100


def _begun(desk: Desk, kind: str, work: Callable[[Job, Step], dict[str, Any]]) -> Reply:
    def explain(error: Any) -> wire.Problem:
        return problems.of_error(error, desk.session, conditional=False).problem

    job = desk.jobs.begin(kind, work, explain)
    return Reply(job.told(), 202, headers={"Location": f"/v1/jobs/{job.id}"})


def erase(desk: Desk, asked: Asked) -> Reply:
    """Remove the texts of a world for good, or (``plan``) say what that would reach."""
    body: types.Erasing = asked.body
    view = desk.session.view()
    ref = desk.place(view, asked.path["world"])
    precondition(desk, asked, view, ref)
    if not (body.plan or body.reason.strip()):
        raise InputError(
            "No reason was given", 'Say in reason why it is erased, or send {"plan": true} to see what goes'
        )
    how: Any = {name: getattr(body, name) for name in ("turns", "everywhere", "forbid", "derived", "members")}

    if body.literal is not None and how | {"everywhere": False} != _NOTHING_MORE:
        raise InputError("A literal is erased alone", "Leave out turns, forbid, derived and members")

    def work(job: Job, step: Step) -> dict[str, Any]:
        if body.plan and body.literal is not None:
            return dict(
                msgspec.to_builtins(desk.db.literal_erasure_plan(ref, body.literal, everywhere=body.everywhere))
            )
        if body.plan:
            return dict(msgspec.to_builtins(desk.db.erasure_plan(ref, **how)))
        key = desk.key(asked.idempotency_key)
        if body.literal is not None:
            receipt = desk.db.erase_literal(
                ref, body.literal, reason=body.reason, everywhere=body.everywhere, idempotency_key=key
            )
        else:
            receipt = desk.db.erase(ref, reason=body.reason, idempotency_key=key, **how)
        receipt.raise_if_refused()
        return {"receipt": desk.receipt(receipt), "erasure": _erasure(desk, receipt.seq)}

    return _begun(desk, "erasure_plan" if body.plan else "erasure", work)


_NOTHING_MORE: Final = {"turns": False, "everywhere": False, "forbid": False, "derived": True, "members": None}


def _erasure(desk: Desk, seq: int) -> dict[str, Any]:
    found = desk.db.erasure_receipt(seq)
    told: dict[str, Any] = msgspec.to_builtins(found)
    return told | {"ingested_at": wire_values.time(found.ingested_at)}


def get_erasure(desk: Desk, asked: Asked) -> Reply:
    """The receipt of the erasure in a commit, for ``worlddb check-receipt``."""
    number = asked.path["seq"]
    if not (number.isascii() and number.isdigit() and len(number) < 16):
        raise UnknownReference(f"There is no commit {number!r:.40}", "Give its number")
    try:
        return Reply(_erasure(desk, int(number)))
    except InputError as error:  # There is no such thing at this path.
        raise UnknownReference(error.message, error.remedy, **error.details) from None


def verify(desk: Desk, asked: Asked) -> Reply:
    """Check that the store is what was written."""
    body: types.Verifying = asked.body

    def work(job: Job, step: Step) -> dict[str, Any]:
        found = desk.db.verify(deep=body.deep, head=body.head, progress=step)
        told = found._asdict() | {"findings": [each._asdict() for each in found.findings[:MAX_FINDINGS]]}
        return told | {"remarks": list(found.remarks)}

    return _begun(desk, "verify", work)


def export(desk: Desk, asked: Asked) -> Reply:
    """Write a world and all inside it as a bundle, which the job then has as its file."""
    body: types.Exporting = asked.body
    view = desk.db.view(ingested=body.ingested, seq=body.seq)
    ref = None if body.world is None else desk.ref(view, body.world)

    def work(job: Job, step: Step) -> dict[str, Any]:
        made = desk.db.export(ref, job.path, seq=view.seq, proof=body.proof, progress=step)
        return {"bundle": made.hash, "world": made.world, "worlds": made.worlds, "size": made.size}

    return _begun(desk, "export", work)


def import_bundle(desk: Desk, asked: Asked) -> Reply:
    """Take in a bundle."""
    query: types.Importing = asked.query
    into = None if query.into is None else desk.ref(desk.session.view(), query.into)
    if not asked.body:
        raise InputError("There is no bundle in the body", "Send the bytes of one")

    def work(job: Job, step: Step) -> dict[str, Any]:
        job.path.write_bytes(asked.body)
        try:
            key = desk.key(asked.idempotency_key)
            how: Any = {"into": into, "why": query.why, "allow_outside": query.allow_outside, "join": query.join}
            receipt = desk.db.import_bundle(job.path, idempotency_key=key, **how)
        except InvalidBundle as error:  # Where the server keeps it says nothing to who sent it.
            said = error.message.replace(repr(str(job.path)), "The body").replace(str(job.path), "The body")
            raise InvalidBundle(said, error.remedy, **error.details | {"file": ""}) from None
        finally:
            job.path.unlink(missing_ok=True)
        receipt.raise_if_refused()
        return {"receipt": desk.receipt(receipt)}

    return _begun(desk, "import", work)


def list_jobs(desk: Desk, asked: Asked) -> Reply:
    """The jobs of a key, newest first."""
    return Reply({"jobs": [job.told() for job in desk.jobs.all()]})


def get_job(desk: Desk, asked: Asked) -> Reply:
    """How far a job is, and what came of it."""
    return Reply(desk.jobs.get(asked.path["job"]).told())


def get_file(desk: Desk, asked: Asked) -> Reply:
    """The file that a job has left."""
    job = desk.jobs.get(asked.path["job"])
    if job.status != "done" or not job.path.exists():
        raise UnknownReference("The job has left no file", "See its status")
    return Reply(job.path.read_bytes(), media_type=BYTES)


_BEGINS: Final[Any] = {"statuses": (202,), "whole": True, "feature": "jobs"}

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
        **_BEGINS,
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
        "Check that the store is what was written.",
        wire.Job,
        body=types.Verifying,
        needs_body=False,
        **_BEGINS,
    ),
    Route(
        "POST",
        "/v1/bundles",
        "export",
        export,
        "Write a world as a bundle.",
        wire.Job,
        body=types.Exporting,
        needs_body=False,
        **_BEGINS,
    ),
    Route(
        "POST",
        "/v1/bundles/import",
        "import_bundle",
        import_bundle,
        "Take in a bundle.",
        wire.Job,
        types.Importing,
        body=bytes,
        right="admin",
        **_BEGINS,
    ),
    Route("GET", "/v1/jobs", "list_jobs", list_jobs, "List jobs.", wire.Jobs),
    Route("GET", "/v1/jobs/{job}", "get_job", get_job, "Read how far a job is.", wire.Job),
    Route(
        "GET",
        "/v1/jobs/{job}/file",
        "get_file",
        get_file,
        "Read the file that a job has left.",
        None,
        produces=(BYTES,),
    ),
)
