"""What texts are searched by: words, stems and character pairs, in any language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb.projections.indexes.analysis import (
    GRAMS,
    MAX_QUERY_GRAMS,
    MAX_QUERY_WORDS,
    OTHERWISE_BOOST,
    PLAIN,
    STEM,
    analyze,
    extract_statements,
    grams,
    matched_words,
    query_terms,
    stem_analyzer,
)


def sought(text: str, field: str) -> list[str]:
    return [term.text for term in query_terms(text) if term.field == field]


def test_english_words_that_differ_by_inflection_share_a_stem() -> None:
    assert analyze("moving moved moves move").stems == ("move",) * 4
    assert analyze("Adopted puppies").words == ("adopted", "puppies")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("résumé", "RESUME"),
        ("cafe\u0301", "café"),
        ("Straße", "STRASSE"),
        ("Łódź", "lodz"),
        ("İstanbul", "istanbul"),
        ("ﬁnance", "finance"),
        ("Ｗｏｒｌｄ", "world"),
        ("ΟΔΥΣΣΕΥΣ", "οδυσσεύς"),
        ("ёлка", "елка"),
        ("ЙОД", "йод"),
        ("كِتَاب", "كتاب"),
        ("أحمد", "احمد"),
        ("שָׁלוֹם", "שלום"),
        ("ex\u00adample", "example"),
        ("tiếng Việt", "TIENG VIET"),
    ],
)
def test_spellings_of_one_word_become_the_same_word(one: str, other: str) -> None:
    assert analyze(one).words == analyze(other).words != ()


@pytest.mark.parametrize("mark", ["\u2018", "\u2019", "\u02bc", "\u02bb", "\uff07", "\u0060", "\u00b4"])
def test_every_apostrophe_is_the_plain_one(mark: str) -> None:
    for text in ("I don't like my neighbour's rock 'n' roll", "'tis", "м'ята"):
        assert analyze(text.replace("'", mark)) == analyze(text)
        assert query_terms(text.replace("'", mark)) == query_terms(text)
        assert matched_words(text.replace("'", mark), query_terms(text)) == matched_words(text, query_terms(text))


@pytest.mark.parametrize(
    "sign", ["\u00a0", "\u00ab", "\u2013", "\u201d", "\u2026", "\u20ac", "\u2192", "\u25cf", "\U0001f389"]
)
def test_a_sign_beyond_ascii_parts_words_as_any_other_sign_does(sign: str) -> None:
    text, terms = f"the old{sign}harbours{sign}{sign}were busy{sign}", query_terms("busy harbour")
    assert matched_words(text, terms) == matched_words(text.replace(sign, "|"), terms) == ["harbours", "busy"]
    assert matched_words(f"{text} près du café", query_terms("cafe harbour")) == ["harbours", "cafe"]


def test_typographic_quotes_and_dashes_are_plain_ones() -> None:
    plain = 'He said "so - and no further..." (1 - 2)'
    typeset = "He said \u201cso \u2013 and no further\u2026\u201d (1\u2009\u2014\u20092)"
    assert analyze(typeset) == analyze(plain)
    assert analyze("\u201equoted\u201c \u00abwords\u00bb e\u2011mail") == analyze("'quoted' \"words\" e-mail")


def test_another_letter_stays_another_letter() -> None:
    assert analyze("мой").words != analyze("мои").words


@pytest.mark.parametrize(
    ("one", "other"), [("Москве", "Москва"), ("книги", "книга"), ("الكتاب", "كتاب"), ("المدرسة", "مدرسة")]
)
def test_russian_and_arabic_words_are_stemmed_by_their_own_rules(one: str, other: str) -> None:
    assert analyze(one).words != analyze(other).words
    assert analyze(one).stems == analyze(other).stems


def test_a_hindi_word_stays_whole() -> None:
    assert len(analyze("हिन्दी किताब").words) == 2


def test_a_word_has_the_same_stem_whichever_stemmers_its_text_passes() -> None:
    english = "The nationalists' conditional relocations were happily justified, adopted families studying psychology"
    hebrew_and_hindi = "שלום לכולם किताबें पढ़ना"
    for text in (english, hebrew_and_hindi):
        assert stem_analyzer(every=True).analyze(text) == stem_analyzer(every=False).analyze(text)


def test_unspaced_scripts_are_taken_by_characters_and_pairs() -> None:
    found = analyze("iPhone16を買った。東京タワー！")
    assert found.words == ("iphone16",)
    assert found.runs == ("を買った", "東京タワー")
    assert list(grams(("東京都",))) == ["東", "京", "都", "東京", "京都"]


@pytest.mark.parametrize("hidden", ["Al\u200bice", "\u202eAlice\u202c", "A\u200dl\u2060i\u00adce", "\ufeffAlice\u200f"])
def test_what_shows_nothing_makes_no_other_word(hidden: str) -> None:
    assert analyze(hidden).words == analyze("Alice").words == ("alice",)
    assert matched_words(f"I met {hidden} today", query_terms("Alice")) != []


@pytest.mark.parametrize("text", ["東京", "도쿄에", "กรุงเทพ", "ភ្នំពេញ", "ཀ་ཁ", "ရန်ကုန်", "コーヒー", "ｺｰﾋｰ", "𠮷野家"])
def test_scripts_without_spaces_make_runs_and_no_words(text: str) -> None:
    found = analyze(text)
    assert found.runs and not found.words


def test_a_question_loses_its_scaffolding() -> None:
    assert sought("When did Caroline go to the LGBTQ support group?", PLAIN) == [
        "caroline",
        "go",
        "lgbtq",
        "support",
        "group",
    ]


def test_a_question_of_scaffolding_only_keeps_it() -> None:
    assert sought("Who is it?", PLAIN) == ["who", "is", "it"]
    assert sought("who 東京", PLAIN) == []


@pytest.mark.parametrize("text", ["", "   ", "!?…—", "🙂", "\x00", "\ud800", '+-&&||!(){}[]^"~*?:\\/'])
def test_a_text_without_words_looks_for_nothing(text: str) -> None:
    assert query_terms(text) == ()


def test_query_syntax_is_only_text() -> None:
    assert query_terms('title:"moved" AND -(boston*)~2^3') != ()
    assert "moved" in sought('title:"moved" AND -(boston*)~2^3', PLAIN)
    assert "boston" in sought('title:"moved" AND -(boston*)~2^3', PLAIN)


def test_a_long_query_is_cut_to_its_first_distinct_words() -> None:
    text = " ".join(f"w{number}" for number in range(5 * MAX_QUERY_WORDS))
    assert sought(text, PLAIN) == [f"w{number}" for number in range(MAX_QUERY_WORDS)]
    assert len(sought("".join(chr(0x4E00 + at) for at in range(2000)), GRAMS)) == MAX_QUERY_GRAMS


def test_one_character_alone_counts_in_full_and_in_a_longer_run_little() -> None:
    alone = {term.text: term.weight for term in query_terms("猫")}
    longer = {term.text: term.weight for term in query_terms("猫好")}
    assert alone["猫"] == longer["猫好"] == 1.0
    assert longer["猫"] < 1.0


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Welches Gerät im Büro macht Ärger?", ["gerat", "buro", "macht", "arger"]),
        ("¿Qué mascota tiene la vecina de Clara?", ["mascota", "tiene", "vecina", "clara"]),
        ("¿Qué medicamento necesito?", ["medicamento", "necesito"]),
        ("Quel est le métier de Martin ?", ["metier", "martin"]),
        ("Che mestiere fa Martino nella città?", ["mestiere", "fa", "martino", "citta"]),
        ("Что нужно держать в тайне от Риты?", ["нужно", "держать", "таине", "риты"]),
        ("What did Die Hard say about Das Boot?", ["die", "hard", "say", "das", "boot"]),
        ("die Welt", ["die", "welt"]),
    ],
)
def test_a_question_is_searched_without_the_words_that_hold_its_language_together(
    question: str, words: list[str]
) -> None:
    assert [word.replace("й", "и") for word in sought(question, PLAIN)] == words


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("Thanks! I moved to Porto last week. How are you?", 1),
        ("I pomodori sul balcone sono morti per il caldo.", 0),
        ("Elle me dit que le train part à midi.", 0),
        ("El médico me ha dicho que no beba café.", 0),
        ("Me gusta el té, and so I left Die Zeit to my sister.", 1),
    ],
)
def test_only_a_sentence_that_is_not_of_another_language_states_something_in_the_first_person(
    text: str, statements: int
) -> None:
    """ "I" is an article in Italian and "me" a word of five languages: such notes came nearer to every question."""
    assert len(extract_statements(text).statements) == statements


@pytest.mark.parametrize(
    ("question", "kept", "dropped"),
    [
        ("丽娜会什么乐器", "乐器", "什么"),
        ("玲奈はどんな楽器を弾きますか", "楽器", "どん"),
        ("수진이에게 위험한 음식은 무엇인가요", "위험", "무엇"),
    ],
)
def test_so_is_one_in_chinese_japanese_and_korean(question: str, kept: str, dropped: str) -> None:
    assert kept in sought(question, GRAMS)
    assert dropped not in sought(question, GRAMS)
    assert sought(dropped, GRAMS), "nothing else was asked for"


def test_a_pair_of_hiragana_counts_little_beside_other_signs() -> None:
    weights = {term.text: term.weight for term in query_terms("京都にいる間")}
    assert weights["京都"] == 1.0 > weights["にい"]
    assert {term.text: term.weight for term in query_terms("すし")}["すし"] == 1.0


def test_the_matching_words_of_a_text_are_named_in_its_order() -> None:
    terms = query_terms("Where has Melanie moved to?")
    assert matched_words("In May she moves out; Melanie's moving, to Boston!", terms) == ["moves", "melanie", "moving"]
    assert matched_words("Nothing of the kind.", terms) == []


def test_the_matching_stretches_of_unspaced_text_are_named_whole() -> None:
    terms = query_terms("東京タワーと猫")
    assert matched_words("昨日東京タワーに行った", terms) == ["東京タワー"]
    assert matched_words("猫がいる", terms) == ["猫"]


@given(st.text(max_size=60), st.text(max_size=30), st.text(max_size=30))
def test_any_text_is_analysed_and_found_by_itself(text: str, before: str, after: str) -> None:
    found = analyze(text)
    assert len(found.words) == len(found.stems)
    terms = query_terms(text)
    assert bool(terms) == bool(found.words or found.runs)
    if terms:
        assert matched_words(f"{before} {text} {after}", terms)


def test_every_word_of_a_query_is_sought_by_stem_and_as_it_stands() -> None:
    assert sought("adopted puppies", STEM) == ["adopt", "puppi"]
    assert sought("adopted puppies", PLAIN) == ["adopted", "puppies"]


_LETTERS = st.text(st.sampled_from("aegimnosvydkltAI1"), min_size=1, max_size=9)
_ENDINGS = st.sampled_from(["", "s", "es", "ing", "ed", "eds", "ies", "y", "ly", "ment", "'s", "a" * 130])
_WORDS = st.builds(str.__add__, _LETTERS, _ENDINGS) | st.sampled_from(["dying", "die", "skies", "sky", "idly", "only"])
_BETWEEN = st.sampled_from([" ", "-", "_", "\t", ". ", "\x00"])


@given(st.lists(st.tuples(_WORDS, _BETWEEN)), st.lists(_WORDS, max_size=3))
def test_the_words_that_matched_are_those_with_a_sought_stem(said: list[tuple[str, str]], asked: list[str]) -> None:
    text, query = "".join(map("".join, said)), " ".join(asked)
    terms = query_terms(query)
    sought = {term.text for term in terms if term.field == "stem"}
    found = analyze(text)
    with_stem = dict.fromkeys(word for word, stem in zip(found.words, found.stems, strict=True) if stem in sought)
    assert matched_words(text, terms) == list(with_stem)


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("What did Ana buy?", "Ana bought a bike", ["bought"]),
        ("Who bought bikes?", "Tom wants to buy a bike", ["buy", "bike"]),
        ("Where did they go?", "They went to Rome, and had gone to Bari", ["went", "gone"]),
        ("What was she eating?", "She ate sushi", ["ate"]),
        ("What had he taught?", "He teaches maths", ["teaches"]),
        ("Who drives the van?", "Ben drove a van, and has driven buses", ["drove", "van", "driven"]),
        ("What did she overcome?", "She overcame a cold", ["overcame"]),
        ("Wer hat das Buch, das er buy nennt?", "Er bought", []),
    ],
)
def test_a_question_finds_the_other_forms_of_irregular_verbs(question: str, text: str, found: list[str]) -> None:
    assert [word for word in matched_words(text, query_terms(question)) if word != "ana"] == found


WRITTEN = ("1100", "1,100", "1.100", "1 100", "1\u202f100", "1'100", "1’100", "1.100,50")


@pytest.mark.parametrize("asked", WRITTEN)
def test_an_amount_is_found_however_its_thousands_are_parted(asked: str) -> None:
    for other in WRITTEN:
        assert matched_words(f"Rent: € {other} here", query_terms(f"who pays {asked}?")), (asked, other)
    (joined,) = [term.text for term in query_terms("1 234 567 people") if term.instead]
    assert joined == "1234567"


def test_the_parts_of_a_number_count_less_and_the_first_digit_of_a_year_is_none() -> None:
    parts = [(term.text, term.weight) for term in query_terms("paid 21500 in 2023") if term.instead]
    assert parts == [("21", 0.5), ("500", 0.5), ("023", 0.5), ("pay", 1.0)]
    assert not any(term.instead for term in query_terms("room 110 at 10:30, version 1.2.3, 0049 30 5"))


def test_a_word_by_which_answers_tell_what_is_asked_stands_for_it() -> None:
    told = {term.text: term.weight for term in query_terms("Which sport, and what is the address?") if term.instead}
    assert told["tenni"] == told["live"] == OTHERWISE_BOOST < 1 and "sport" not in told
    assert not any(term.text == "sport" for term in query_terms("I play tennis")), "what is said asks for no kind"
    assert not any(term.instead for term in query_terms("la moto et le vélo sont dans la rue")), (
        "not of another language"
    )


def test_a_kind_that_says_what_another_word_is_about_asks_for_nothing_of_that_kind() -> None:
    def asks(question: str) -> bool:
        return any(term.instead and term.text in {"tenni", "bus", "paint"} for term in query_terms(question))

    assert not asks("Which of the sports events did I watch?") and not asks("I was at a sports event. What was it?")
    assert asks("What sports activity does Mila do?") and asks("How many sports do I play?") and asks("Is it a sport?")
    assert asks("Which activities does Mila enjoy?") and asks("What art does she make?")
    assert asks("How long does my commute take?") and asks("How long does Mila's commute take?")


def test_another_form_stands_for_a_word_and_asks_for_no_more() -> None:
    plain, irregular = query_terms("boats ridden"), query_terms("boats repaired")
    assert [term.text for term in plain if term.instead] == ["ride", "rode"]
    assert not any(term.instead for term in irregular)
    assert len([term for term in plain if not term.instead]) == len(irregular)
