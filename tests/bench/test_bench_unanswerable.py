"""Signals that nobody can answer a question: what is counted, and that the line comes from the other half."""

from __future__ import annotations

from bench.public_data.unanswerable import QuestionCoverage, Signals, flagged


def test_messages_count_that_have_most_of_a_questions_words_by_how_rare_they_are() -> None:
    said = ("The ferry to Ystad is late.", "Our ferry to Ystad was blue.", "It is late.", "The blue sky.")
    gathering = QuestionCoverage((*said, "Lunch was late."))
    assert gathering.count("Was the ferry to Ystad late?") == 2
    assert gathering.count("What does the ferry to Gotland cost?") == 0
    assert gathering.count("the") == 0
    assert gathering.count("Can you list the order in which I brought up the ferry to Ystad?") == 2


def test_a_line_is_drawn_on_one_half_and_judged_on_the_other() -> None:
    sure = [Signals(half, False, 0.9, 9) for half in (0, 1) for _ in range(40)]
    doubtful = [Signals(half, True, 0.1, 0) for half in (0, 1) for _ in range(4)]
    told = flagged([*sure, *doubtful])
    assert {(each["abstaining_flagged"], each["answerable_flagged"]) for each in told.values()} == {(8, 0)}
    # What looks alike in both halves but for its confidence is told by the messages, and by nothing else.
    alike = [each._replace(confidence=0.5) for each in (*sure, *doubtful)]
    found = flagged(alike)
    assert found["confidence"]["abstaining_flagged"] == 0
    assert found["confidence, and messages with most of the words"]["abstaining_flagged"] == 8
    # One half that is unlike the other is judged by the other's line, whatever its own would be.
    shifted = [each._replace(confidence=each.confidence / 9) if each.half == 1 else each for each in (*sure, *doubtful)]
    assert flagged(shifted)["confidence"]["by_half"][0] == (4, 40)


def test_one_half_alone_draws_no_line() -> None:
    assert flagged([Signals(0, False, 0.9, 9), Signals(0, True, 0.1, 0)]) == {}
