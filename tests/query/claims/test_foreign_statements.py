"""Statements in other languages are put into English words, and so compete, end and go on as English ones do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from worlddb import Memory
from worlddb.query.claims.claim_frame import frame
from worlddb.query.claims.foreign_statements import in_english, other_forms

IN_ENGLISH = (
    ("Ich wohne in Hamburg.", "I live in Hamburg."),
    ("Ab dem 1. April arbeite ich bei Kranich.", "I work at Kranich from 1 april on."),
    ("Ich bin nach Kiel umgezogen.", "I have moved to Kiel."),
    ("Der Zahnarzttermin wurde auf den 19. März verschoben.", "The dentist appointment was moved to 19 march."),
    ("Mein Fahrrad ist gestohlen worden.", "My bicycle has been stolen."),
    ("Ich nehme kein Ibuprofen mehr.", "I no longer take Ibuprofen."),
    ("Inzwischen trinke ich lieber Kaffee als Tee.", "I prefer drinking coffee as tea now."),
    ("Vivo en Valencia.", "I live in Valencia."),
    ("La nueva contraseña del wifi es limonero.", "The new wifi password is limonero."),
    ("La cita se ha aplazado al 17 de marzo.", "The appointment has been postponed to 17 march."),
    ("Lucía se ha mudado a Santander.", "Lucía has moved to Santander."),
    ("He dejado de fumar.", "I have stopped smoking."),
    ("J'ai déménagé à Grenoble.", "I have moved to Grenoble."),
    ("Je ne mange pas de viande.", "I do not eat of meat."),
    ("Je n'habite plus à Lyon.", "I no longer live in Lyon."),
    ("Il mio colore preferito è il verde.", "My favourite colour is green."),
    ("Non prendo più antibiotici.", "I no longer take antibiotici."),
    ("Mi sono trasferito a Torino.", "I have moved to Torino."),
    ("Mudei-me para o Porto.", "I moved to Porto."),
    ("Já não tomo omeprazol.", "I no longer take omeprazol."),
    ("Das Treffen findet am 3. Mai statt.", "The meeting is on 3 may."),
    ("Tengo 34 años.", "I am 34 years old."),
    ("Nous avons deux chats.", "We have 2 cats."),
    ("Não gosto de café.", "I do not like coffee."),
    ("Non mi piace il caffè.", "I do not like the coffee."),
    ("La reunion es el 3 de mayo.", "The meeting is on 3 may."),
    ("コーヒーは好きではありません。", "I do not like coffee."),
    ("私は横浜に住んでいます。", "I live in Hengbang."),
    ("もうロキソニンは飲んでいません。", "I no longer drink Rokisonin."),
    ("家賃は今月から10万円です。", "The rent is 100000 yen from this month."),
)


@pytest.mark.parametrize(("text", "english"), IN_ENGLISH)
def test_a_statement_is_put_into_the_words_and_the_order_of_english(text: str, english: str) -> None:
    assert in_english(text) == english


@pytest.mark.parametrize(
    "text",
    [
        *("I no longer live in Rome.", "My son is in the band, no pan.", "He is an amateur in die casting."),
        *(
            "Anna will move to Man.",
            "Vera Como runs a bar.",
            "The war was long.",
            "Zoe plays chess.",
            "Tia wears a brace.",
            "",
        ),
        *("Ana", "Van", "Ich wohne in Hamburg. " * 20, "我住在上海。", "Мой брат живет в Москве."),
    ],
)
def test_a_text_in_english_or_in_a_language_without_a_table_stays_as_it_is(text: str) -> None:
    assert in_english(text) == text


@pytest.mark.parametrize(
    "text", ["Ha!", "Hat den Termin abgesagt.", "habe ein grünes Fahrrad gekauft, 80 Euro, von einem Händler"]
)
def test_what_begins_with_a_verb_and_names_nobody_is_read_too(memory: Memory, text: str) -> None:
    memory.add(text)
    assert memory.recall(text).hits[0].content == text


SAID = sorted({word for text, _ in IN_ENGLISH for word in text.split()} | set("¿¡?!.,;:-'’"))
JAPANESE = sorted({sign for text, _ in IN_ENGLISH for sign in text if not sign.isascii()})


@given(
    st.lists(st.sampled_from(SAID), max_size=8) | st.lists(st.sampled_from(JAPANESE), max_size=12) | st.text(max_size=9)
)
def test_any_words_in_any_order_are_read_without_an_error(words: list[str] | str) -> None:
    for text in (" ".join(words), "".join(words)):
        assert isinstance(in_english(text), str) and isinstance(other_forms(text), dict)
        frame(text)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with worlddb.memory(tmp_path / "store", user="ana") as opened:
        yield opened


TELLS_CHANGE = (
    ("Ich wohne in Hamburg.", "Ich bin nach Kiel umgezogen."),
    ("Meine Miete beträgt 950 Euro.", "Meine Miete beträgt jetzt 1020 Euro."),
    ("Ich arbeite bei Globex.", "Ich habe bei Globex gekündigt."),
    ("Ich gehe montags zum Yoga.", "Freitags gehe ich jetzt zum Yoga, nicht mehr montags."),
    ("Vivo en Valencia.", "Me he mudado a Castellón."),
    ("Tomo omeprazol.", "Ya no tomo omeprazol."),
    ("La contraseña del wifi es girasol.", "La nueva contraseña del wifi es limonero."),
    ("Mi jefe se llama Ramón Ortega.", "Mi nueva jefa es Carmen Vidal."),
    ("J'habite à Lyon.", "J'ai déménagé à Grenoble."),
    ("Mon loyer est de 870 euros.", "Mon loyer est maintenant de 910 euros."),
    ("Je suis végétarien.", "Je ne suis plus végétarien."),
    ("Abito a Milano.", "Mi sono trasferito a Torino."),
    ("Prendo ibuprofene.", "Non prendo più ibuprofene."),
    ("Moro em Lisboa.", "Não moro mais em Lisboa."),
    ("O aluguel custa 700 euros.", "O aluguel agora custa 750 euros."),
    ("私は横浜に住んでいます。", "私は鎌倉に引っ越しました。"),
    ("好きな色は緑です。", "好きな色は今は青です。"),
    ("家賃は9万円です。", "家賃は今月から10万円です。"),
    ("上司は田中さんです。", "新しい上司は佐藤さんです。"),
)


@pytest.mark.parametrize(("earlier", "later"), TELLS_CHANGE)
def test_a_change_told_in_another_language_is_told_at_the_write(memory: Memory, earlier: str, later: str) -> None:
    was = memory.add(earlier).id
    told = {near.ref: near.relation for near in memory.add(later).near}
    assert told.get(was) in ("replacement", "contradiction")


GOES_ON = (
    ("Mein Bruder wohnt in Leipzig.", "Meine Schwester wohnt in Dresden."),
    ("Ich lerne Italienisch.", "Ich lerne Spanisch."),
    ("Ich nehme Ibuprofen.", "Ich nehme nicht mehr Zucker als nötig."),
    ("Mi perro se llama Toby.", "Mi gato se llama Luna."),
    ("Vivo en Valencia.", "Mi madre vive en Bilbao."),
    ("Tomo omeprazol.", "Ya no tomo ibuprofeno."),
    ("J'ai un chat.", "J'ai un chien."),
    ("Ma sœur habite à Nantes.", "Mon frère habite à Brest."),
    ("Mia sorella vive a Roma.", "Mio fratello vive a Bari."),
    ("A minha irmã mora em Braga.", "O meu irmão mora em Faro."),
    ("犬の名前はハナです。", "猫の名前はタマです。"),
    ("弟は名古屋に住んでいます。", "妹は京都に住んでいます。"),
)


@pytest.mark.parametrize(("earlier", "later"), GOES_ON)
def test_what_goes_on_beside_it_is_told_as_no_change(memory: Memory, earlier: str, later: str) -> None:
    was = memory.add(earlier).id
    told = {near.ref: near.relation for near in memory.add(later).near}
    assert told.get(was, "compatible") == "compatible"


@pytest.mark.parametrize(
    ("earlier", "later", "now", "before"),
    [
        ("Ich wohne in Hamburg.", "Ich bin nach Kiel umgezogen.", "Wo wohne ich?", "Wo habe ich früher gewohnt?"),
        (
            "El alquiler cuesta 780 euros.",
            "El alquiler cuesta ahora 840 euros.",
            "¿Cuánto cuesta el alquiler?",
            "¿Cuánto costaba antes el alquiler?",
        ),
        ("家賃は9万円です。", "家賃は今月から10万円です。", "家賃はいくらですか？", "家賃は以前いくらでしたか？"),
    ],
)
def test_a_recall_puts_what_is_so_now_or_was_so_before_first(
    memory: Memory, earlier: str, later: str, now: str, before: str
) -> None:
    for text in (earlier, later, "Mein Hund heißt Rex.", "Mi color favorito es el verde."):
        memory.add(text)
    assert [memory.recall(question).hits[0].content for question in (now, before)] == [later, earlier]


@pytest.mark.parametrize(
    ("note", "question"),
    [
        ("Mein Bruder lebt in Leipzig.", "Wo wohnte mein Bruder?"),
        ("Conduzco un Ibiza.", "¿Qué coche tengo?"),
        ("Nous avons mangé chez Lucie.", "Où est-ce qu'on mangeait ?"),
        ("Giulia si è trasferita a Napoli.", "Dove si trasferisce Giulia?"),
    ],
)
def test_a_question_finds_other_forms_of_its_words_and_what_tells_them(
    memory: Memory, note: str, question: str
) -> None:
    for text in ("Otra nota sobre nada.", note, "Noch eine Notiz.", "Une note sans rien."):
        memory.add(text)
    assert memory.recall(question, lanes=("text",)).hits[0].content == note
