"""What the default extractor finds in texts of several styles, and what holds for any text."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb import MENTION_KINDS, EntityExtractor, InputError, Mention, Turn
from worlddb.reconciler.ingest.mentions.mention_extractor import usage

FIND = EntityExtractor()


def found_in(*texts: str, speaker: str = "") -> list[list[tuple[str, str]]]:
    """The (type, form) of what each text mentions, when they are turns of one conversation."""
    said = FIND.mentions([Turn(text=text, speaker=speaker) for text in texts])
    return [[(mention.type, mention.form) for mention in each] for each in said]


def names(*texts: str, speaker: str = "") -> list[str]:
    (*_, last) = FIND.mentions([Turn(text=text, speaker=speaker) for text in texts])
    return [mention.form for mention in last if mention.kind == "name"]


GOLDEN: dict[str, list[tuple[str, str]]] = {
    "Hey Caroline! I met Dr. Smith and Ludwig van Beethoven at the University of Lisbon.": [
        ("Entity", "Caroline"),
        ("Person", "Dr Smith"),
        ("Entity", "Ludwig van Beethoven"),
        ("Entity", "University of Lisbon"),
    ],
    "Anna's brother likes J. K. Rowling, J.R.R. Tolkien, Jean-Luc Picard and O'Brien.": [
        ("Entity", "Anna"),
        ("Entity", "J. K. Rowling"),
        ("Entity", "J.R.R. Tolkien"),
        ("Entity", "Jean-Luc Picard"),
        ("Entity", "O'Brien"),
    ],
    "OpenAI and NASA tested GPT-4 on my iPhone, with Marks & Spencer.": [
        ("Entity", "OpenAI"),
        ("Entity", "NASA"),
        ("Entity", "GPT-4"),
        ("Entity", "iPhone"),
        ("Entity", "Marks & Spencer"),
    ],
    'we read \u201cThe Name of the Wind\u201d, then "Charlotte\u2019s Web". "Good morning", she said.': [
        ("Entity", "Name of the Wind"),
        ("Entity", "Charlotte's Web"),
    ],
    "On 21 November 2023, 2023-11-07, Nov 5th and in March 2024; since 2019, not on February 30, 2023.": [
        ("Date", "2023-11-21"),
        ("Date", "2023-11-07"),
        ("Date", "--11-05"),
        ("Date", "2024-03"),
        ("Date", "2019"),
    ],
    "It cost $1,200.50, then 3 million dollars, €5k or 12.5% for 5 km, 2-hour trips and 16gb.": [
        ("Amount", "1200.5 $"),
        ("Amount", "3000000 $"),
        ("Amount", "5000 €"),
        ("Amount", "12.5 %"),
        ("Amount", "5 km"),
        ("Amount", "2 h"),
        ("Amount", "16 GB"),
    ],
    "Mail Ann.B@Example.org, see (https://worlddb.example/docs). Or call +1 (555) 123-4567 now.": [
        ("EmailAddress", "ann.b@example.org"),
        ("WebAddress", "https://worlddb.example/docs"),
        ("PhoneNumber", "+15551234567"),
    ],
    "i went to paris with anna, she loves lisbon. lol": [],
    "I WENT TO PARIS WITH ANNA AND IT WAS GREAT!!": [],
    "## How To Bake The Best Bread\n\n- Prepare Your Space\n- Step 1: Mix Everything Well": [],
    "Yesterday was great. Sounds good! Don't worry. It's Monday, in May. I'm Ok.": [],
    "Use `FooBar` like so:\n```\nclass Foo Bar on 2023-01-01\n```\nthen ask Anna.": [("Entity", "Anna")],
    "мы были в Москве с Анной Петровой": [("Entity", "Москве"), ("Entity", "Анной Петровой")],
    "東京に行きました。مرحبا. नमस्ते": [],
    "I live in São Paulo and Zu\u0308rich": [("Entity", "São Paulo"), ("Entity", "Zürich")],
    "": [],
}


@pytest.mark.parametrize("text", GOLDEN)
def test_a_text_mentions_what_it_is_known_to(text: str) -> None:
    assert found_in(text) == [GOLDEN[text]]


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("-5 °C", ["-5 °C"]),
        ("5 °C", ["5 °C"]),
        ("\u22125 °C (-6 °C)", ["-5 °C", "-6 °C"]),
        ("-$5, $5, -1,200.50 €", ["-5 $", "5 $", "-1200.5 €"]),
        ("it fell by -3% and 3 percent", ["-3 %", "3 %"]),
        ("-0 km", ["0 km"]),
        ("5-10 km, $5-$10, 50%-60%, 5€-10€", ["10 km", "5 $", "10 $", "50 %", "60 %", "5 €", "10 €"]),
        ("--5 km, \u20135 km", []),
        ("1/2 cup, 2 1/2 cups, 1\u20442 cup, 1 / 2 cup, $1/2, $2 1/2", []),
        ("1 200 €, 1\u202f200 €, $1 200, 1'200 €, 10^5 km, 5:30 hours", []),
        ("5G and 5 G", []),
        ("5 g and 5 grams of 16GB", ["5 g", "5 g", "16 GB"]),
        ("5 km/h for $5/month", ["5 $"]),
        ("in 12\n5 km", ["5 km"]),
    ],
)
def test_an_amount_keeps_its_sign_and_is_left_out_where_it_may_be_a_part_of_one(text: str, forms: list[str]) -> None:
    assert [form for _, form in found_in(text)[0]] == forms


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("I think 10 may be enough, only 3 may enter", []),
        ("I march 10 miles, 12 mar 20 people", ["10 mi"]),
        ("in May 1,200 people came", []),
        ("on 10 may, 10th of may, march 3rd, 5 mar 2023", ["--05-10", "--05-10", "--03-03", "2023-03-05"]),
        ("10 May, March 3 and MAY 4", ["--05-10", "--03-03", "--05-04"]),
        ("at 2023-11-21T10:00:00Z, not 2023-11-213", ["2023-11-21"]),
        ("In March 1500 people came, on 5 March 1500 more; 1500-03-21", ["1500-03-21"]),
        ("in march 2021, 5 June 2199", ["2021-03", "2199-06-05"]),
    ],
)
def test_a_month_that_may_be_a_verb_and_a_number_that_may_be_no_year_make_no_date(text: str, forms: list[str]) -> None:
    assert [form for _, form in found_in(text)[0]] == forms


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("see https://en.wikipedia.org/wiki/Foo_(bar).", "https://en.wikipedia.org/wiki/Foo_(bar)"),
        ("(see https://en.wikipedia.org/wiki/Foo_(bar)).", "https://en.wikipedia.org/wiki/Foo_(bar)"),
        ("[a](https://a.example/b), c", "https://a.example/b"),
        ("[https://a.example/b[1]]", "https://a.example/b[1]"),
    ],
)
def test_a_bracket_belongs_to_an_address_that_opened_it(text: str, form: str) -> None:
    assert found_in(text) == [[("WebAddress", form)]]


def test_texts_longer_than_a_name_are_left_out() -> None:
    start = "https://a.example/"
    for length, found in ((255, 1), (256, 0)):
        assert len(found_in(start + "x" * (length - len(start)))[0]) == found


def test_a_capital_at_the_beginning_is_a_name_only_if_the_word_is_written_so_elsewhere() -> None:
    assert names("Lisbon is warm.") == []
    assert names("She loves Lisbon.", "Lisbon is warm.") == ["Lisbon"]
    assert names("Dinner is ready.", "Have dinner with me.", "Dinner is over.") == []


def test_a_word_that_is_mostly_written_small_is_no_name() -> None:
    assert names("It was a Great day, a great day, a great one.") == []
    assert names("I ate an apple.", "They work at Apple and for Apple.") == ["Apple", "Apple"]


def test_speakers_are_known_by_name_but_not_where_everything_is_in_capitals() -> None:
    assert names("Mel is here.") == []
    assert names("Mel is here.", speaker="Mel") == ["Mel"]
    assert names("MEL IS SO LATE AGAIN", speaker="Mel") == []


def test_what_is_written_otherwise_is_another_form() -> None:
    assert found_in("ask US and us", "go to the US") == [[("Entity", "US")], [("Entity", "US")]]
    assert names("at Openai", "at OpenAI") == ["OpenAI"]


def test_only_the_kinds_that_are_asked_for_are_found() -> None:
    (text,) = (text for text in GOLDEN if text.startswith("Mail"))
    turn = Turn(text=f"{text} On 1 May 2024, for $5, with Anna.")
    for kind in MENTION_KINDS:
        (found,) = EntityExtractor(kinds=[kind]).mentions([turn])
        assert {mention.kind for mention in found} == {kind}
    assert EntityExtractor(kinds=()).mentions([turn]) == [()]


def test_turns_are_given_as_to_ingest_and_what_is_none_is_told_with_its_place() -> None:
    said: dict[str, Any] = {"speaker": "Teo", "text": "I like New York."}
    assert FIND.mentions([said]) == FIND.mentions([Turn(**said)]) != [()]
    with pytest.raises(InputError, match=r"turns\[1\] is not a turn"):
        FIND.mentions([said, 7])  # type: ignore[list-item]


@pytest.mark.parametrize("kinds", ["name", ["name", "colour"], [3], None, 5])
def test_kinds_that_there_are_not_are_refused(kinds: object) -> None:
    with pytest.raises(InputError, match="kinds"):
        EntityExtractor(kinds=kinds)  # type: ignore[arg-type]


PIECES = (
    *("Anna", "anna", "van", "of", "the", "The", "Dr.", "J.", "NASA", "iPhone", "'s", "n't", "“", "”", '"', "`", "```"),
    *(
        "12",
        "$",
        "%",
        "km",
        "May",
        "ſept",
        "2023",
        "-",
        "/",
        ",",
        ".",
        "!",
        "\n",
        " ",
        "\u0301",
        "@",
        "://",
        "www.",
        "+",
    ),
    *("Ж", "東", "\u202e", "ß", "İ", "\U0001f600", "\ufffc", "(", ")", "&", "\x00", "\ud800", "K", "٣", "²"),
)
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join) | st.text()


def test_an_address_ends_where_code_begins() -> None:
    """It had a character for each of the code, which is in no text."""
    said = [Turn(text="See https://example.org/`code` and www.```code``` now.")]
    assert [mention.text for mention in FIND.mentions(said)[0]] == ["https://example.org/"]


@given(st.lists(st.builds(Turn, text=texts, speaker=texts), max_size=4))
def test_any_text_has_mentions_inside_of_it_in_order_and_apart(turns: list[Turn]) -> None:
    said = FIND.mentions(turns)
    assert said == EntityExtractor().mentions(list(turns))
    assert len(said) == len(turns)
    for turn, mentions in zip(turns, said, strict=True):
        end = 0
        for mention in mentions:
            assert mention.text == turn.text[mention.start : mention.end] != ""
            assert mention.start >= end
            assert mention.kind in MENTION_KINDS and mention.form and mention.type
            end = mention.end


@given(st.lists(texts, max_size=3))
def test_the_extraction_names_turns_and_nodes_that_there_are(said: list[str]) -> None:
    found = FIND([Turn(text=text) for text in said])
    labels = {node.label for node in found.nodes}
    assert len(labels) == len(found.nodes)
    assert {edge.target for edge in found.edges} == labels
    pairs = [(edge.source, edge.target) for edge in found.edges]
    assert len(set(pairs)) == len(pairs)
    assert all(edge.source in range(len(said)) for edge in found.edges)


HOSTILE = (
    *("a", "A", "Aa ", "The ", "Aa of ", "A.", "Dr. ", "1", "1,", "1.", "$1,", "1 ", "+1", "+1 (", "a@", "a@b.", "'s "),
    *(
        '"',
        "“Aa ",
        "`",
        "```",
        "`a",
        "https://",
        "https://a ",
        "www.",
        "5 May",
        "5 may ",
        "1 2 ",
        "-5 ",
        "https://a)",
        "5  ",
        "May 5 ",
        "in 2",
        "\u0301",
        "& ",
    ),
    *(" ", "\n", "n't", "Aa-", "2023-", "1 million ", "Anna's ", "O'", "(((", "1km", "Aa & "),
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_text_takes_time_in_proportion(piece: str) -> None:
    text = piece * (25_000 // len(piece))
    began = process_time()
    FIND.mentions([Turn(text=text)])
    assert process_time() - began < 0.5, "some hundredths of a second where nothing is looked at again and again"


def test_nothing_is_known_of_words_that_nobody_used() -> None:
    used = usage([])
    assert not used.is_name("anna") and not used.is_small("anna")


def test_a_mention_is_a_value() -> None:
    ((mention,),) = FIND.mentions([Turn(text="ask Anna")])
    assert mention == Mention("name", "Entity", "Anna", "Anna", 4, 8)
