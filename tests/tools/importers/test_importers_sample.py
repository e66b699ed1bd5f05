"""The sample conversation of the demo holds the story that the demo tells."""

from __future__ import annotations

from worlddb.log.model.times import parse_time
from worlddb.tools.demo.story import LANDMARKS, sample_path
from worlddb.tools.importers import format_of, jsonlines

CLUES = {
    "lives in Lisbon": ("Mara", "live in Lisbon"),
    "the colleague John Okafor": ("John Okafor", "share an office"),
    "the landlord Jon Okafor": ("Jon Okafor", "the owner"),
    "the deposit": ("Jon Okafor", "1,450 euros"),
    "moved to Porto": ("Mara", "moved on 1 September"),
    "pets are not allowed": ("Jon Okafor", "does not allow pets"),
    "pets are allowed": ("Helena Brito", "allows pets"),
    "the appointment, as first told": ("Mara", "on 12 May"),
    "the appointment, corrected": ("Mara", "had been 21 May"),
}


def test_the_sample_is_a_conversation_of_some_forty_turns_over_fourteen_months():
    assert format_of(sample_path()).name == "jsonl"
    conversation = jsonlines.read(sample_path())
    turns = [turn for session in conversation.sessions for turn in session.turns]
    assert len(conversation.sessions) == 6
    assert 30 <= len(turns) <= 45
    times = [turn.at for turn in turns if isinstance(turn.at, int)]
    assert len(times) == len(turns)
    assert times == sorted(times)
    assert parse_time("2024-03-20") < times[0] < parse_time("2024-06-21")
    assert parse_time("2025-05-01") < times[-1] < parse_time("2025-09-22")
    assert {"Mara", "Sol", "Jon Okafor", "John Okafor"} < set(conversation.speakers)


def test_every_time_in_the_sample_is_written_in_utc():
    lines = sample_path().read_text(encoding="utf-8").splitlines()
    assert all('Z", "speaker"' in line for line in lines)


def test_the_landmarks_stand_where_the_story_turns():
    sessions = {session.name: session.turns for session in jsonlines.read(sample_path()).sessions}
    assert LANDMARKS.keys() == CLUES.keys()
    for what, (session, position) in LANDMARKS.items():
        turn = sessions[session][position]
        speaker, clue = CLUES[what]
        assert turn.speaker == speaker, what
        assert clue in turn.text, what
