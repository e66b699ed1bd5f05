"""What goes over the wire, as types: the server's page and its answers come from them, and the client reads with them.

Field by field they are the records of reads (:mod:`worlddb.query.records`), in JSON: times are ISO 8601 in UTC or null
for an open end, references are full. ``seq`` is null for a key of one world, which is told no commit numbers: they
would say how much others write.
"""

from typing import Annotated, Any

import msgspec

Time = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""A moment: ISO 8601 in UTC."""
Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what is answered. A later server may say more, which an older client passes over."""


class Period(_Record, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """A validity, half-open; ``to`` is null for an open end."""

    start: Time | None
    end: Time | None


class Erasure(_Record, frozen=True, kw_only=True):
    """The erasure of a text: its commit, time, author and reason."""

    seq: int | None
    ingested_at: Time
    author: str
    reason: str
    listed: bool


class Basis(_Record, frozen=True, kw_only=True):
    """A world that another one rests on, and who said it."""

    ref: str
    version: str
    type: str
    name: str
    steps: int
    seq: int | None
    ingested_at: Time
    author: str
    source: dict[str, Any]
    trust: str | None
    erased: bool


class Stale(_Record, frozen=True, kw_only=True):
    """A reason why a world may hold no more."""

    ref: str
    version: str
    why: str
    since: Time | None
    seq: int | None
    ingested_at: Time
    by: str
    path: tuple[str, ...]


class Restatement(_Record, frozen=True, kw_only=True):
    """Somebody said again what a version says."""

    number: int
    seq: int | None
    ingested_at: Time
    author: str
    source: dict[str, Any]
    why: str


class _Text(_Record, frozen=True, kw_only=True):
    """What a world, a version and a hit have in common."""

    version: str
    type: str
    name: str
    content: str
    valid: Period
    seq: int | None
    ingested_at: Time
    author: str
    source: dict[str, Any]
    stale: tuple[Stale, ...]
    restated: tuple[Restatement, ...]
    properties: dict[str, Any]


class World(_Text, frozen=True, kw_only=True):
    """A world as a view sees it."""

    ref: str
    number: int
    aliases: tuple[str, ...]
    why: str
    closed: bool
    ended: bool
    erased: bool
    erasure: Erasure | None
    conflicts: tuple[str, ...]
    rests_on: tuple[Basis, ...]
    rests_on_more: bool
    trust: str | None
    expires_at: Time | None
    pinned: bool
    labels: tuple[str, ...]
    in_ended: str
    deprecated: bool
    tags: dict[str, int]


class Version(_Text, frozen=True, kw_only=True):
    """One version in the history of a world."""

    number: int
    why: str
    erased: bool
    erasure: Erasure | None
    spans: tuple[Period, ...]
    start: str


class Learned(_Record, frozen=True, kw_only=True):
    """One step of what was known about when a version is valid."""

    number: int
    change: str
    valid: Period
    seq: int | None
    ingested_at: Time
    author: str
    why: str
    spans: tuple[Period, ...]
    late: bool
    ref: str


class Edge(_Record, frozen=True, kw_only=True):
    """An edge as a view sees it."""

    ref: str
    type: str
    source: str
    source_version: int
    target: str
    target_version: int
    home: str
    valid: Period
    closed: bool
    seq: int | None
    properties: dict[str, Any]
    why: str
    spans: tuple[Period, ...]


class Hit(_Text, frozen=True, kw_only=True):
    """A world that a recall found, with its scores and the reason in words."""

    ref: str
    score: float
    lanes: dict[str, int]
    reason: str
    world: str
    conflicts: tuple[str, ...]
    scores: dict[str, float]
    others: tuple[Version, ...]
    others_left: int
    rests_on: tuple[Basis, ...]
    rests_on_more: bool
    trust: str | None
    in_ended: str
    expires_at: Time | None
    pinned: bool
    labels: tuple[str, ...]
    confidence: float | None
    scope: str
    inferred: dict[str, Any] = {}


class EntityPath(_Record, frozen=True, kw_only=True):
    """A way over edges from an entity, told as a text; ``of`` is the hit that it belongs to, if any."""

    nodes: tuple[str, ...]
    edges: tuple[str, ...]
    context: str
    score: float
    of: str


class Moment(_Record, frozen=True, kw_only=True):
    """The moment of an answer, on both axes."""

    seq: int | None
    valid: Time


class Group(_Record, frozen=True, kw_only=True):
    """A world that contains hits directly, such as a session, with the best of them."""

    ref: str
    type: str
    name: str
    score: float
    count: int
    hits: tuple[Hit, ...]


class Competing(_Record, frozen=True, kw_only=True):
    """Two statements that both hold and may not both be true; ``ref`` began later than ``earlier``.

    ``relation`` is ``replacement``, ``contradiction`` or, of a message that may change the earlier one, ``perhaps``.
    ``doubt`` is why both may be so after all.
    """

    ref: str
    earlier: str
    relation: str
    reason: str
    doubt: str


class Recalled(_Record, frozen=True, kw_only=True):
    """The hits of a recall, best first; with ``group`` also what holds them.

    A ``weak`` answer has perhaps nothing of what is asked. ``competing`` are pairs of statements among the first hits.
    """

    hits: tuple[Hit, ...]
    exact: bool
    lanes: tuple[str, ...]
    search_mode: str
    notes: tuple[str, ...]
    confidence: float | None
    moment: Moment
    weak: bool = False
    competing: tuple[Competing, ...] = ()
    paths: tuple[EntityPath, ...] = ()
    groups: tuple[Group, ...] = ()
    receipt: str | None = None

    @property
    def note(self) -> str:
        """The notes as the library's ``Recall`` has them: joined to one text, empty if there are none."""
        return "; ".join(self.notes)


class RecallCheck(_Record, frozen=True, kw_only=True):
    """What became of checking a receipt: ``verdict`` is ``holds`` if the same question has the same answer.

    ``proved`` hits were proved to have been there, ``erased`` ones have no text; ``reference`` names the state.
    """

    verdict: str
    problems: tuple[str, ...]
    proved: int
    erased: tuple[str, ...]
    reference: str


class Near(_Record, frozen=True, kw_only=True):
    """A statement that a new one may repeat, replace or contradict."""

    ref: str
    text: str
    likeness: float
    relation: str
    reason: str
    valid: Period
    about: tuple[str, ...]
    is_later: bool
    is_repeated: bool
    is_of_one: bool


class Proposal(_Record, frozen=True, kw_only=True):
    """A staged identity: ``source`` may be ``target``, and ``because`` says why."""

    ref: str
    status: str
    source: str
    source_name: str
    target: str
    target_name: str
    evidence: dict[str, Any]
    why: str
    seq: int | None
    decided: int | None
    because: str


class Conflict(_Record, frozen=True, kw_only=True):
    """Two worlds that contradict each other while both hold."""

    first: World
    second: World


class Entry(_Record, frozen=True, kw_only=True):
    """One event of the log, as a person reads it."""

    seq: int | None
    index: int
    ingested_at: Time
    author: str
    event: str
    refs: tuple[str, ...]
    name: str
    text: str
    why: str
    data: dict[str, Any]


class Note(_Record, frozen=True, kw_only=True):
    """What else a caller should know of a write."""

    code: str
    refs: tuple[str, ...]
    text: str


class Loss(_Record, frozen=True, kw_only=True):
    """A span of valid time that a version holds no longer, or where it names none, an edge."""

    ref: str
    version: int | None
    valid: Period


class Receipt(_Record, frozen=True, kw_only=True):
    """What a write did. ``outcome`` is ``committed``, ``staged`` or ``unchanged``; what is refused is a problem."""

    outcome: str
    refs: tuple[str, ...]
    seq: int | None
    ingested_at: Time
    root: Hash | None
    events: int
    proposals: tuple[str, ...]
    notes: tuple[Note, ...]
    lost: tuple[Loss, ...]

    @property
    def ref(self) -> str:
        """The first reference."""
        return self.refs[0]


class Remembered(_Record, frozen=True, kw_only=True):
    """The receipt of a memory, and the statements that it may repeat, replace or contradict.

    ``restated``: it was there word for word, and has one more source. ``notes`` say what else that changed of it, and
    what a deadline hides at once.
    """

    receipt: Receipt
    near: tuple[Near, ...]
    restated: bool = False
    notes: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """The reference of the memory."""
        return self.receipt.ref


class Worlds(_Record, frozen=True, kw_only=True):
    """A page of worlds; ``next_cursor`` is null on the last."""

    worlds: tuple[World, ...]
    moment: Moment
    next_cursor: str | None


class Versions(_Record, frozen=True, kw_only=True):
    """The versions of a world, oldest first."""

    versions: tuple[Version, ...]
    moment: Moment


class Steps(_Record, frozen=True, kw_only=True):
    """What was learned about when a world is valid, in log order."""

    steps: tuple[Learned, ...]
    moment: Moment


class Edges(_Record, frozen=True, kw_only=True):
    """A page of edges."""

    edges: tuple[Edge, ...]
    moment: Moment
    next_cursor: str | None


class Proposals(_Record, frozen=True, kw_only=True):
    """A page of staged identities."""

    proposals: tuple[Proposal, ...]
    next_cursor: str | None


class Conflicts(_Record, frozen=True, kw_only=True):
    """A page of contradictions."""

    conflicts: tuple[Conflict, ...]
    next_cursor: str | None


class Entries(_Record, frozen=True, kw_only=True):
    """A page of the log."""

    entries: tuple[Entry, ...]
    next_cursor: str | None


class Context(_Record, frozen=True, kw_only=True):
    """What is known for a question, as a text for a prompt; ``note`` says what did not fit ``max_tokens``."""

    text: str
    note: str
    moment: Moment


class Head(_Record, frozen=True, kw_only=True):
    """The state of a store: its last commit, and the hashes that cover it."""

    seq: int
    chain: Hash
    root: Hash
    ingested_at: Time
    store_id: str
    tree: Hash
    supposes: str


class Proof(_Record, frozen=True, kw_only=True):
    """A proof as text, for ``worlddb check-proof``."""

    proof: str


class Step(_Record, frozen=True, kw_only=True):
    """How far a job is."""

    done: int
    total: int


class Job(_Record, frozen=True, kw_only=True):
    """Work that outlasts a request. ``status`` is ``running``, ``done`` or ``failed``, ``file`` where its file lies."""

    id: str
    kind: str
    status: str
    progress: Step
    result: dict[str, Any] | None
    problem: "Problem | None"
    file: str | None


class Jobs(_Record, frozen=True, kw_only=True):
    """The jobs of a key, newest first."""

    jobs: tuple[Job, ...]


class ErasureReceipt(_Record, frozen=True, kw_only=True):
    """What one commit erased, as ``worlddb check-receipt`` takes it."""

    store: str
    seq: int
    chain: Hash
    events_hash: Hash
    author: str
    ingested_at: Time
    worlds: tuple[dict[str, Any], ...]
    not_reached: tuple[str, ...]
    seal: str = ""
    kept: tuple[str, ...] = ()
    kept_count: int = 0
    authors: tuple[str, ...] = ()


class Health(_Record, frozen=True, kw_only=True):
    """That the server answers, and which release it is."""

    status: str
    version: str


class Account(_Record, frozen=True, kw_only=True):
    """An account: whose keys these are, and under which plan."""

    id: str
    name: str
    plan: str
    is_open: bool
    seq: int


class Accounts(_Record, frozen=True, kw_only=True):
    """The open accounts."""

    accounts: tuple[Account, ...]


class Key(_Record, frozen=True, kw_only=True):
    """A key of an account, without its secret."""

    id: str
    name: str
    account: str
    world: str | None
    right: str
    user: str
    expires_at: Time | None
    seq: int
    ended: int
    usable: bool


class Keys(_Record, frozen=True, kw_only=True):
    """Keys of accounts."""

    keys: tuple[Key, ...]


class NewKey(Key, frozen=True, kw_only=True):
    """A key that was made just now, with its secret, which is told this once."""

    secret: str


class PlanLimits(_Record, frozen=True, kw_only=True):
    """What an account may do; null is without a limit."""

    worlds: int | None
    requests_per_minute: int | None
    writes_per_minute: int | None
    bytes_stored: int | None
    bytes_per_request: int | None
    recall_k: int | None
    features: tuple[str, ...] | None


class Plan(_Record, frozen=True, kw_only=True):
    """A plan of accounts."""

    name: str
    limits: PlanLimits
    seq: int


class Plans(_Record, frozen=True, kw_only=True):
    """Plans of accounts."""

    plans: tuple[Plan, ...]


class Allowed(_Record, frozen=True, kw_only=True):
    """What a key may do: where, with which right, and under which limits (null: none)."""

    name: str
    world: str | None
    right: str
    plan: str
    limits: PlanLimits | None


class KeyUsage(_Record, frozen=True, kw_only=True):
    """What a key asked for in a span of time that begins ``at``; bytes are of bodies and queries."""

    key: str
    name: str
    at: Time
    requests: int
    writes: int
    bytes_in: int
    bytes_out: int
    errors: int


class UsageFigures(_Record, frozen=True, kw_only=True):
    """What keys asked for, in spans of a minute, hour, day or all of the time; ``trouble`` says what is missing."""

    usage: tuple[KeyUsage, ...]
    by: str
    trouble: str


class Statement(_Record, frozen=True, kw_only=True):
    """A statement of a world, with its terms in N-Triples; ``graph`` is null for the default graph."""

    subject: str
    predicate: str
    object: str
    graph: str | None
    world: str
    valid: Period
    ingested_at: Time
    seq: int | None
    author: str
    source: dict[str, Any]
    id: str


class Statements(_Record, frozen=True, kw_only=True):
    """A page of statements."""

    statements: tuple[Statement, ...]
    moment: Moment
    next_cursor: str | None


class ErasedStatement(_Record, frozen=True, kw_only=True):
    """What is left of a statement: the parts in ``erased`` are null, and ``erasure`` says who erased them and when."""

    subject: str | None
    predicate: str | None
    object: str | None
    graph: str | None
    erased: tuple[str, ...]
    erasure: Erasure | None
    world: str
    valid: Period
    ingested_at: Time
    seq: int | None
    author: str
    source: dict[str, Any]
    id: str


class ErasedStatements(_Record, frozen=True, kw_only=True):
    """The statements of a world of which a text was erased."""

    statements: tuple[ErasedStatement, ...]
    moment: Moment


class MergeConflict(_Record, frozen=True, kw_only=True):
    """What both sides of a fork changed, and not alike; ``id`` stands for it in ``decide``.

    ``base``, ``ours`` and ``theirs`` say in words what each has; of a text only the fields that are not alike.
    """

    id: str
    world: str
    what: str
    where: str
    base: str
    ours: str
    theirs: str
    choices: tuple[str, ...]


class MergeChange(_Record, frozen=True, kw_only=True):
    """What a merge does to a world."""

    world: str
    what: str
    detail: str


class Fork(_Record, frozen=True, kw_only=True):
    """A world that goes on from the world ``of`` as of commit ``as_of``; ``inside``: it lies in a fork.

    ``merged`` is the last commit that merged it, ``through`` the one as of which it did; none if it never was merged,
    and null for a key of one world.
    """

    ref: str
    of: str
    as_of: int | None
    seq: int | None
    ingested_at: Time
    author: str
    why: str
    is_merged: bool
    merged: int | None
    through: int | None
    inside: bool


class Forks(_Record, frozen=True, kw_only=True):
    """The forks of a world, and what it goes on from itself."""

    forks: tuple[Fork, ...]
    forked_from: Fork | None
    moment: Moment


class Merged(_Record, frozen=True, kw_only=True):
    """What a merge comes to; without a receipt nothing was written. ``undecided`` are the conflicts that are open."""

    fork: str
    into: str
    changes: tuple[MergeChange, ...]
    conflicts: tuple[MergeConflict, ...]
    undecided: tuple[MergeConflict, ...]
    erased: tuple[str, ...]
    receipt: Receipt | None


class Problem(_Record, frozen=True, kw_only=True):
    """An error, by RFC 9457. ``code`` is stable; ``remedy`` says what to do next, ``reason`` why it was refused."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    remedy: str = ""
    reason: str | None = None
    request_id: str | None = None
