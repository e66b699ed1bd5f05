"""The public names, each from the room that has it; users import them from :mod:`worlddb`."""

from worlddb.accounts.account_book import Accounts, NewKey
from worlddb.accounts.grant import Grant
from worlddb.accounts.usage_meter import Usage, UsageMeter, UsageReport
from worlddb.agent_memory import Added, Memory, memory
from worlddb.batch import Batch
from worlddb.database import Database, Head, Rebuilt, Step, Verified, open
from worlddb.enrichment.context_enricher import ContextEnricher
from worlddb.forks.merging import Merge
from worlddb.intake.edge_discovery import DiscoveredEdge
from worlddb.intake.memory_unit import IngestedMemory
from worlddb.log.accounts.plan_limits import Limits
from worlddb.log.beliefs.artifact import Artifact
from worlddb.log.beliefs.atoms import Atom
from worlddb.log.beliefs.kref import Kref, parse_kref
from worlddb.log.beliefs.recall_receipt import (
    RecallCheck,
    RecallProof,
    RecallReceipt,
    read_recall_receipt,
    recall_receipt_text,
)
from worlddb.log.model.clock import Clock, Entropy, ManualClock, SeededEntropy, SystemClock, SystemEntropy
from worlddb.log.model.errors import (
    AmbiguousReference,
    BackupMismatch,
    ClockJump,
    Conflict,
    DamagedStore,
    DiskFull,
    ForkedProcess,
    HandlerFailed,
    HypotheticalStore,
    IdempotencyConflict,
    InputError,
    InvalidBundle,
    InvalidInterval,
    InvalidKref,
    InvalidSparql,
    InvalidText,
    InvalidTime,
    LimitExceeded,
    MalformedFile,
    MembersNotSaid,
    ModelUnavailable,
    NewerFormat,
    NotABackup,
    NotAStore,
    OlderTables,
    PlaceTaken,
    PlanLimit,
    QueryLimit,
    ReadOnlyBackup,
    RefusedError,
    StoreClosed,
    StoreError,
    UnavailableError,
    UnknownEdgeType,
    UnknownReference,
    UnprovedBundle,
    WorldDBError,
    WriterBusy,
)
from worlddb.log.model.limits import (
    MAX_CHECKPOINT_BYTES,
    MAX_CONTENT_BYTES,
    MAX_NAME_BYTES,
    MAX_PROOF_BYTES,
    checked_text,
)
from worlddb.log.model.proof import ProofCheck
from worlddb.log.model.times import FOREVER, TimeLike, format_time, parse_time
from worlddb.log.redaction.credentials import Finding, find_credentials
from worlddb.log.redaction.personal_data import Redactor, find_personal_data, redact
from worlddb.log.statements.terms import BlankNode, Iri, Literal, Term, Triple, term_of
from worlddb.log.store.bundle_contents import Bundle
from worlddb.log.working.message_buffers import WorkingMessage
from worlddb.offline import (
    KeyPair,
    check_bundle,
    check_proof,
    check_recall,
    diagnose,
    diff,
    new_key,
    restore,
    sign_checkpoint,
    upgrade,
)
from worlddb.projections.indexes.composition import POOLS
from worlddb.projections.tables.apply.settings import TRUST_LEVELS
from worlddb.projections.tables.dream.retention import Decay, Retained
from worlddb.prompt_text import Profile
from worlddb.query.accounts.account_records import AccessKey, Account, AccountPlan
from worlddb.query.beliefs.belief_base import BeliefSettings, Entrenched, Plan, PlannedChange
from worlddb.query.beliefs.receipted_recall import KeptReceipt
from worlddb.query.beliefs.withdrawal import (
    AnswerWithout,
    PlannedEnd,
    Resting,
    RestingPath,
    Withdrawal,
    Withdrawn,
)
from worlddb.query.diff.diff_side import CHANGE_KINDS, HISTORY_RELATIONS, AlteredRecord, Change, Detail, Difference
from worlddb.query.forks.fork_reads import Fork
from worlddb.query.forks.merge_plan import MergeChange, MergeConflict
from worlddb.query.graph_query.planner import BoundQuery
from worlddb.query.graph_query.query_value import Query, Stage, Subgraph
from worlddb.query.graph_query.traversal import Density
from worlddb.query.history.journal import Entry
from worlddb.query.history.lineage import Blame, BlamedEdge, BlamedField
from worlddb.query.question.question import FUSIONS, LANES
from worlddb.query.recall.filters import Conditions
from worlddb.query.recall.near_claims import ON_NEAR, Near
from worlddb.query.recall.reranking import Reranker, rerank
from worlddb.query.records.records import (
    Absence,
    Basis,
    Bookmark,
    Changes,
    Competing,
    Composed,
    Edge,
    EdgeType,
    EntityPath,
    Erasure,
    Group,
    Guarded,
    Held,
    Hit,
    HitGroup,
    Identity,
    KnownFact,
    Learned,
    Mark,
    Preference,
    Proposal,
    Reach,
    Reached,
    Recall,
    Restatement,
    Shift,
    Stale,
    State,
    Trusted,
    Tuning,
    Valid,
    Version,
    Vocabulary,
    World,
    group_hits,
)
from worlddb.query.snapshot.erasure_notes import (
    ErasedLiteral,
    ErasedText,
    ErasedWorld,
    ErasureCheck,
    ErasureReceipt,
)
from worlddb.query.statements.statement_reads import ErasedStatement, Statement
from worlddb.query.streams.streamed_recall import Streams
from worlddb.query.view.view import View
from worlddb.reconciler.background.embedding_backfill import Embedding, Reembedding
from worlddb.reconciler.background.reclustering import Reclustering
from worlddb.reconciler.backup.backups import BackedUp, Restored, Upgraded
from worlddb.reconciler.bundle_import.outside_effects import ImportPlan, OutsideEffect
from worlddb.reconciler.commands.columns import Loaded
from worlddb.reconciler.commands.outcome import Committed, Loss, Note, Receipt, Refused, Staged
from worlddb.reconciler.consolidation.consolidator import Consolidated
from worlddb.reconciler.consolidation.model_summarizer import PROMPT as SUMMARY_PROMPT
from worlddb.reconciler.consolidation.model_summarizer import EndpointSummarizer
from worlddb.reconciler.consolidation.summarizer import ExtractiveSummarizer, Member, Summarizer
from worlddb.reconciler.diagnostics.installation import Diagnosis, Symptom
from worlddb.reconciler.dream.assessor import AssessedMemory, Assessment, Assessor, Neighbour, RuleAssessor
from worlddb.reconciler.dream.dream_schedule import DreamSchedule
from worlddb.reconciler.dream.dreamer import Dreamt
from worlddb.reconciler.dream.model_assessor import PROMPT as ASSESSMENT_PROMPT
from worlddb.reconciler.dream.model_assessor import EndpointAssessor
from worlddb.reconciler.edge_types.handler import (
    AcyclicHandler,
    EdgeHandler,
    HandledEdge,
    HandlerContext,
    Insert,
    PairProposal,
    PlainHandler,
    Rewritable,
    WorldText,
    Written,
)
from worlddb.reconciler.embedding.adapter import (
    CallableEmbedder,
    EndpointEmbedder,
    FastembedEmbedder,
    SentenceTransformersEmbedder,
)
from worlddb.reconciler.embedding.embedder import Embedder
from worlddb.reconciler.embedding.minilm import CrossEncoderReranker, MiniLMEmbedder, MiniLMReranker
from worlddb.reconciler.embedding.models import NAMES as EMBEDDERS
from worlddb.reconciler.embedding.models import embedder_named
from worlddb.reconciler.embedding.multilingual import MultilingualEmbedder
from worlddb.reconciler.embedding.spaces import EmbeddingSpace
from worlddb.reconciler.embedding.static_embedder import StaticEmbedder
from worlddb.reconciler.enrichment.enricher import Enricher, Enrichment, Occurrence, Segment
from worlddb.reconciler.enrichment.enrichment_run import Enriched
from worlddb.reconciler.enrichment.model_enricher import PROMPT as ENRICHMENT_PROMPT
from worlddb.reconciler.enrichment.model_enricher import EndpointEnricher
from worlddb.reconciler.erasure.erasure_preview import ErasurePlan, KeptWorld, LiteralErasurePlan
from worlddb.reconciler.ingest.chat_messages import ChatMessage, read_message
from worlddb.reconciler.ingest.extraction import Extraction, Extractor, Node, Relation, Turn
from worlddb.reconciler.ingest.mentions.mention_extractor import EntityExtractor
from worlddb.reconciler.ingest.mentions.surface_forms import KINDS as MENTION_KINDS
from worlddb.reconciler.ingest.mentions.surface_forms import Mention
from worlddb.reconciler.ingest.model_extraction import PROMPT as EXTRACTION_PROMPT
from worlddb.reconciler.ingest.model_extraction import EndpointExtractor, ExtractedFact
from worlddb.reconciler.redaction.endpoint_redactor import EndpointRedactor
from worlddb.reconciler.replay.event_comparison import DecidedEvent, Hypothesis, Redecision
from worlddb.reconciler.replay.redecision import Redecided
from worlddb.reconciler.replay.replay import Replayed, Snapshot
from worlddb.reconciler.similarity.scores import Likeness
from worlddb.reconciler.similarity.verdict import Considered, Contender, Thresholds, Tiebreaker
from worlddb.store import scratch_folder
from worlddb.working.working_memory import SessionMemory, WorkingMemory
from worlddb.writing import Pending

__all__ = [
    "ASSESSMENT_PROMPT",
    "CHANGE_KINDS",
    "EMBEDDERS",
    "ENRICHMENT_PROMPT",
    "EXTRACTION_PROMPT",
    "FOREVER",
    "FUSIONS",
    "HISTORY_RELATIONS",
    "LANES",
    "MAX_CHECKPOINT_BYTES",
    "MAX_CONTENT_BYTES",
    "MAX_NAME_BYTES",
    "MAX_PROOF_BYTES",
    "MENTION_KINDS",
    "ON_NEAR",
    "POOLS",
    "SUMMARY_PROMPT",
    "TRUST_LEVELS",
    "Absence",
    "AccessKey",
    "Account",
    "AccountPlan",
    "Accounts",
    "AcyclicHandler",
    "Added",
    "AlteredRecord",
    "AmbiguousReference",
    "AnswerWithout",
    "Artifact",
    "AssessedMemory",
    "Assessment",
    "Assessor",
    "Atom",
    "BackedUp",
    "BackupMismatch",
    "Basis",
    "Batch",
    "BeliefSettings",
    "Blame",
    "BlamedEdge",
    "BlamedField",
    "BlankNode",
    "Bookmark",
    "BoundQuery",
    "Bundle",
    "CallableEmbedder",
    "Change",
    "Changes",
    "ChatMessage",
    "Clock",
    "ClockJump",
    "Committed",
    "Competing",
    "Composed",
    "Conditions",
    "Conflict",
    "Considered",
    "Consolidated",
    "Contender",
    "ContextEnricher",
    "CrossEncoderReranker",
    "DamagedStore",
    "Database",
    "Decay",
    "DecidedEvent",
    "Density",
    "Detail",
    "Diagnosis",
    "Difference",
    "DiscoveredEdge",
    "DiskFull",
    "DreamSchedule",
    "Dreamt",
    "Edge",
    "EdgeHandler",
    "EdgeType",
    "Embedder",
    "Embedding",
    "EmbeddingSpace",
    "EndpointAssessor",
    "EndpointEmbedder",
    "EndpointEnricher",
    "EndpointExtractor",
    "EndpointRedactor",
    "EndpointSummarizer",
    "Enriched",
    "Enricher",
    "Enrichment",
    "EntityExtractor",
    "EntityPath",
    "Entrenched",
    "Entropy",
    "Entry",
    "ErasedLiteral",
    "ErasedStatement",
    "ErasedText",
    "ErasedWorld",
    "Erasure",
    "ErasureCheck",
    "ErasurePlan",
    "ErasureReceipt",
    "ExtractedFact",
    "Extraction",
    "ExtractiveSummarizer",
    "Extractor",
    "FastembedEmbedder",
    "Finding",
    "Fork",
    "ForkedProcess",
    "Grant",
    "Group",
    "Guarded",
    "HandledEdge",
    "HandlerContext",
    "HandlerFailed",
    "Head",
    "Held",
    "Hit",
    "HitGroup",
    "Hypothesis",
    "HypotheticalStore",
    "IdempotencyConflict",
    "Identity",
    "ImportPlan",
    "IngestedMemory",
    "InputError",
    "Insert",
    "InvalidBundle",
    "InvalidInterval",
    "InvalidKref",
    "InvalidSparql",
    "InvalidText",
    "InvalidTime",
    "Iri",
    "KeptReceipt",
    "KeptWorld",
    "KeyPair",
    "KnownFact",
    "Kref",
    "Learned",
    "Likeness",
    "LimitExceeded",
    "Limits",
    "Literal",
    "LiteralErasurePlan",
    "Loaded",
    "Loss",
    "MalformedFile",
    "ManualClock",
    "Mark",
    "Member",
    "MembersNotSaid",
    "Memory",
    "Mention",
    "Merge",
    "MergeChange",
    "MergeConflict",
    "MiniLMEmbedder",
    "MiniLMReranker",
    "ModelUnavailable",
    "MultilingualEmbedder",
    "Near",
    "Neighbour",
    "NewKey",
    "NewerFormat",
    "Node",
    "NotABackup",
    "NotAStore",
    "Note",
    "Occurrence",
    "OlderTables",
    "OutsideEffect",
    "PairProposal",
    "Pending",
    "PlaceTaken",
    "PlainHandler",
    "Plan",
    "PlanLimit",
    "PlannedChange",
    "PlannedEnd",
    "Preference",
    "Profile",
    "ProofCheck",
    "Proposal",
    "Query",
    "QueryLimit",
    "Reach",
    "Reached",
    "ReadOnlyBackup",
    "Rebuilt",
    "Recall",
    "RecallCheck",
    "RecallProof",
    "RecallReceipt",
    "Receipt",
    "Reclustering",
    "Redactor",
    "Redecided",
    "Redecision",
    "Reembedding",
    "Refused",
    "RefusedError",
    "Relation",
    "Replayed",
    "Reranker",
    "Restatement",
    "Resting",
    "RestingPath",
    "Restored",
    "Retained",
    "Rewritable",
    "RuleAssessor",
    "SeededEntropy",
    "Segment",
    "SentenceTransformersEmbedder",
    "SessionMemory",
    "Shift",
    "Snapshot",
    "Stage",
    "Staged",
    "Stale",
    "State",
    "Statement",
    "StaticEmbedder",
    "Step",
    "StoreClosed",
    "StoreError",
    "Streams",
    "Subgraph",
    "Summarizer",
    "Symptom",
    "SystemClock",
    "SystemEntropy",
    "Term",
    "Thresholds",
    "Tiebreaker",
    "TimeLike",
    "Triple",
    "Trusted",
    "Tuning",
    "Turn",
    "UnavailableError",
    "UnknownEdgeType",
    "UnknownReference",
    "UnprovedBundle",
    "Upgraded",
    "Usage",
    "UsageMeter",
    "UsageReport",
    "Valid",
    "Verified",
    "Version",
    "View",
    "Vocabulary",
    "Withdrawal",
    "Withdrawn",
    "WorkingMemory",
    "WorkingMessage",
    "World",
    "WorldDBError",
    "WorldText",
    "WriterBusy",
    "Written",
    "check_bundle",
    "check_proof",
    "check_recall",
    "checked_text",
    "diagnose",
    "diff",
    "embedder_named",
    "find_credentials",
    "find_personal_data",
    "format_time",
    "group_hits",
    "memory",
    "new_key",
    "open",
    "parse_kref",
    "parse_time",
    "read_message",
    "read_recall_receipt",
    "recall_receipt_text",
    "redact",
    "rerank",
    "restore",
    "scratch_folder",
    "sign_checkpoint",
    "term_of",
    "upgrade",
]
