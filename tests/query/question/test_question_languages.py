"""Times in questions of other languages than English: read as the English ones are, or said not to be."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from worlddb.projections.indexes.analysis import language_of
from worlddb.query.question.foreign_times import phrases
from worlddb.query.question.question_dates import parse_times

NOW = int(datetime(2024, 6, 12, 12, tzinfo=UTC).timestamp() * 1_000_000)
"""A Wednesday."""

SAID = {
    "What happened in May 2024?": [
        *("Was geschah im Mai 2024?", "¿Qué pasó en mayo de 2024?", "Qu'est-il arrivé en mai 2024 ?"),
        *("Che cosa è successo a maggio 2024?", "O que aconteceu em maio de 2024?", "Что было в мае 2024 года?"),
        *("2024年5月发生了什么？", "2024年5月に何がありましたか。", "2024년 5월에 무슨 일이 있었나요?"),
    ],
    "What happened on 3 May 2024?": [
        *("Was geschah am 3. Mai 2024?", "¿Qué pasó el 3 de mayo de 2024?", "Qu'est-il arrivé le 3 mai 2024 ?"),
        *(
            "Che cosa è successo il 3 maggio 2024?",
            "O que aconteceu em 3 de maio de 2024?",
            "Что было 3 мая 2024 года?",
        ),
        *("2024年5月3日发生了什么？", "2024年5月3日に何がありましたか。", "2024년 5월 3일에 무슨 일이 있었나요?"),
        *("Was geschah am 3.5.2024?", "¿Qué pasó el 03/05/2024?", "五月三日发生了什么？"),
    ],
    "What happened last Tuesday?": [
        *("Was geschah letzten Dienstag?", "¿Qué pasó el martes pasado?", "Que s'est-il passé mardi dernier ?"),
        *(
            "Che cosa è successo martedì scorso?",
            "O que aconteceu na última terça-feira?",
            "Что было в прошлый вторник?",
        ),
        "지난 화요일에 무슨 일이 있었나요?",
    ],
    "What happened on Tuesday of last week?": [
        "上周二发生了什么？",
        "先週の火曜日に何がありましたか。",
        "지난주 화요일에 뭐 했나요?",
    ],
    "What happens next week?": [
        *(
            "Was geschieht nächste Woche?",
            "¿Qué hacemos la próxima semana?",
            "来週は何をしますか。",
            "다음 주에 무엇을 하나요?",
        ),
    ],
    "What happened last week?": [
        *("Was geschah letzte Woche?", "¿Qué pasó la semana pasada?", "Que s'est-il passé la semaine dernière ?"),
        *(
            "Che cosa è successo la settimana scorsa?",
            "O que aconteceu na semana passada?",
            "Что было на прошлой неделе?",
        ),
        *("上周发生了什么？", "先週は何をしましたか。", "지난주에 무엇을 했나요?"),
    ],
    "What happened yesterday?": [
        *("Was geschah gestern?", "¿Qué pasó ayer?", "Que s'est-il passé hier ?", "Che cosa è successo ieri?"),
        *(
            "O que aconteceu ontem?",
            "Что было вчера?",
            "昨天发生了什么？",
            "昨日は何をしましたか。",
            "어제 무엇을 했나요?",
        ),
    ],
    "What happened three weeks ago?": [
        *("Was geschah vor drei Wochen?", "¿Qué pasó hace tres semanas?", "Que s'est-il passé il y a trois semaines ?"),
        *("Che cosa è successo tre settimane fa?", "O que aconteceu há três semanas?", "Что было три недели назад?"),
        *("三周前发生了什么？", "3週間前に何がありましたか。", "3주 전에 무엇을 했나요?"),
    ],
    "What happened since January?": [
        *("Was geschah seit Januar?", "¿Qué pasó desde enero?", "Que s'est-il passé depuis janvier ?"),
        *("Che cosa è successo da gennaio?", "O que aconteceu desde janeiro?", "Что было с января?"),
        *("1月以来发生了什么？", "1月以降に何がありましたか。", "1월부터 무엇을 했나요?"),
    ],
    "What happened before May 2023?": [
        *("Was geschah vor Mai 2023?", "¿Qué pasó antes de mayo de 2023?", "Que s'est-il passé avant mai 2023 ?"),
        *(
            "Che cosa è successo prima di maggio 2023?",
            "O que aconteceu antes de maio de 2023?",
            "Что было до мая 2023?",
        ),
        *("2023年5月之前发生了什么？", "2023年5月以前に何がありましたか。", "2023년 5월 이전에 무엇을 했나요?"),
    ],
    "What happened between March 2023 and June 2023?": [
        *("Was geschah zwischen März und Juni 2023?", "¿Qué pasó entre marzo y junio de 2023?"),
        *("Que s'est-il passé de mars à juin 2023 ?", "Che cosa è successo tra marzo e giugno 2023?"),
        *("O que aconteceu entre março e junho de 2023?", "Что было с марта по июнь 2023 года?"),
        *("2023年3月到6月发生了什么？", "2023年3月から6月まで何をしましたか。", "2023년 3월부터 6월까지 뭘 했나요?"),
    ],
    "What happened in the summer of last year?": [
        *("Was geschah im Sommer letzten Jahres?", "¿Qué pasó en el verano del año pasado?"),
        *("Que s'est-il passé l'été de l'année dernière ?", "Che cosa è successo nell'estate dell'anno scorso?"),
        *(
            "Что было летом прошлого года?",
            "去年夏天发生了什么？",
            "去年の夏に何がありましたか。",
            "작년 여름에 무엇을 했나요?",
        ),
    ],
    "What happened in the last three months?": [
        *("Was geschah in den letzten drei Monaten?", "¿Qué pasó en los últimos tres meses?"),
        *("Que s'est-il passé ces trois derniers mois ?", "Che cosa è successo negli ultimi tre mesi?"),
        *("O que aconteceu nos últimos três meses?", "Что было за последние три месяца?"),
        *("最近三个月发生了什么？", "この三か月何がありましたか。", "지난 석 달 동안 뭐 했나요?"),
    ],
    "What is after Monday?": ["Was ist nach Montag mit dem Chef?"],
    "What happened until the end of May?": [
        *("Was geschah bis Ende Mai?", "¿Qué pasó hasta finales de mayo?", "Che cosa è successo fino a fine maggio?"),
    ],
}
"""English, and what means the same."""


@pytest.mark.parametrize(("english", "foreign"), [(one, other) for one, others in SAID.items() for other in others])
def test_a_question_in_another_language_names_the_times_that_the_english_one_does(english: str, foreign: str) -> None:
    meant, found = parse_times(english, NOW), parse_times(foreign, NOW)
    assert meant.spans and found.spans == meant.spans
    assert found.unresolved == ()
    assert [time.is_bound for time in found.read] == [time.is_bound for time in meant.read]
    assert all(time.words in " ".join(foreign.split()) for time in found.read), "the question's own words are shown"
    assert found.rest == foreign or not any(time.words in found.rest for time in found.read)


TOLD = {
    "de": """
        Was hat sie neulich gesagt? | neulich
        Was geschah in den letzten Tagen? | in den letzten Tagen
        Wie hoch war die Miete vor der Hochzeit? | vor der Hochzeit
        Wie war es seit dem Umzug? | seit dem Umzug
        Wie hoch ist die Miete, seit wir umgezogen sind? | seit wir umgezogen
        Was sagte sie, bevor sie ging? | bevor sie ging
        Als ich ein Kind war, wo wohnten wir? | Als ich ein Kind war
        Wie war es bis dahin? | bis dahin
        Wer war an Weihnachten da? | an Weihnachten
        Was war am dritten Mai? | am dritten Mai
        Was geschah in der zweiten Maiwoche? | in der zweiten Maiwoche
        Was war in den neunziger Jahren? | in den neunziger Jahren
    """,
    "es": """
        ¿Cuánto era el alquiler antes de la boda? | antes de la boda
        ¿Cuánto era antes el alquiler? | antes
        ¿Cuánto es desde que nos mudamos? | desde que nos mudamos
        ¿Dónde vivía cuando era niña? | cuando era niña
        ¿Cómo era hasta entonces? | hasta entonces
        ¿Quién vino en Navidad? | en Navidad
        ¿Qué pasó el primer trimestre? | el primer trimestre
    """,
    "fr": """
        Qu'a-t-elle dit récemment ? | récemment
        Quel était le loyer avant le mariage ? | avant le mariage
        Quel est le loyer depuis que nous avons déménagé ? | depuis que nous avons déménagé
        Où vivait-elle quand elle était enfant ? | quand elle était enfant
        Comment était-ce jusque-là ? | jusque-là
        Qui est venu à Noël ? | à Noël
        Que s'est-il passé le premier mai ? | le premier mai
    """,
    "it": """
        Quanto era l'affitto prima del matrimonio? | prima del matrimonio
        Quanto è l'affitto da quando ci siamo trasferiti? | da quando ci siamo trasferiti
        Che cosa è successo poco fa? | poco fa
        Chi è venuto a Natale? | a Natale
        Che cosa è successo il primo maggio? | il primo maggio
    """,
    "pt": """
        Quanto era o aluguel antes do casamento? | antes do casamento
        Quanto é desde que nos mudamos? | desde que nos mudamos
        Quem veio no Natal? | no Natal
        O que ela fez no primeiro trimestre? | no primeiro trimestre
    """,
    "ru": """
        Что она недавно сказала? | недавно
        Какой была аренда до свадьбы? | до свадьбы
        Какая аренда с тех пор, как мы переехали? | с тех пор, как мы переехали
        Где она жила, когда была ребёнком? | когда была ребёнком
        Кто приходил на Рождество? | на Рождество
        Что было третьего мая? | третьего мая
    """,
    "zh": """
        她最近说了什么？ | 最近
        婚礼之前房租是多少？ | 之前
        小时候她住在哪里？ | 小时候
        圣诞节谁来了？ | 圣诞节
    """,
    "ja": """
        結婚式の前の家賃はいくらでしたか。 | の前
        子供の頃どこに住んでいましたか。 | の頃
        クリスマスに誰が来ましたか。 | クリスマス
    """,
    "ko": """
        결혼식 전에 월세는 얼마였나요? | 전에
        이사 온 이후로 월세는 얼마인가요? | 이후로
        크리스마스에 누가 왔나요? | 크리스마스
    """,
}
"""Questions, and the words in them that name a time and are not read."""


@pytest.mark.parametrize("language", TOLD)
def test_unreadable_files_are_reported(language: str) -> None:
    for line in TOLD[language].strip().splitlines():
        question, told = (part.strip() for part in line.split("|"))
        found = parse_times(question, NOW)
        assert (found.spans, found.unresolved) == ((), (told,)), question


def test_what_is_read_beside_what_is_not_counts_all_the_same() -> None:
    for question, told in (
        ("Wer kam nach der Hochzeit im Mai 2023?", "nach der Hochzeit"),
        ("Was sagte sie, bevor sie im Mai 2023 ging?", "bevor sie"),
        ("¿Quién vino después de la boda en mayo de 2023?", "después de la boda"),
    ):
        found = parse_times(question, NOW)
        assert found.spans == parse_times("in May 2023", NOW).spans and found.unresolved == (told,)


@pytest.mark.parametrize(
    "question",
    [
        "Where is the Mars rover that Mai and August built in Marburg?",
        "Who wrote Die Zeit in May?",
        "Où le film a-t-il été tourné ?",
        "Wer zahlte 2000 Euro für den Mai Tai?",
        "¿Quién pagó 2000 euros por la segunda mesa?",
        "Was isst Julia im Restaurant?",
        "Seit wann wohnt sie im ersten Stock?",
        "¿Desde cuándo vive aquí la segunda hija?",
        "Depuis quand la première page est-elle là ?",
        "Fino a quando vale il secondo contratto?",
        "До скольки открыт второй магазин?",
        "マヤさんの電話番号は何番ですか。",
        "小月喜欢什么？",
        "한국어로 말할 수 있나요?",
    ],
)
def test_names_and_numbers_are_no_times(question: str) -> None:
    found = parse_times(question, NOW)
    assert not [time for time in found.read if time.words != "in May"]
    assert found.unresolved == ()


def test_english_is_not_detected_as_another_language() -> None:
    for question in (
        "Was Anna in Die Hard in May?",
        "What did Mai do last August?",
        "die",
        "",
        "Who was it, de la Cruz?",
    ):
        assert language_of(question) == ""
    assert [language_of(text) for text in ("gestern und heute", "昨日は雨", "昨天下雨", "어제", "вчера")] == [
        *("de", "ja", "zh", "ko", "ru")
    ]


def test_a_day_that_no_calendar_has_is_not_read() -> None:
    for question in ("Was war am 31. Februar 2024?", "2024年2月31日发生了什么？", "2024年13月1日に何がありましたか。"):
        assert parse_times(question, NOW).spans == ()


@given(st.text(st.sampled_from("年月日上下周前去今 12345三十vorim Mai.den의전주'/-二つ간\x00ß"), max_size=40))
def test_any_text_is_read_without_an_error_and_its_phrases_lie_in_order(text: str) -> None:
    for language in ("de", "es", "fr", "it", "pt", "ru", "zh", "ja", "ko"):
        found = phrases(text, language)
        assert [(each.start, each.end) for each in found] == sorted((each.start, each.end) for each in found)
        assert all(each.start < each.end <= len(text) for each in found)
    parse_times(text, NOW)


def test_a_recall_ranks_by_the_time_that_a_german_question_names_and_says_so(tmp_path: Path) -> None:
    clock = worlddb.ManualClock(NOW)
    with worlddb.open(tmp_path / "store", clock=clock, embedder=None) as db:
        for month in ("2023-05", "2024-05"):
            db.create("Note", "", content="Anna traf Bruno am See.", valid_from=f"{month}-10")
        asked = {text: db.view().recall(text) for text in ("Wen traf Anna im Mai 2023?", "Wen traf Anna im Mai 2024?")}
    assert [found.hits[0].valid.start for found in asked.values()] == [
        datetime(year, 5, 10, tzinfo=UTC).timestamp() * 1_000_000 for year in (2023, 2024)
    ]


@pytest.mark.parametrize(
    ("question", "tense"),
    [
        *((question, "present") for question in (
            "Was wiegt Gerd?", "Was nimmt Gerd?", "was hat Jonas?", "Was hat Gerd für ein Gewicht?", "was Gerd wiegt?",
            "Was darf Gerd nicht essen?", "Was ist Gerds Gewicht?", "Was kostet das Abo?", "Was will Gerd?",
            "Wer will kommen?", "Was verdient Gerd?", "Was liest er?", "Sag mir, was Gerd wiegt", "qui met la table ?",
        )),
        *((question, "past") for question in (
            "Was wog Gerd?", "Was war Gerds Gewicht?", "Was hat Gerd gesagt?", "Was hat Jonas verloren?",
            "Was machte Gerd?", "Was Gerd at home?", "Was the gym open?", "was it raining?", "Was rent paid to Gerd?",
            "Was Brecht ill?", "Was that doubt gone?", "What was the weight?", "Was Tom patient?",
            "Was Anna earliest?", "Was plant food bought?", "was Will ill?",
        )),
    ],
)  # fmt: skip
def test_words_that_are_past_forms_in_english_alone_tell_no_past_in_another_language(question: str, tense: str) -> None:
    assert parse_times(question, NOW).tense == tense


@pytest.mark.parametrize("question", ["Was wiegt Gerd?", "Was hat Gerd für ein Gewicht?", "Gewicht von Gerd?"])
def test_a_german_question_of_now_is_answered_by_what_is_so_now(tmp_path: Path, question: str) -> None:
    with worlddb.memory(tmp_path / "store", user="ana") as mem:
        mem.add("Gerd wiegt 90 kg.", about="Gerd", since="2026-01-01", until="2026-02-01")
        mem.add("Gerd wiegt 87 kg.", about="Gerd", since="2026-02-01")
        found = mem.recall(question)
        assert found.hits[0].content == "Gerd wiegt 87 kg." and "past" not in found.note
