"""``remember context profile``: what an agent does all day, by commands."""

from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner

HOME = ("--user", "ana", "--about", "Ana")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> LocalRunner:
    return LocalRunner(capsys, tmp_path / "store")


def test_a_user_moves_and_the_command_line_says_where_to(run: LocalRunner) -> None:
    lisbon = run.json("remember", "Ana lives in Lisbon.", *HOME, "--since", "2024-01-01")
    assert lisbon["notes"] == ["Nothing was written for user:ana before (capitals count)"]
    porto = run.json("remember", "Ana lives in Porto.", *HOME, "--since", "2025-01-01", "--source", "mail=7")
    assert [(near["ref"], near["relation"]) for near in porto["near"]] == [(lisbon["ref"], "replacement")]
    again = run.json("remember", "Ana lives in Porto.", *HOME, "--session", "second")
    assert (again["ref"], again["repeated"]) == (porto["ref"], 1)
    lines = run.json("context", "where does Ana live?", "--user", "ana")["context"].splitlines()
    assert len(lines) == 2 and "(a later one says: Ana lives in Porto.)" in lines[0] and "Porto" in lines[1]
    then = run.json("context", "where does Ana live?", "--user", "ana", "--valid", "2024-06-01")["context"]
    assert "Lisbon" in then and "Porto" not in then
    tight = run.json("context", "where does Ana live?", "--user", "ana", "--max-tokens", "3")
    assert tight["context"] == "" and "did not fit: --max-tokens " in tight["note"]
    plain = run("context", "where does Ana live?", "--user", "ana", "--max-tokens", "3")
    assert plain.out.startswith("What is known about that does not fit.") and "did not fit: --max-tokens" in plain.out
    profile = run.json("profile", "--user", "ana")
    assert [fact["content"] for fact in profile["kinds"]["Fact"]] == ["Ana lives in Porto.", "Ana lives in Lisbon."]
    assert profile["people"] == {"ana": 2}
    before = run.json("profile", "--user", "ana", "--ingested", str(lisbon["seq"]))
    assert [fact["ref"] for fact in before["kinds"]["Fact"]] == [lisbon["ref"]]
    with worlddb.memory(run.store, user="ana") as mem:
        found = mem.recall("where does Ana live?").hits
        assert [hit.ref for hit in found] == [porto["ref"], lisbon["ref"]]
        assert found[0].source["mail"] == "7"


def test_what_is_tried_in_a_fork_of_a_user_is_no_memory_of_theirs(run: LocalRunner, tmp_path: Path) -> None:
    run.json("remember", "Ana lives in Lisbon.", *HOME)
    fork = run.json("fork", "user:ana", "--name", "what if")["refs"][0]
    run.json("create", "Fact", "", "--content", "Ana sells her boat.", "--world", fork)
    found = run.json("recall", "does Ana sell her boat?", "--user", "ana")
    assert [hit["content"] for hit in found["hits"]] == ["Ana lives in Lisbon."]
    tried = run.json("recall", "does Ana sell her boat?", "--confine", fork)
    assert tried["hits"][0]["content"] == "Ana sells her boat."
    run.json("export", "--user", "ana", str(tmp_path / "ana.jsonl"), "--format", "jsonl")
    assert "boat" not in (tmp_path / "ana.jsonl").read_text()


def test_a_change_that_is_not_seen_today_says_so(run: LocalRunner) -> None:
    home = run.json("create", "Fact", "", "--content", "Ana lives in Lisbon.", "--valid-from", "2024-01-01")["ref"]
    assert run.json("revise", home, "--content", "Ana lives in Porto.", "--valid-from", "2025-01-01")["notes"] == []
    [note] = run.json("revise", home, "--content", "Ana lives in Faro.", "--valid-from", "2024-06-01")["notes"]
    assert note["code"] == "found_now" and "still says 'Ana lives in Porto.'" in note["text"]
    assert "give --replace-later" in note["text"]
    assert run.json("revise", home, "--content", "Ana lives in Braga.")["notes"] == []
    [gone] = run.json("revise", home, "--content", "Ana lives in Evora.", "--valid-from", "2025-06-01")["notes"]
    assert "'Ana lives in Braga.', written at" in gone["text"] and "holds at no time any more" in gone["text"]
    assert "The new content is blank" in run("revise", home, "--content", " ").err
    [hidden] = run.json("expire", home, "--expires-at", "2020-01-01")["notes"]
    assert "so nothing finds it" in hidden["text"]


def test_a_bare_name_is_no_answer_and_a_tag_finds_what_it_stands_for(run: LocalRunner) -> None:
    home = run.json("remember", "Ana lives in Lisbon.", *HOME)["ref"]
    run.json("tag", home, "told")
    run.json("revise", home, "--content", "Ana lives in Porto.")
    for user in (("--user", "ana"), ()):
        found = run.json("recall", "where does Ana live?", *user)
        assert [hit["content"] for hit in found["hits"]] == ["Ana lives in Porto."]
        assert "ana" in {each["name"] for each in found["named"]}
    assert "only a name" not in run("recall", "Ana", "--user", "ana").out
    assert [hit["name"] for hit in run.json("recall", "Ana", "--type", "Entity")["hits"]] == ["ana"]
    assert [hit["content"] for hit in run.json("recall", "Ana", "--tag", "told")["hits"]] == ["Ana lives in Lisbon."]
    run.json("retire", home)
    alone = run("recall", "Ana", "--user", "ana").out
    assert alone.startswith("Nothing in user:ana (") and "only a name: ana (" in alone
    entry = run.json("show", "ana")["ref"]
    for option in ("--world", "--scope", "--confine"):
        assert run("recall", "Porto", option, entry).out.startswith(f"Nothing in ana ({entry[:12]}) answers that.")


def test_what_is_replaced_or_contradicted_or_concluded_is_linked(run: LocalRunner) -> None:
    old = run.json("remember", "The rate is 3 %.", "--since", "2024-01-01")["ref"]
    new = run.json("remember", "The rate is 4 %.", "--replaces", old, "--since", "2025-01-01", "--why", "the letter")
    other = run.json("remember", "The rate is 5 %.", "--contradicts", new["ref"], "--type", "Claim", "--name", "rumour")
    run.json("remember", "The loan is dear.", "--derived-from", new["ref"])
    assert run("show", old).code == 1
    assert {(edge["type"], edge["source"]) for edge in run.json("show", new["ref"])["edges"]} >= {
        ("supersedes", new["ref"]),
        ("contradicts", other["ref"]),
    }
    assert run.json("show", "rumour")["type"] == "Claim"


def test_every_read_takes_a_user_and_shows_nothing_of_another(run: LocalRunner) -> None:
    run.json("remember", "Ana likes tea.", "--user", "ana")
    run.json("remember", "Ben likes tea.", "--user", "ben")
    for command in (["recall", "tea"], ["children"], ["query", "--type", "Fact"]):
        told = run(*command, "--user", "ana").out
        assert "Ana likes tea." in told and "Ben" not in told
    assert run("recall", "tea", "--user", "anna").code == 1
    for command in (["context", "tea"], ["profile"]):
        assert "nothing was written for the user 'anna' before" in run(*command, "--user", "anna").out
        assert run.json(*command, "--user", "ana")["note"] == ""
    assert run("recall", "tea", "--user", "ana", "--confine", "user:ben").code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["remember", " "], "blank"),
        (["remember", "It rains.", "--since", "yesterday"], "since"),
        (["remember", "It rains.", "--source", "mail"], "--source 'mail' has no value"),
        (["remember", "It rains.", "--source", "a=1", "--source", "a=2"], "--source names 'a' twice"),
        (["remember", "It rains.", "--replaces", "nothing"], "nothing"),
        (["remember", "It rains.", "--type", "Scope"], "cannot be a Scope"),
        (["remember", "It rains.", "--ttl", "abc"], "--ttl: 'abc' is not a number of seconds; write an hour as 3600"),
        (["remember", "It rains.", "--ttl", "1h"], "'1h' is not a number of seconds"),
        (["remember", "It rains.", "--ttl", "nan"], "'nan' is not a number of seconds"),
        (["remember", "It rains.", "--ttl=-60"], "'-60' is not a number of seconds"),
        (["working", "add", "It rains.", "--session", "s", "--ttl", "soon"], "'soon' is not a number of seconds"),
        (["recall", "rain", "--trust-weight", "much"], "'much' is not a number; write it as"),
    ],
)
def test_a_memory_that_is_refused_makes_no_memory(run: LocalRunner, words: list[str], said: str) -> None:
    run.json("init")
    told = run(*words)
    assert told.code in (1, 2) and said in told.err
    assert run.json("stats")["counts"]["worlds"] == 1


def test_a_user_of_a_whole_store_that_was_taken_in_is_the_same_user(run: LocalRunner, tmp_path: Path) -> None:
    """Nothing of theirs was found by ``context``, ``profile`` and the library, and a second user of the name began."""
    run.json("remember", "Hal lives in Bonn.", "--user", "hal", "--about", "Hal")
    run.json("export", "--out", str(tmp_path / "all.bundle"))
    run.store = tmp_path / "first"
    run.json("import", str(tmp_path / "all.bundle"))
    run.json("export", "--out", str(tmp_path / "twice.bundle"))
    run.store = tmp_path / "second"
    run.json("import", str(tmp_path / "twice.bundle"))
    for store in (tmp_path / "first", tmp_path / "second"):
        run.store = store
        assert "Bonn" in run.json("context", "where does Hal live?", "--user", "hal")["context"]
        with worlddb.memory(store, user="hal") as mem:
            assert [hit.content for hit in mem.recall("where does Hal live?", k=1).hits] == ["Hal lives in Bonn."]
            assert mem.add("Hal likes tea.", about="Hal").notes == ()
            assert mem.add("Hal lives in Bonn.", about="Hal").repeated == 1
        # What is written now lies in the world that came.
        found = run.json("recall", "Bonn tea", "--user", "hal")["hits"]
        assert {hit["content"] for hit in found if hit["content"]} == {"Hal lives in Bonn.", "Hal likes tea."}
        assert run.json("show", found[0]["ref"], "--user", "hal")["ref"] == found[0]["ref"]
        told = {each["content"] for each in run.json("children", "--user", "hal")["children"]}
        assert told > {"Hal lives in Bonn.", "Hal likes tea."}
        assert run("query", "--user", "hal", "--text", "Bonn").code == 0
        run.json("export", "--user", "hal", "--out", str(tmp_path / f"{store.name}.hal"))
        with worlddb.open(store) as db:
            db.forget_user("hal", reason="asked")
            assert worlddb.memory(db, user="hal").recall("Bonn tea").hits == ()
    archive = tmp_path / "archive"
    with worlddb.open(archive) as db:
        db.import_bundle(tmp_path / "all.bundle", into=db.create("Archive", "2026"))
        assert worlddb.memory(db, user="hal").recall("Bonn").note, "what lies in an archive is nobody's here"


def test_a_user_with_two_worlds_is_told_how_to_join_them_by_commands_that_do(run: LocalRunner, tmp_path: Path) -> None:
    """`export --user` said "Name one of these", and nothing said how one becomes of two."""
    run.json("remember", "Ana lives in Lisbon.", *HOME)
    run.json("export", "--user", "ana", "--out", str(tmp_path / "ana.bundle"))
    run.store = tmp_path / "second"
    run.json("remember", "Ana lives in Porto.", *HOME)
    run.json("import", str(tmp_path / "ana.bundle"))
    refused = run("export", "--user", "ana", "--out", str(tmp_path / "both"))
    own, came = (each["ref"] for each in run.json("children")["children"])
    assert refused.code == 2 and "has 2 worlds" in refused.err
    for told in (f"worlddb children {came[:12]}", f"--to {own[:12]}", f"worlddb retire {came[:12]}"):
        assert told in refused.err
    assert run("query", "--user", "ana", "--text", "Porto").code == 2
    run.json("move", *[each["ref"] for each in run.json("children", came)["children"]], "--to", own)
    run.json("retire", came)
    run.json("remember", "Ana has a dog.", *HOME)
    run.json("export", "--user", "ana", "--out", str(tmp_path / "both"))
    found = run.json("recall", "Ana Lisbon Porto dog", "--confine", own)["hits"]
    assert {hit["content"] for hit in found} >= {"Ana lives in Lisbon.", "Ana lives in Porto.", "Ana has a dog."}


def test_files_of_a_user_who_came_in_a_bundle_go_into_the_world_that_came(run: LocalRunner, tmp_path: Path) -> None:
    run.json("remember", "Ana lives in Lisbon.", *HOME)
    run.json("export", "--user", "ana", "--out", str(tmp_path / "ana.bundle"))
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "I adopted a cat."}]', "utf-8")
    run.store = tmp_path / "second"
    run.json("import", str(tmp_path / "ana.bundle"))
    run.json("ingest", tmp_path / "chat.json", "--user", "ana")
    assert run.json("ingest", tmp_path / "chat.json", "--user", "ana")["events"] == 0
    assert len(run.json("children")["children"]) == 1
    assert "cat" in run.json("context", "what did Ana adopt?", "--user", "ana")["context"]


def test_messages_that_came_in_a_bundle_are_not_written_again(run: LocalRunner, tmp_path: Path) -> None:
    """Keys do not travel: each message with an id or a time was there twice."""
    chat = [
        {"role": "user", "content": "I play the oboe.", "timestamp": "2026-10-01T09:00:00Z"},
        {"role": "assistant", "content": "Lovely.", "timestamp": "2026-10-01T09:00:05Z"},
        {"role": "user", "content": "My sister is Una.", "id": "m-2"},
    ]
    with worlddb.memory(run.store, user="hal", session="s") as mem:
        refs = mem.add(chat).ids
        mem.correct(refs[0], "I play the oboe no more.")
        (scope,) = mem.db.view().worlds_of_user("hal")
        mem.db.export(scope.ref, tmp_path / "hal.bundle")
    with worlddb.open(tmp_path / "other") as db:
        db.import_bundle(tmp_path / "hal.bundle")
        mem = worlddb.memory(db, user="hal", session="s")
        assert mem.add(chat).repeated == 3 and len(db.view().worlds_of_user("hal")) == 1
        more = mem.add([*chat, {"role": "user", "content": "She is nine.", "id": "m-3"}])
        assert (len(more.ids), more.repeated) == (1, 3)
        assert mem.add([{**chat[0], "content": "I play the flute."}]).repeated == 0, "of that time, and another text"


def test_a_file_that_is_refused_leaves_no_user_behind(run: LocalRunner, tmp_path: Path) -> None:
    """A misspelt user had a world from then on, and nothing said any more that nothing was written for them."""
    run.json("remember", "Hal lives in Bonn.", "--user", "hal")
    broken, chat = tmp_path / "broken.json", tmp_path / "chat.json"
    broken.write_text("no format of any", "utf-8")
    chat.write_text('[{"role": "user", "content": "I adopted a cat."}]', "utf-8")
    assert run("ingest", broken, "--user", "zed").code == run("ingest", chat, "--user", " hal").code == 2
    assert run.json("profile", "--user", "zed")["note"] and not run.json("profile", "--user", "zed")["kinds"]
    run.json("ingest", chat, "--user", "hal")
    assert run.json("ingest", chat, "--user", "hal")["events"] == 0
    found = run.json("recall", "which animal?", "--user", "hal", "--about", "Hal")["hits"]
    assert [hit["content"] for hit in found] == ["hal: I adopted a cat."], "what the user said is theirs"
    profile = run.json("profile", "--user", "hal")
    assert (list(profile["kinds"]), profile["messages"]) == (["Fact"], 1), "a conversation says nothing itself"


def test_an_export_and_an_import_of_conversations_take_a_user(run: LocalRunner, tmp_path: Path) -> None:
    """``export hal`` wrote the entity of the name alone, and ``ingest --into hal`` filled it, in silence."""
    run.json("remember", "Hal lives in Bonn.", "--user", "hal", "--about", "hal")
    whole = run.json("export", "--user", "hal", "--out", str(tmp_path / "a.bundle"))
    assert whole["worlds"] == 3
    assert run.json("export", "--user", "hal", str(tmp_path / "b.bundle"))["world"] == whole["world"]
    said = run("export", "hal", str(tmp_path / "c.bundle"))
    assert said.code == 1 and "--user" in said.err and not (tmp_path / "c.bundle").exists()
    run.json("export", "user:hal/hal", str(tmp_path / "c.bundle"))
    talk = tmp_path / "talk.jsonl"
    talk.write_text('{"speaker": "hal", "text": "I have a canoe.", "session": "one"}\n')
    for asked in (("ingest", str(talk), "--into"), ("recall", "canoe", "--world"), ("recall", "canoe", "--confine")):
        said = run(*asked, "hal")
        assert said.code == 1 and "lies inside another world" in said.err and "--user" in said.err, asked
    run.json("create", "World", "hal")
    said = run("ingest", str(talk), "--into", "hal", "--conversation", "other")
    assert "a world of type World; the user's is" in said.err + said.out
    assert not run.json("recall", "canoe", "--world", "user:hal/hal")["hits"], "the entry has none of it"
    assert run.json("recall", "canoe", "--world", "hal")["hits"]
    run.json("ingest", str(talk), "--user", "hal")
    assert "canoe" in run.json("context", "who has a canoe?", "--user", "hal")["context"]
    run.json("ingest", str(talk), "--user", "ida")
    assert "canoe" in run.json("context", "who has a canoe?", "--user", "ida")["context"]


def test_a_profile_says_that_nothing_was_ever_written_for_a_user(run: LocalRunner) -> None:
    run.json("remember", "Hal lives in Bonn.", "--user", "hal")
    with worlddb.memory(run.store, user="hall") as mem:
        assert (
            mem.profile().note == mem.recall("Bonn").note == "Nothing was written for user:hall before (capitals count)"
        )
    assert "capitals count" in run("context", "Bonn", "--user", "Hal").out
    with worlddb.memory(run.store, user="hal") as mem:
        assert mem.profile().note == ""


def test_a_name_alone_reaches_into_no_users_world_where_something_is_written(run: LocalRunner) -> None:
    """``revise Home`` changed the home of whichever user alone had one, and ``erase Home`` erased it."""
    run.json("remember", "Ana's home is by the river.", "--user", "ana", "--about", "Home")
    home = run.json("show", "Home")["ref"]
    writes = (
        ("revise", "Home", "--content", "sold"),
        ("retire", "Home"),
        ("pin", "Home"),
        ("label", "Home", "x"),
        ("link", "Home", "refers_to", "user:ana"),
        ("move", "Home", "--to", "root"),
        ("move", "user:ana", "--to", "Home"),
        ("erase", "Home", "--reason", "asked"),
        ("believe", "Home", "colour=red"),
        ("prefer", "Home", "prefers", "user:ana"),
        ("export", "Home", "home.bundle"),
        ("export", "Home", "home.jsonl", "--format", "jsonl"),
    )
    before = run.json("head")["seq"]
    for command in writes:
        said = run(*command)
        assert said.code == 1 and "user:ana" in said.err and "user:ana/Home" in said.err, (command, said.err)
    assert run.json("head")["seq"] == before
    run.json("revise", "user:ana/Home", "--content", "by the river")
    run.json("pin", home)
    other = run.json("create", "Note", "Home", "--world", "user:ana")["refs"][0]
    said = run("revise", "user:ana/Home", "--content", "which?")
    assert said.code == 2 and other[:12] in said.err and home[:12] in said.err, "a path may fit several, too"
    run.json("retire", other)
    own = run.json("create", "Entity", "Home")["refs"][0]
    run.json("revise", "Home", "--content", "everybody's")
    assert run.json("show", own)["content"] == "everybody's" and run.json("show", home)["content"] == "by the river"
    assert run.json("show", "Home")["ref"] == own, "what users call so is theirs"
    said = run("erase", "Home", "--reason", "asked")
    assert said.code == 2 and home[:12] in said.err and own[:12] in said.err and "--all" in said.err


def test_a_statement_that_is_sent_again_under_its_key_is_one(run: LocalRunner) -> None:
    said = ("remember", "Ana swims.", "--user", "ana", "--idempotency-key", "k")
    first, head = run.json(*said), run.json("head")
    again = run.json(*said)
    assert (again["ref"], again["seq"], again["repeated"]) == (first["ref"], first["seq"], 0)
    assert run.json("head") == head
    other = run("remember", "Ana runs.", "--user", "ana", "--idempotency-key", "k")
    assert other.code and "idempotency_conflict" in other.err


def test_a_user_whom_the_store_knew_of_only_later_is_not_called_misspelt(run: LocalRunner) -> None:
    run("remember", "Ana lives in Porto.", "--user", "ana", "--since", "2020-01-01")
    early = run("at", "2021-01-01", "recall", "Porto", "--user", "ana")
    assert early.code == 1 and "first knew of the user 'ana' at 20" in early.err and "--valid TIME" in early.err
    assert run("recall", "").out.count("no words") == 1
    run.json("create", "Entity", "Ana")
    assert (
        "There is no user 'Ana'; users are called 'ana'; of that name, but no user"
        in run("export", "--user", "Ana", "x.jsonl").err
    )
    assert "There is no user 'anna'" in run("at", "2021-01-01", "recall", "Porto", "--user", "anna").err
    assert "Porto" in run("recall", "Porto", "--user", "ana", "--valid", "2021-01-01").out
