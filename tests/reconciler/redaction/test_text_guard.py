"""Credentials refuse a write and personal data is taken out of it, by whatever way a text comes."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import worlddb
from tests.support.running import LocalRunner
from tests.tools.mcp.test_mcp_tools import call
from worlddb import Database, Extraction, Finding, Node, Turn
from worlddb.log.model import codec, errors
from worlddb.log.model.blobs import Body, Vector
from worlddb.log.redaction import credentials, personal_data
from worlddb.reconciler import pipeline
from worlddb.tools.mcp.session import Session
from worlddb.writing import WriteCalls

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MAIL, SAID = "ana.silva@example.org", "write to ana.silva@example.org"


def in_files(folder: Path, text: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="ada", embedder=None) as opened:
        opened.create("Topic", "team", key="team")
        opened.create("Fact", "one", key="one")
        yield opened


WRITES: dict[str, Callable[[WriteCalls, str], Any]] = {
    "name": lambda db, text: db.create("Note", text),
    "content": lambda db, text: db.create("Note", "n", content=f"it is {text}, mind you"),
    "aliases[1]": lambda db, text: db.create("Note", "n", aliases=["m", text]),
    "why": lambda db, text: db.create("Note", "n", why=text),
    "source.from.a[0]": lambda db, text: db.create("Note", "n", source={"from": {"a": [text]}}),
    "source.field 0 (its name)": lambda db, text: db.create("Note", "n", source={text: 1}),
    "properties.key": lambda db, text: db.create("Note", "n", properties={"key": text}),
    "content of revise": lambda db, text: db.revise("one", content=text),
    "content of reassert": lambda db, text: db.reassert("one", content=text),
    "why of retire": lambda db, text: db.retire("one", why=text),
    "properties.p": lambda db, text: db.link("one", "refers_to", "team", properties={"p": text}),
    "why of link": lambda db, text: db.link("one", "refers_to", "team", why=text),
    "aliases[0]": lambda db, text: db.alias("one", text),
    "labels[0]": lambda db, text: db.label("one", text),
    "labels[0] of tag": lambda db, text: db.tag("one", text),
    "name of bookmark": lambda db, text: db.bookmark(text),
    "source.s": lambda db, text: db.restate("one", source={"s": text}),
}


@pytest.mark.parametrize("place", WRITES)
def test_a_credential_is_refused_and_its_place_is_named(db: Database, place: str) -> None:
    if place == "content of reassert":
        db.retire("one")
    before = db.head()
    receipt = WRITES[place](db, TOKEN)
    assert receipt.outcome.code == "credential_rejected"
    told = receipt.outcome.reason
    assert f"The {place.partition(' of ')[0]} holds what looks like a credential (GitHub token) at characters" in told
    assert TOKEN[4:] not in f"{receipt!r}{receipt.outcome.remedy}"
    with pytest.raises(worlddb.RefusedError) as refused:
        receipt.raise_if_refused()
    assert TOKEN[4:] not in f"{refused.value!r}{refused.value.details}"
    assert db.head() == before
    assert not in_files(db.path, TOKEN)


@pytest.mark.parametrize("place", WRITES)
def test_personal_data_is_taken_out_of_the_same_places(db: Database, place: str) -> None:
    db.guard(personal="enforce")
    if place == "content of reassert":
        db.retire("one")
    receipt = WRITES[place](db, MAIL)
    assert receipt, receipt
    (note,) = [note for note in receipt.notes if note.code == "redacted"]
    assert note.refs[0].endswith("(email)") and MAIL not in str(note)
    db.view().recall("ana silva")
    assert not in_files(db.path, MAIL)
    assert db.verify(deep=True).ok


def test_a_batch_names_the_command_and_writes_nothing(db: Database) -> None:
    with pytest.raises(worlddb.RefusedError, match="credential") as refused, db.batch() as tx:
        tx.create("Note", "a")
        tx.create("Note", "b", content=TOKEN)
    assert refused.value.details["command"] == 1
    assert db.view().find(name="a") == []


def test_the_nearest_world_says_what_becomes_of_a_credential(db: Database) -> None:
    inner = db.create("Topic", "lab", world="team")
    db.guard(credentials="warn", world="team", why="rotated daily")
    written = db.create("Note", "n", content=TOKEN, world=inner)
    assert [(note.code, note.refs) for note in written.notes] == [
        ("credential_found", ("content (GitHub token at 0 to 40)",))
    ]
    assert not db.create("Note", "n", content=TOKEN)
    db.guard(credentials="off", world=inner)
    assert not db.create("Note", "m", content=TOKEN, world=inner).notes
    for wrong in ("", "on", "Off"):
        with pytest.raises(worlddb.InputError, match="off, warn, enforce, inherit"):
            db.guard(credentials=wrong, world=inner)
    db.guard(credentials="inherit", world=inner)
    assert db.create("Note", "o", content=TOKEN, world=inner).notes
    said = {each.world: (each.credentials, each.personal, each.why) for each in db.view().guards()}
    assert said == {db.view().reference_of("team"): ("warn", "", "rotated daily")}
    then = db.view(seq=3)
    assert (then.guards(), then.guards_at("team").credentials) == ([], "enforce")
    assert db.view(world="team").guards_at().credentials == "warn"
    assert db.rebuild().root == db.head().root
    assert db.view().guards_at(inner).credentials == "warn"


def test_what_is_said_of_a_world_is_said_once(db: Database) -> None:
    assert db.guard(personal="warn").events == 1
    assert db.guard(personal="warn").events == 0
    assert db.guard(credentials="warn").events == 1
    assert [(each.credentials, each.personal) for each in db.view().guards()] == [("warn", "warn")]
    for wrong in ({}, {"personal": "never"}, {"credentials": 3}):
        with pytest.raises(worlddb.InputError):
            db.guard(**wrong)


def test_a_guard_holds_from_the_command_that_sets_it(db: Database) -> None:
    with db.batch() as tx:
        before = tx.create("Note", "before", content=SAID)
        tx.guard(personal="enforce")
        home = tx.create("Topic", "home")
        behind = tx.create("Note", "behind", content=SAID, world=home)
    refs = tx.receipt.refs
    assert db.view().get(refs[before.position]).content == SAID  # type: ignore[union-attr]
    assert db.view().get(refs[behind.position]).content == "write to [email]"  # type: ignore[union-attr]


def test_a_warning_leaves_the_text_unchanged(db: Database) -> None:
    db.guard(personal="warn")
    written = db.create("Note", "n", content=f"{SAID} and b@example.org, phone +351 912 345 678")
    assert [str(note) for note in written.notes] == [
        "it was written, and a text holds personal data: content (email ×2, phone)"
    ]
    assert SAID in db.view().get(written).content  # type: ignore[union-attr]


def test_a_redacted_write_is_known_when_it_is_retried(db: Database) -> None:
    db.guard(personal="enforce")
    first = db.create("Note", "n", content=SAID, idempotency_key="k")
    assert db.create("Note", "n", content=SAID, idempotency_key="k") == first
    with pytest.raises(worlddb.IdempotencyConflict):
        db.create("Note", "n", content="something else", idempotency_key="k")


def test_a_keyed_text_that_is_redacted_again_is_no_change(db: Database) -> None:
    db.guard(personal="enforce")
    first = db.create("Note", "n", content=SAID, key="n")
    assert db.create("Note", "n", content=SAID, key="n").events == 0
    assert db.view().get(first).content == "write to [email]"  # type: ignore[union-attr]


def test_extracted_and_loaded_texts_are_guarded_too(db: Database) -> None:
    def extract(turns: Any) -> Extraction:
        return Extraction(nodes=[Node(label="x", type="Fact", name="x", content=TOKEN)])

    said = (
        db.ingest([Turn(speaker="ana", text="hello")], extractor=extract),
        db.ingest([Turn(speaker="ana", text=TOKEN)]),
    )
    assert [str(each)[:29] for each in said] == ["refused (credential_rejected)"] * 2
    with pytest.raises(worlddb.RefusedError) as refused:
        db.load(worlds={"type": ["A", "A"], "name": ["a", "b"], "content": ["", TOKEN]})
    assert refused.value.details["row"] == 1
    memory = worlddb.memory(db.path, user="ana")
    with pytest.raises(worlddb.RefusedError, match="GitHub token"):
        memory.add(f"my token is {TOKEN}")
    memory.close()
    assert not in_files(db.path, TOKEN)


def test_a_bundle_brings_neither(tmp_path: Path, db: Database) -> None:
    for number, (text, code) in enumerate(((TOKEN, "credential_rejected"), (SAID, "personal_data_rejected"))):
        with worlddb.open(tmp_path / f"other{number}", embedder=None) as other:
            other.guard(credentials="off")
            bundle = tmp_path / f"{number}.bundle"
            other.export(other.create("Note", "n", content=text).ref, bundle)
        if number:
            db.guard(personal="enforce")
        receipt = db.import_bundle(bundle)
        assert receipt.outcome.code == code  # type: ignore[union-attr]
        assert "content of text" in receipt.outcome.reason  # type: ignore[union-attr]
        assert text not in repr(receipt)


def test_a_secret_is_in_no_answer_of_a_tool_or_command(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(worlddb.RefusedError) as refused:
        call(Session(db), "memory_write", user_id="ana", text=f"the token is {TOKEN}")
    assert TOKEN not in f"{refused.value!r}{refused.value.details}"
    run = LocalRunner(capsys, db.path)
    written = run("create", "Note", "n", "--content", TOKEN)
    assert written.code == 3 and "GitHub token" in written.err and TOKEN not in written.out + written.err
    assert run.json("guard", "--credentials", "warn")["holds"]["credentials"] == "warn"
    assert "credentials warn, personal data off" in run("guard").out
    assert run("create", "Note", "n", "--content", TOKEN).code == 0


def test_a_redactor_is_asked_before_the_write_and_only_where_it_is_wanted(tmp_path: Path) -> None:
    asked: list[str] = []

    def hide_names(text: str) -> tuple[str, list[Finding]]:
        asked.append(text)
        at = text.find("Ana")
        return text.replace("Ana", "[name]"), [Finding("name", at, at + 3)] if at >= 0 else []

    with worlddb.open(tmp_path / "store", embedder=None, redactor=hide_names) as db:
        db.create("Note", "before", content="Ana was here")
        assert not asked
        db.guard(personal="enforce")
        made = db.create("Note", "n", content="Ana was there", idempotency_key="k")
        assert db.view().get(made).content == "[name] was there"  # type: ignore[union-attr]
        assert asked == ["Ana was there", "n"]
        assert db.create("Note", "n", content="Ana was there", idempotency_key="k") == made
    broken: Any = lambda text: (text, [(0, 1)])  # noqa: E731
    opened = worlddb.open(tmp_path / "store", embedder=None, redactor=broken)
    with opened as db, pytest.raises(worlddb.InputError, match="redactor"):
        db.create("Note", "n")


def test_a_model_adds_to_what_the_rules_find_and_changes_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(('{"found": [{"text": "Ana", "kind": "name"}, {"text": "nobody"}]}', "no JSON", "no"))
    redactor = worlddb.EndpointRedactor("http://127.0.0.1:9/v1", "m", retries=1)

    def answered(path: str, body: bytes, most_bytes: int) -> bytes:
        assert json.loads(body)["messages"][1]["content"]
        return json.dumps({"choices": [{"message": {"content": next(answers)}}]}).encode()

    monkeypatch.setattr(redactor._chat._endpoint, "post", answered)
    assert redactor("Ana and Anabel, a@example.org")[0] == "[name] and Anabel, [email]"
    assert (redactor("Ana, a@example.org")[0], redactor.failed) == ("Ana, [email]", 1)


CREDENTIALS = {
    "AWS access key": "AKIAQ3EGRTBX7ZKW4M5N",
    "AWS secret key": "aws_secret_access_key = wJa9rXUtnFEMI/K7MDENG+bPxRfiCYzQ4mVLxT0a",
    "Google API key": "AIzaSyD4e8Fh2kL0pQrStUvWxYz1aBcDwFgHiJk",
    "GitLab token": "glpat-x7Kq2mN9pR4sT6vW8yZa",
    "Slack token": "xoxb-190237465813-210987654322-AbXdEfGhIjKlMnOpQrStUvWx",
    "Slack webhook": "https://hooks.slack.com/services/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",
    "Discord token": "MTIzOTg3NjU0MzIxMDk4NzY1.GhT7aQ.Kp3vX9mN2bR5tY8wZ1qL4sD7fH0jC6uE",
    "Telegram token": "7203948123:AAHk3Vw9xQp2Lm7Rt5Yz8Nc1Bd4Fg6Hj0Ks",
    "Anthropic key": "sk-ant-api03-R7k2Vx9Qm4Lp8Tz3Wn6Yb1Hc5Jd0Fg-_AA",
    "OpenAI key": "sk-proj-R7k2Vx9Qm4Lp8Tz3Wn6Yb1Hc5Jd0FgT3BlbkFJa1s2d3f4g5h6",
    "Stripe key": "sk_live_R7k2Vx9Qm4Lp8Tz3Wn6Yb1Hc",
    "JSON Web Token": ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=")
        for part in (b'{"alg":"RS256"}', b'{"sub":"ana","iat":1716239022}', bytes(range(32)))
    ),
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{base64.b64encode(bytes(range(200))).decode()}\n-----END",
    "bearer token": "Authorization: Bearer 9f8a7b6c5d4e3f2a1b0c9d8e7f6a",
    "password in an address": "postgresql://app:tr0ub4dor@db.example.org/main",
}
NONE = (
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "x" * 36,
    "sk-your-api-key-goes-here-in-the-settings",
    "a task-force, a desk-bound risk-averse man",
    "Bearer token authentication is described on page 12",
    "http://localhost:8080/path@home",
    "postgresql://user:password@host/db",
    "commit 9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a",
    "-----BEGIN PUBLIC KEY-----",
    "keep the -----BEGIN RSA PRIVATE KEY----- header",
    "A line with -----BEGIN RSA PRIVATE KEY----- is where each of the keys begins, and a line like it ends them",
    f"-----BEGIN RSA PRIVATE KEY-----\n{'YourPrivateKeyGoesHereSoReplaceIt' * 2}\n-----END RSA PRIVATE KEY-----",
)


@pytest.mark.parametrize("kind", CREDENTIALS)
def test_a_form_of_credentials_is_found_in_a_text(kind: str) -> None:
    text = f"so: {CREDENTIALS[kind]} \n"
    assert [each.kind for each in credentials.find_credentials(text)] == [kind]
    for many in ("", "x" * 2_000):
        assert credentials.may_hold(f"{text}{many}".encode())


@pytest.mark.parametrize("line_end", ["\n", "\\n"])
def test_a_private_key_whose_random_signs_spell_a_placeholder_is_found(line_end: str) -> None:
    """Three in a thousand of 2,048 bits do, and were written to a store that refuses credentials."""
    body = base64.b64encode(bytes(range(200))).decode()
    begin, end = f"-----BEGIN PRIVATE KEY-----{line_end}", f"{line_end}-----END PRIVATE KEY-----"
    for spelt in (f"{body[:20]}yoUR{body[20:70]}{line_end}{body[70:]}", f"{body[:70]}{line_end}xXxXx{body[70:]}"):
        assert [found.kind for found in credentials.find_credentials(begin + spelt + end)] == ["private key"]
    for shortened in (f"{body[:70]}...{body[90:]}", f"{body[:70]} <your key> {body[90:]}", f"{body[:35]}EXAMPLE"):
        assert not credentials.find_credentials(begin + shortened + end)


WIDE = str.maketrans({chr(sign): chr(sign + 0xFEE0) for sign in range(0x21, 0x7F)})
HIDING: dict[str, Callable[[str], str]] = {
    "zero width": lambda key: f"{key[:3]}\u200b{key[3:9]}\u2060{key[9:]}",
    "soft hyphens": "\u00ad".join,
    "byte order mark": lambda key: f"{key[:1]}\ufeff{key[1:]}",
    "full width": lambda key: key.translate(WIDE),
    "hyphens of print": lambda key: key.replace("-", "\u2011"),
    "letters of formulas": lambda key: key.replace("k", "\U0001d5c4").replace("a", "\U0001d5ba"),
}
TOKENS = [kind for kind in CREDENTIALS if kind in credentials._JOINED_KINDS]


@pytest.mark.parametrize("how", HIDING)
@pytest.mark.parametrize("kind", CREDENTIALS)
def test_a_credential_is_found_however_it_is_hidden(kind: str, how: str) -> None:
    hidden = HIDING[how](CREDENTIALS[kind])
    text = f"so: {hidden}\u200b \n"
    (found,) = credentials.find_credentials(text)
    assert found.kind == kind and errors.unhidden(text[found.start : found.end])[0] in CREDENTIALS[kind]
    assert credentials.HIDING.search(text.encode()) and credentials.may_hold(text.encode())
    assert credentials.may_hold(text.encode() * 40)
    told = worlddb.InputError(f"There is no {text!r}, nor {text}", f"Not {text}").args
    assert not any(part in f"{told}" for part in (hidden, repr(hidden)[1:-1]))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\\\n", "\n    "])
@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_that_is_broken_by_a_line_end_is_found(kind: str, end: str) -> None:
    key = CREDENTIALS[kind]
    for at in (4, len(key) // 2, len(key) - 2):
        text = f"keys\n{key[:at]}{end}{key[at:]} and more\n"
        assert [each.kind for each in credentials.find_credentials(text)] == [kind]
        assert credentials.may_hold(text.encode())
    beside = f"the first:\n{key}\nNext\n"
    (found,) = credentials.find_credentials(beside)
    assert beside[found.start : found.end] == key[-len(beside[found.start : found.end]) :]


def test_a_hidden_credential_is_refused_and_its_place_is_that_in_the_text(db: Database) -> None:
    key = CREDENTIALS["OpenAI key"]
    for hidden in (f"sk-\u200b{key[3:]}", f"sk-\n{key[3:]}", key.translate(WIDE)):
        for refused in (
            db.create("Note", "n", content=f"it is {hidden}."),
            db.create("Note", hidden.replace("\n", "\u00ad")),
            db.create("Note", "n", source={"a": [hidden]}),
        ):
            assert refused.outcome.code == "credential_rejected"
            assert key[8:] not in refused.outcome.reason
        told = db.create("Note", "n", content=f"it is {hidden}.").outcome.reason
        assert f"characters 6 to {6 + len(hidden)}" in told
        with pytest.raises(worlddb.RefusedError, match="OpenAI key"):
            db.working.add(f"it is {hidden}.", session="s")
    assert not in_files(db.path, key[20:])


def test_lines_and_signs_of_other_languages_are_no_credentials(db: Database) -> None:
    texts = (
        "see http://localhost:\nsupport@example.org",
        "sk-\nthe-rest-of-the-sentence-goes-on-in-the-next-line-of-the-letter",
        "AKIA\nEXAMPLEEXAMPLE22",
        "价格：１００元，共３件。" * 20,
        "\N{HEAVY BLACK HEART}\ufe0f\u200d\N{FIRE} " * 50,
        "می\u200cخواهم",
    )
    for number, text in enumerate(texts):
        assert credentials.find_credentials(text) == []
        written = db.create("Note", f"n{number}", content=text)
        assert db.view().get(written).content == text  # type: ignore[union-attr]


@pytest.mark.parametrize("text", NONE)
def test_texts_that_resemble_credentials_are_accepted(text: str) -> None:
    assert credentials.find_credentials(text) == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("mail o'brien+x@mail.example.co.uk.", "mail [email]."),
        ("git@github.com:org/repo and @ana", "git@github.com:org/repo and @ana"),
        ("card 4539 1488 0343 6467, not 4539 1488 0343 6468", "card [card], not 4539 1488 0343 6468"),
        ("DE89 3704 0044 0532 0130 00 and not DE89 3704 0044 0532 0130 01 X", None),
        ("Lindenstraße 12, 10969 Berlin", "[address]"),
        ("at 221B Baker Street, London NW1 6XE, upstairs", "at [address], upstairs"),
        ("12 bis rue de la Paix, 75002 Paris", "[address]"),
        ("Calle Mayor 45, 28013 Madrid", "[address]"),
        ("Via Giuseppe Verdi 12, 20121 Milano", "[address]"),
        ("Rua Augusta, n.º 120, 1100-053 Lisboa", "[address]"),
        ("Kerkstraat 10, 1017 GC Amsterdam", "[address]"),
        ("ul. Marszałkowska 10/12, 00-590 Warszawa", "[address]"),
        ("Er wohnt Am Neuen Markt 5, 50667 Köln", "Er wohnt [address]"),
        ("Unter den Linden 77", "[address]"),
        ("aan Oude Delft 20, 2611 CD Delft", "aan [address]"),
        ("Der Markt 2024, und wir sahen am Markt 5 Stände", "Der Markt 2024, und wir sahen am Markt 5 Stände"),
        ("Op de Grote Markt stonden 200 mensen", "Op de Grote Markt stonden 200 mensen"),
        ("+49 30 901820, (415) 555-0132, 06 12 34 56 78", "[phone], [phone], [phone]"),
        (
            "on 2024-01-05 at 14:05, v1.2.3, 10.000 EUR",
            "on 2024-01-05 at 14:05, v1.2.3, 10.000 EUR",
        ),
        ("Graphiti et al. Reports 94, 45 minutes on the road", "Graphiti et al. Reports 94, 45 minutes on the road"),
    ],
)
def test_the_rules_find_personal_data(text: str, left: str | None) -> None:
    if left is None:
        assert personal_data.find_personal_data(text)[0] == Finding("iban", 0, 27)
        assert [each.kind for each in personal_data.find_personal_data(text)].count("iban") == 1
    else:
        assert worlddb.redact(text)[0] == left


def test_the_kept_receipt_of_a_recall_says_nothing_that_was_asked_or_shown(db: Database) -> None:
    """That it stays as it is, which a proof needs, is no hole: it holds no text."""
    db.guard(personal="enforce")
    db.create("Note", "deploy", content="the deploy is at noon")
    asked = db.view().recall(f"is {TOKEN} or {MAIL} for the deploy", exact=True, receipt=True).receipt
    assert asked is not None and asked.hits
    db.keep_receipt(asked)
    written = db.write_receipts()
    assert written and not written.notes
    assert not in_files(db.path, TOKEN) and not in_files(db.path, MAIL)


class MarkedEntropy:
    """Nonces that all hold the mark of a credential."""

    def __init__(self) -> None:
        self._drawn = 0

    def bytes(self, count: int) -> bytes:
        self._drawn += 1
        return self._drawn.to_bytes(4, "big") + (b"Q~" * count)[: count - 4]


def test_the_mark_of_a_credential_in_a_nonce_has_no_text_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a load every third batch was read twice, since thousands of random nonces hold every short mark."""
    read: list[str] = []

    def found(text: str) -> list[Finding]:
        read.append(text)
        return []

    monkeypatch.setattr(credentials, "find_credentials", found)
    with worlddb.open(tmp_path / "store", author="ada", embedder=None, entropy=MarkedEntropy()) as db:
        with db.batch() as tx:
            note = tx.create("Note", "one", content="some text", source={"line": 1})
            tx.link(note, "refers_to", tx.create("Note", "two"), properties={"sure": True})
        assert tx.receipt and not read
        assert db.create("Note", "Q~")
        assert "Q~" in read, "a text that holds the mark is read"


def test_vectors_are_not_searched_for_credentials() -> None:
    """They are most bytes of a batch of vectors, and no texts."""
    vector, body = Vector(b"n" * 16, b"of a vector" * 8), Body(b"n" * 16, "Note", "one", "of a text")
    draft = SimpleNamespace(
        author="ada", blobs=SimpleNamespace(stored=[None, *map(codec.encode, (vector, body))], fills={})
    )
    searched = b"".join(pipeline._chunks(draft))  # type: ignore[arg-type]
    assert b"of a text" in searched and b"of a vector" not in searched


def test_two_users_of_guarded_texts_stay_two(db: Database) -> None:
    """Both were called ``user:[email]``, and nobody was found again by what they are called."""
    db.guard(personal="enforce")
    ana = worlddb.memory(db, user=MAIL, agent="bot@example.org", session="call +351 912 345 678")
    bob = worlddb.memory(db, user="bob@example.org", session="call +351 912 345 679")
    told = ana.add(f"Ana lives in Lisbon, {SAID}.", about=MAIL)
    assert any("removed before writing" in note and "content" in note for note in told.notes)
    bob.add("Bob lives in Porto.")
    ana.add([{"role": "user", "content": f"My dog is called Rex, {SAID}", "id": "<1@mail.example.org>"}])
    bob.add([{"role": "user", "content": "My dog is called Tim", "id": "<2@mail.example.org>"}])
    names = {type: {each.name for each in db.view().find(type=type)} for type in ("Scope", "Session", "Entity")}
    assert names["Scope"] == {f"user:{MAIL}", "user:bob@example.org"}
    assert names["Session"] == {"call +351 912 345 678", "call +351 912 345 679"}
    assert names["Entity"] == {MAIL, "bob@example.org"}
    said = {hit.content for hit in bob.recall("dog").hits}
    assert "bob@example.org: My dog is called Tim" in said and not any("Rex" in each for each in said)
    turns = {each.content: each.source for each in db.view().find(type="Turn")}
    source = turns[f"{MAIL}: My dog is called Rex, write to [email]"]
    assert source["agent"] == "bot@example.org" and source["session"] == "call +351 912 345 678"
    assert source["message"] == "<1@mail.example.org>"
    assert any(hit.content.startswith("Ana lives in Lisbon, write to [email]") for hit in ana.recall("Lisbon").hits)
    assert not in_files(db.path, SAID)


def test_ids_stay_as_they_were_given_and_texts_do_not(db: Database) -> None:
    db.guard(personal="enforce")
    source = {"thread_id": MAIL, "key": MAIL, "from": {"user": MAIL, "said": SAID}, "ids": [MAIL], "session": SAID}
    made = db.create(
        "Note", MAIL, key=MAIL, content=SAID, source=source, properties={"userId": MAIL, "user": [MAIL], "of": SAID}
    )
    (found,) = db.view().find(name=MAIL)
    assert (found.ref, found.content) == (made.ref, "write to [email]")
    assert found.source == source | {"from": {"user": MAIL, "said": "write to [email]"}}
    assert found.properties == {"userId": MAIL, "user": [MAIL], "of": "write to [email]"}
    assert db.view().keyed(MAIL) is not None
    db.create("Person", MAIL)
    assert [each.type for each in db.view().find(name="[email]")] == ["Person"], "a name that is no id is a text"
    named = "<https://example.org/ana@example.org>"
    db.state("team", [(named, "<https://example.org/says>", f'"{SAID}"')])
    assert [str(each) for each in db.view().statements("team")] == [
        f'{named} <https://example.org/says> "write to [email]" .'
    ]
    assert db.accounts.create_key("ana@example.org", user=MAIL).key.user == MAIL
    refused = db.create("Scope", f"user:{TOKEN}")
    assert refused.outcome.code == "credential_rejected"


def test_speakers_who_are_called_by_addresses_stay_apart(db: Database) -> None:
    db.guard(personal="enforce")
    said = [Turn(speaker=each, text=f"I am {each}") for each in (MAIL, "bob@example.org")]
    db.ingest(said, conversation="a@example.org, b@example.org", idempotency_key="k")
    assert {each.name for each in db.view().find(type="Entity")} == {MAIL, "bob@example.org"}
    assert [each.content for each in db.view().find(type="Turn")] == [
        f"{MAIL}: I am [email]",
        "bob@example.org: I am [email]",
    ]
    assert db.view().find(type="Conversation")[0].name == "a@example.org, b@example.org"
    head = db.head()
    db.ingest(said, conversation="a@example.org, b@example.org", idempotency_key="k")
    assert db.head() == head, "a retry is known"


def test_a_bundle_of_a_guarded_user_comes_in_where_personal_data_is_kept_out(tmp_path: Path, db: Database) -> None:
    with worlddb.open(tmp_path / "other", embedder=None) as other:
        other.guard(personal="enforce")
        memory = worlddb.memory(other, user=MAIL)
        memory.add([{"role": "user", "content": SAID}])
        other.export(other.view().find(type="Scope")[0].ref, tmp_path / "bundle")
    db.guard(personal="enforce")
    assert db.import_bundle(tmp_path / "bundle")
    assert [each.name for each in db.view().find(type="Scope")] == [f"user:{MAIL}"]
