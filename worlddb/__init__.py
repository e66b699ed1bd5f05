"""WorldDB: a memory engine for AI agents.

It has an append-only log that everything derives from.

Start with :func:`open`; everything public is importable from here. A name is loaded at its first use, with only what
it needs. So a program waits only for what it uses, and the command line can handle an interruption before it loads
the rest.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worlddb.reconciler.diagnostics.installation import Symptom

__version__ = "0.1.0"


def installation_symptoms() -> "list[Symptom]":
    """As :func:`diagnose` without a path, where the engine cannot be imported: it needs no library, and names them."""
    from worlddb.reconciler.diagnostics.installation import CHECKS

    return [symptom for _, look in CHECKS for symptom in look()]


if TYPE_CHECKING:
    from worlddb.public import *  # noqa: F403
    from worlddb.public import __all__ as __all__
else:
    from importlib import import_module

    # Where each public name comes from, as in `public.py`, which type checkers read; NAME=OTHER is OTHER there.
    _HOMES = {
        "accounts.account_book": "Accounts NewKey",
        "accounts.grant": "Grant",
        "accounts.usage_meter": "Usage UsageMeter UsageReport",
        "agent_memory": "Added Memory memory",
        "database": "Database Head Rebuilt Step Verified open",
        "log.accounts.plan_limits": "Limits",
        "log.beliefs.artifact": "Artifact",
        "log.beliefs.kref": "Kref parse_kref",
        "log.beliefs.recall_receipt": ("RecallCheck RecallProof RecallReceipt read_recall_receipt recall_receipt_text"),
        "log.beliefs.atoms": "Atom",
        "log.model.clock": "Clock Entropy ManualClock SeededEntropy SystemClock SystemEntropy",
        "log.model.errors": (
            "AmbiguousReference BackupMismatch ClockJump Conflict DamagedStore DiskFull ForkedProcess HandlerFailed "
            "HypotheticalStore IdempotencyConflict InputError InvalidBundle InvalidInterval InvalidKref "
            "InvalidSparql InvalidText InvalidTime LimitExceeded MalformedFile MembersNotSaid ModelUnavailable "
            "NewerFormat NotABackup NotAStore OlderTables PlaceTaken PlanLimit QueryLimit ReadOnlyBackup RefusedError "
            "StoreClosed StoreError UnavailableError "
            "UnknownEdgeType UnknownReference UnprovedBundle WorldDBError WriterBusy"
        ),
        "log.model.limits": "MAX_CHECKPOINT_BYTES MAX_CONTENT_BYTES MAX_NAME_BYTES MAX_PROOF_BYTES checked_text",
        "log.model.proof": "ProofCheck",
        "log.redaction.credentials": "Finding find_credentials",
        "log.redaction.personal_data": "Redactor find_personal_data redact",
        "log.statements.terms": "BlankNode Iri Literal Term Triple term_of",
        "log.model.times": "FOREVER TimeLike format_time parse_time",
        "log.store.bundle_contents": "Bundle",
        "log.working.message_buffers": "WorkingMessage",
        "enrichment.context_enricher": "ContextEnricher",
        "intake.edge_discovery": "DiscoveredEdge",
        "intake.memory_unit": "IngestedMemory",
        "working.working_memory": "SessionMemory WorkingMemory",
        "offline": (
            "KeyPair check_bundle check_proof check_recall diagnose diff new_key restore sign_checkpoint upgrade"
        ),
        "prompt_text": "Profile",
        "projections.indexes.composition": "POOLS",
        "projections.tables.dream.retention": "Decay Retained",
        "projections.tables.apply.settings": "TRUST_LEVELS",
        "query.accounts.account_records": "AccessKey Account AccountPlan",
        "query.beliefs.belief_base": "BeliefSettings Entrenched Plan PlannedChange",
        "query.beliefs.receipted_recall": "KeptReceipt",
        "query.beliefs.withdrawal": "AnswerWithout PlannedEnd Resting RestingPath Withdrawal Withdrawn",
        "query.diff.diff_side": "CHANGE_KINDS HISTORY_RELATIONS AlteredRecord Change Detail Difference",
        "forks.merging": "Merge",
        "query.forks.fork_reads": "Fork",
        "query.forks.merge_plan": "MergeChange MergeConflict",
        "query.graph_query.planner": "BoundQuery",
        "query.graph_query.query_value": "Query Stage Subgraph",
        "query.graph_query.traversal": "Density",
        "query.history.journal": "Entry",
        "query.history.lineage": "Blame BlamedEdge BlamedField",
        "query.question.question": "FUSIONS LANES",
        "query.recall.near_claims": "ON_NEAR Near",
        "query.recall.reranking": "Reranker rerank",
        "query.recall.filters": "Conditions",
        "query.records.records": (
            "Absence Basis Bookmark Changes Competing Composed Edge EdgeType EntityPath Erasure Group Guarded Held Hit "
            "HitGroup Identity KnownFact Learned Mark Preference Proposal Reach Reached Recall Restatement Shift Stale "
            "State Trusted Tuning Valid Version Vocabulary World group_hits"
        ),
        "query.streams.streamed_recall": "Streams",
        "query.snapshot.erasure_notes": "ErasedLiteral ErasedText ErasedWorld ErasureCheck ErasureReceipt",
        "query.statements.statement_reads": "ErasedStatement Statement",
        "query.view.view": "View",
        "reconciler.background.embedding_backfill": "Embedding Reembedding",
        "reconciler.background.reclustering": "Reclustering",
        "reconciler.backup.backups": "BackedUp Restored Upgraded",
        "reconciler.bundle_import.outside_effects": "ImportPlan OutsideEffect",
        "reconciler.commands.columns": "Loaded",
        "reconciler.commands.outcome": "Committed Loss Note Receipt Refused Staged",
        "reconciler.consolidation.consolidator": "Consolidated",
        "reconciler.consolidation.model_summarizer": "EndpointSummarizer SUMMARY_PROMPT=PROMPT",
        "reconciler.consolidation.summarizer": "ExtractiveSummarizer Member Summarizer",
        "reconciler.dream.assessor": "AssessedMemory Assessment Assessor Neighbour RuleAssessor",
        "reconciler.dream.dream_schedule": "DreamSchedule",
        "reconciler.dream.dreamer": "Dreamt",
        "reconciler.dream.model_assessor": "EndpointAssessor ASSESSMENT_PROMPT=PROMPT",
        "reconciler.diagnostics.installation": "Diagnosis Symptom",
        "reconciler.enrichment.enricher": "Enricher Enrichment Occurrence Segment",
        "reconciler.enrichment.enrichment_run": "Enriched",
        "reconciler.enrichment.model_enricher": "ENRICHMENT_PROMPT=PROMPT EndpointEnricher",
        "reconciler.edge_types.handler": (
            "AcyclicHandler EdgeHandler HandledEdge HandlerContext Insert PairProposal PlainHandler Rewritable "
            "WorldText Written"
        ),
        "reconciler.embedding.adapter": (
            "CallableEmbedder EndpointEmbedder FastembedEmbedder SentenceTransformersEmbedder"
        ),
        "reconciler.embedding.embedder": "Embedder",
        "reconciler.embedding.minilm": "CrossEncoderReranker MiniLMEmbedder MiniLMReranker",
        "reconciler.embedding.multilingual": "MultilingualEmbedder",
        "reconciler.embedding.models": "EMBEDDERS=NAMES embedder_named",
        "reconciler.embedding.spaces": "EmbeddingSpace",
        "reconciler.embedding.static_embedder": "StaticEmbedder",
        "reconciler.erasure.erasure_preview": "ErasurePlan KeptWorld LiteralErasurePlan",
        "reconciler.ingest.chat_messages": "ChatMessage read_message",
        "reconciler.ingest.extraction": "Extraction Extractor Node Relation Turn",
        "reconciler.ingest.model_extraction": "EXTRACTION_PROMPT=PROMPT EndpointExtractor ExtractedFact",
        "reconciler.ingest.mentions.mention_extractor": "EntityExtractor",
        "reconciler.ingest.mentions.surface_forms": "MENTION_KINDS=KINDS Mention",
        "reconciler.redaction.endpoint_redactor": "EndpointRedactor",
        "reconciler.replay.event_comparison": "DecidedEvent Hypothesis Redecision",
        "reconciler.replay.redecision": "Redecided",
        "reconciler.replay.replay": "Replayed Snapshot",
        "reconciler.similarity.scores": "Likeness",
        "reconciler.similarity.verdict": "Considered Contender Thresholds Tiebreaker",
        "store": "scratch_folder",
        "batch": "Batch",
        "writing": "Pending",
    }
    _PLACES = {
        each.partition("=")[0]: (home, each.rpartition("=")[2])
        for home, names in _HOMES.items()
        for each in names.split()
    }
    _ROOMS = {f"{__name__}.{room}" for room in ("log", "projections", "query", "reconciler", "tools")}
    __all__ = sorted(_PLACES)  # noqa: PLE0605

    def __getattr__(name):
        """Load a public name when it is first used.

        Type checkers see the names themselves.
        """
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home, own = _PLACES[name]
        try:
            found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), own)
        except ModuleNotFoundError as error:
            if error.name not in _ROOMS:
                raise
            # Python began in a clone, and what is installed is a copy: only the folder of the façade was found.
            remedy = f"{__file__} is part of a clone: run `pip install -e .` in the clone, or begin elsewhere"
            raise ModuleNotFoundError(f"{error.msg}. {remedy}", name=error.name) from None
        return found

    def __dir__():
        """List the public names, also before they are loaded."""
        return sorted({*globals(), *__all__})
