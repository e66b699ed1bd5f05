"""Compares the lists of the reference, the format page and the limits with the code."""

from __future__ import annotations

import ast
import inspect
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest

import worlddb
from bench.house import walks
from tests.house.test_docs import text_of
from tests.support.tidy.tree import ROOT
from worlddb.log.model import blobs, codec, events, hashing, limits
from worlddb.projections.tables.storage import schema
from worlddb.query.graph_query.query_steps import Step
from worlddb.reconciler.commands import commands
from worlddb.reconciler.commands.outcome import NOTES
from worlddb.reconciler.edge_types.builtin_types import DEFAULT_ONTOLOGY
from worlddb.reconciler.transaction.receipts import REST_FIELDS

_PUBLIC = """
    AccessKey Account AccountPlan Accounts Grant Limits NewKey PlanLimit Usage UsageMeter UsageReport
    Absence AnswerWithout KeptReceipt PlannedEnd Resting RestingPath Withdrawal Withdrawn
    RecallCheck RecallProof RecallReceipt check_recall read_recall_receipt recall_receipt_text
    Artifact InvalidKref Kref parse_kref Competing Conditions Mark Near ON_NEAR Restatement
    Atom BeliefSettings Entrenched Plan PlannedChange
    Preference SessionMemory IngestedMemory DiscoveredEdge
    WorkingMemory WorkingMessage EndpointRedactor Finding Guarded Redactor find_credentials find_personal_data redact
    Identity KnownFact OlderTables Upgraded upgrade Added Memory Profile memory
    AmbiguousReference Batch Bookmark Change Clock ClockJump Committed Conflict DamagedStore Database Difference Edge
    Entropy Entry Erasure Extraction Extractor FOREVER ForkedProcess Group Head Hit IdempotencyConflict InputError
    InvalidInterval DiskFull
    InvalidSparql QueryLimit
    InvalidText InvalidTime LimitExceeded MAX_CONTENT_BYTES MAX_NAME_BYTES MalformedFile ManualClock NewerFormat Node
    NotAStore Note Pending PlaceTaken Proposal Rebuilt Recall Receipt Refused RefusedError Relation Replayed
    SeededEntropy Staged
    StoreClosed StoreError SystemClock SystemEntropy TimeLike Turn UnavailableError UnknownEdgeType UnknownReference
    Valid Verified Version View World WorldDBError WriterBusy checked_text diff format_time open parse_time
    Thresholds KeyPair Learned MAX_CHECKPOINT_BYTES MAX_PROOF_BYTES ProofCheck check_proof new_key sign_checkpoint
    group_hits
    BlankNode ErasedStatement Iri Literal LiteralErasurePlan Statement Term Triple term_of
    EntityExtractor MENTION_KINDS Mention ChatMessage read_message
    EXTRACTION_PROMPT EndpointExtractor ExtractedFact
    ContextEnricher ENRICHMENT_PROMPT EndpointEnricher Enriched Enricher Enrichment Occurrence Segment
    Consolidated EndpointSummarizer ExtractiveSummarizer Member SUMMARY_PROMPT Summarizer
    ASSESSMENT_PROMPT AssessedMemory Assessment Assessor Decay DreamSchedule Dreamt EndpointAssessor
    Neighbour Retained RuleAssessor
    Step DecidedEvent Hypothesis HypotheticalStore Redecided Redecision
    Fork Merge MergeChange MergeConflict
    Bundle ImportPlan InvalidBundle OutsideEffect UnprovedBundle check_bundle scratch_folder
    BackedUp BackupMismatch NotABackup ReadOnlyBackup Restored Snapshot restore
    ErasedLiteral ErasedText ErasedWorld ErasureCheck ErasurePlan ErasureReceipt KeptWorld MembersNotSaid
    AlteredRecord Blame BlamedEdge BlamedField CHANGE_KINDS Detail HISTORY_RELATIONS
    AcyclicHandler EdgeHandler EdgeType HandledEdge HandlerContext HandlerFailed Insert PairProposal PlainHandler
    Rewritable WorldText Written
    Considered Contender Likeness Loaded Loss Reclustering Tiebreaker Tuning
    Density EntityPath Streams
    Basis Changes Held Reach Reached Shift Stale State Vocabulary TRUST_LEVELS Trusted
    BoundQuery Composed POOLS Query Stage Subgraph
    Diagnosis Symptom diagnose
    CallableEmbedder CrossEncoderReranker EMBEDDERS EndpointEmbedder FastembedEmbedder MiniLMEmbedder MiniLMReranker
    MultilingualEmbedder SentenceTransformersEmbedder embedder_named
    Embedder Embedding EmbeddingSpace Reembedding FUSIONS HitGroup LANES ModelUnavailable Reranker StaticEmbedder rerank
    """
PUBLIC = set(_PUBLIC.split())
"""Removing one breaks somebody's program, adding one is a promise: both are changes to this list."""

PLAIN_VALUES = {
    "FOREVER",
    "MAX_CHECKPOINT_BYTES",
    "MAX_PROOF_BYTES",
    "MAX_CONTENT_BYTES",
    "MAX_NAME_BYTES",
    "TimeLike",
    "Term",
}
PLAIN_VALUES |= {
    "ON_NEAR",
    "Term",
    "TRUST_LEVELS",
    "MENTION_KINDS",
    "EXTRACTION_PROMPT",
    "SUMMARY_PROMPT",
    "ASSESSMENT_PROMPT",
    "CHANGE_KINDS",
    "HISTORY_RELATIONS",
    "FUSIONS",
    "LANES",
    "POOLS",
    "EMBEDDERS",
}
"""Public names that cannot have a docstring of their own."""

REFERENCE, FORMAT = text_of("docs/reference.md"), text_of("docs/format.md")


def section(text: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level or a higher one."""
    level = heading.partition(" ")[0]
    return re.split(rf"^#{{1,{len(level)}}} ", text.split(f"{heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every table row in a text, without the head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if not set(line) <= set("|- ") and not (after and set(after) <= set("|- ")):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def quoted(text: str) -> list[str]:
    """What stands in backquotes."""
    return re.findall(r"`([^`]*)`", text)


# -- the reference


def signature(function: Callable[..., Any]) -> str:
    """Names of arguments without types and defaults; a star before those that are given by name."""
    parts: list[str] = []
    starred = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            parts.append(f"*{parameter.name}")
            starred = True
        elif parameter.name != "self":
            if parameter.kind is parameter.KEYWORD_ONLY and not starred:
                parts.append("*")
                starred = True
            parts.append(parameter.name)
    return f"{function.__name__}({', '.join(parts)})"


def methods(kind: type) -> Iterator[Callable[..., Any]]:
    yield from (each for name, each in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_"))


_DOCUMENTED = (worlddb.Database, worlddb.Batch, worlddb.Memory, worlddb.View, worlddb.HandlerContext)


def documented_callables() -> list[Callable[..., Any]]:
    functions = [getattr(worlddb, name) for name in PUBLIC if inspect.isfunction(getattr(worlddb, name))]
    return functions + [each for kind in _DOCUMENTED for each in methods(kind)]


def test_the_public_names_are_these() -> None:
    assert set(worlddb.__all__) == PUBLIC
    assert len(worlddb.__all__) == len(PUBLIC)


def test_each_public_name_is_loaded_from_where_type_checkers_read_it() -> None:
    read = ast.parse((ROOT / "worlddb/public.py").read_text("utf-8"))
    homes = {
        alias.asname or alias.name: (str(node.module).removeprefix("worlddb."), alias.name)
        for node in ast.walk(read)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert vars(worlddb)["_PLACES"] == homes


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_is_in_the_reference_and_says_what_it_is(name: str) -> None:
    assert re.search(rf"`{name}[`(]", REFERENCE)
    if name not in PLAIN_VALUES:
        own = getattr(worlddb, name).__doc__
        # A struct without a docstring is given its signature as one.
        assert own and not own.startswith(f"{name}(")


def test_every_public_call_has_a_docstring_and_its_signature_is_in_the_reference() -> None:
    for function in documented_callables():
        if function.__name__ not in ("close",):
            assert function.__doc__, function
        assert f"`{signature(function)}`" in REFERENCE, signature(function)


def test_every_operator_of_a_query_is_in_the_reference_with_its_fields() -> None:
    part = section(REFERENCE, "### Queries")
    made = {name: each for name, each in vars(worlddb.Query.__mro__[1]).items() if not name.startswith("_")}
    assert made.keys() >= {"traverse", "as_of"}
    for each in made.values():
        assert each.__doc__ and f"`{signature(each)}`" in part, signature(each)
    told = {name: tuple(quoted(row[1])) for row in rows(part) for name in quoted(row[0]) if name != "op"}
    for kind in get_args(Step):
        name = str(kind.__struct_config__.tag)
        assert told.pop(name)[: len(kind.__struct_fields__)] or not kind.__struct_fields__
        assert name in made
    assert not told


def test_the_fields_of_every_record_are_in_the_reference() -> None:
    told = {
        quoted(row[0])[0]: tuple(quoted(row[1]))
        for heading in ("## Records", "## Statements", "## Taking in text", "## Edge types of your own")
        for row in rows(section(REFERENCE, heading))
    }
    fields = {name: _fields(getattr(worlddb, name)) for name in PUBLIC}
    assert told == {name: found for name, found in fields.items() if found is not None and name != "View"}
    assert set(quoted(section(REFERENCE, "## Reading"))) >= {"seq", "ingested", "valid"}


def _fields(kind: Any) -> tuple[str, ...] | None:
    found = getattr(kind, "__struct_fields__", None) or getattr(kind, "_fields", None)
    if found is None and getattr(kind, "__struct_config__", None) is not None:
        return ()
    return None if found is None else tuple(found)


def test_every_error_is_in_the_reference_with_its_codes() -> None:
    errors = [getattr(worlddb, name) for name in PUBLIC]
    kinds = [each for each in errors if isinstance(each, type) and issubclass(each, worlddb.WorldDBError)]
    told = {
        (quoted(name)[0], quoted(code)[0], int(number)) for name, code, number in rows(section(REFERENCE, "## Errors"))
    }
    assert told == {(each.__name__, each.code, each.exit_code) for each in kinds}


def test_every_kind_of_change_and_every_relation_of_histories_is_in_the_reference() -> None:
    listed = list(rows(section(REFERENCE, "## What differs")))
    told = {quoted(name)[0]: meaning for name, meaning in listed}
    assert told == worlddb.CHANGE_KINDS | worlddb.HISTORY_RELATIONS


def test_every_edge_type_is_in_the_reference_and_on_the_page_of_links() -> None:
    names = {handler.name for handler in DEFAULT_ONTOLOGY}
    assert set(quoted(section(REFERENCE, "## Edge types").split(". What", 1)[0])) == names
    listed = section(text_of("docs/howto/link-worlds.md"), "## The built-in edge types")
    assert {quoted(row[0])[0] for row in rows(listed)} == names


def test_every_reason_for_a_refusal_and_every_note_is_in_the_reference() -> None:
    source = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "reconciler").rglob("*.py")))
    reasons = set(re.findall(r"refuse\(\s*\"([a-z_]+)\"", source)) | {
        f"{handler.name}_cycle" for handler in DEFAULT_ONTOLOGY if hasattr(handler, "on_insert") and _acyclic(handler)
    }
    told = {code for row in rows(section(REFERENCE, "## Reasons for a refusal")) for code in quoted(row[0])}
    assert told == reasons
    assert {quoted(row[0])[0] for row in rows(section(REFERENCE, "## Notes of a receipt"))} == set(NOTES)


def _acyclic(handler: object) -> bool:
    from worlddb.reconciler.edge_types.handler import AcyclicHandler

    return isinstance(handler, AcyclicHandler)


# -- the format


def test_the_fields_of_every_event_are_on_the_format_page_in_their_order() -> None:
    told = {
        quoted(row[0])[0]: tuple(quoted(row[1])) for row in rows(section(FORMAT, "### Events").split("| field |")[0])
    }
    kinds = get_args(events.AnyEvent)
    assert told == {str(kind.__struct_config__.tag): kind.__struct_fields__ for kind in kinds}
    explained = {
        name
        for row in rows("| field |" + section(FORMAT, "### Events").split("| field |")[1])
        for name in quoted(row[0])
    }
    assert explained == {name for kind in kinds for name in kind.__struct_fields__}


def test_headers_events_records_and_blobs_are_on_the_format_page_in_their_order() -> None:
    for heading, kind in (("### Header", codec.Header), ("### Events record", codec.Events)):
        listed = list(rows(section(FORMAT, heading)))
        assert [int(row[0]) for row in listed] == list(range(len(listed)))
        assert listed[0][2] == f'`"{kind.__struct_config__.tag}"`'
        assert tuple(quoted(row[1])[0] for row in listed[1:]) == kind.__struct_fields__
    listed = list(rows(section(FORMAT, "### Blobs").split("| code |")[0]))
    told = {quoted(row[0])[0]: tuple(quoted(row[1])) for row in listed}
    kinds = (*get_args(blobs.Blob), blobs.Struck)
    assert told == {str(kind.__struct_config__.tag): kind.__struct_fields__ for kind in kinds}


def test_what_is_kept_of_each_command_is_on_the_format_page_in_its_order() -> None:
    listed = rows("| code |" + section(FORMAT, "### Blobs").split("| code |")[1])
    told = {quoted(row[0])[0]: quoted(row[1]) for row in listed}
    assert told == {kind.CODE: list(REST_FIELDS[kind]) for kind in commands.ALL}


def test_every_hash_tag_is_on_the_format_page() -> None:
    tags = {value[1:].decode() for value in vars(hashing).values() if isinstance(value, bytes) and b"worlddb/" in value}
    assert {tag for tag in quoted(section(FORMAT, "## Hashes")) if tag.startswith("worlddb/")} == tags


def test_every_table_and_row_is_on_the_format_page_byte_by_byte() -> None:
    listed = [row for row in rows(section(FORMAT, "## Tables")) if row[0].startswith("`0x")]
    told = [(int(quoted(row[0])[0], 16), quoted(row[1])[0]) for row in listed]
    assert told == list(enumerate(schema.TABLES, schema.FIRST_TABLE_BYTE))
    for name, row, packed in (
        ("progress", schema.Progress, schema.PROGRESS),
        ("node", schema.NodeRow, schema.NODE),
        ("version", schema.VersionRow, schema.VERSION),
        ("alias", schema.AliasRow, schema.ALIAS),
        ("edge", schema.EdgeRow, schema.EDGE),
        ("proposal", schema.ProposalRow, schema.PROPOSAL),
        ("erasure", schema.ErasureRow, schema.ERASURE),
        ("registration", schema.RegistrationRow, schema.REGISTRATION),
    ):
        layout = re.search(rf"^{name} +(\d+)   (.+)$", section(FORMAT, "## Tables"), re.MULTILINE)
        assert layout is not None, name
        assert (int(layout[1]), layout[2]) == (packed.size, _layout(row._fields, packed))


def _layout(fields: tuple[str, ...], packed: struct.Struct) -> str:
    forms = {"Q": "u64", "q": "i64", "I": "u32", "i": "i32", "H": "u16", "B": "u8"}
    parts = re.findall(r"(\d+)s|([QqIiHB])", packed.format)
    return " | ".join(f"{name} {size or forms[code]}" for name, (size, code) in zip(fields, parts, strict=True))


def test_every_code_of_an_edge_type_is_on_the_format_page() -> None:
    listed = [row for row in rows(section(FORMAT, "## Tables")) if row[0].isdigit()]
    assert {quoted(row[1])[0]: int(row[0]) for row in listed} == schema.EDGE_TYPE_CODES
    assert {name for name in schema.LATER_BUILT_IN if f"`{name}`" not in section(FORMAT, "## Tables")} == set()


# -- the limits


def test_every_limit_is_stated() -> None:
    told = {quoted(row[2])[0]: int(re.sub(r"\D", "", row[1])) for row in rows(text_of("docs/limits.md"))}
    assert told == {name: value for name, value in vars(limits).items() if name.startswith("MAX_")}


# -- the benchmarks


def test_every_benchmark_is_on_the_page_of_performance() -> None:
    names = {path.stem for path in (ROOT / "bench").glob("*.py") if not path.stem.startswith("_")}
    listed = rows(section(text_of("docs/performance.md"), "## Programs"))
    told = {quoted(row[0])[0].split(" ")[0] for row in listed}
    assert told == {f"bench.{name}" for name in names}


# -- the rooms and the walks


def test_the_options_of_a_benchmark_that_a_page_names_are_those_it_has() -> None:
    """An option that was renamed stayed on the page of figures."""
    shared = "".join(path.read_text("utf-8") for path in (ROOT / "bench").glob("*/*.py"))
    named, unknown = 0, []
    for page in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "bench" / "README.md"]:
        for name, rest in re.findall(r"`[^`\n]*\bbench\.(\w+) ([^`\n]*)`", page.read_text("utf-8")):
            sources = (ROOT / "bench" / f"{name}.py").read_text("utf-8") + shared
            for option in re.findall(r"--[a-z][a-z-]*", rest):
                named += 1
                # argparse makes the opposite of some.
                if not any(f'"{each}"' in sources for each in (option, option.replace("--no-", "--"))):
                    unknown.append((page.name, name, option))
    assert named > 40 and unknown == []


def test_the_page_of_the_architecture_has_every_folder_of_the_product() -> None:
    rooms = ("log", "projections", "reconciler", "query", "worlddb", "tools")
    folders = {path.parent.relative_to(ROOT).as_posix() for room in rooms for path in (ROOT / room).rglob("*.py")}
    page = text_of("docs/architecture.md")
    assert not [each for each in folders - set(rooms) if f"{each}/" not in page and not each.startswith("tools/cli/")]


def test_the_walks_on_the_page_of_the_architecture_are_those_that_calls_take() -> None:
    taken = walks()
    for name in ("create", "recall"):
        listed = [
            file
            for row in rows(section(text_of("docs/architecture.md"), f"## A {name}, walked"))
            for file in quoted(row[1])
        ]
        assert len(listed) > 5 and set(listed) <= set(taken[name].functions), name
