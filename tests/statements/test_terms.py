"""Terms have one text each, which reads back as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb.log.model import errors
from worlddb.log.statements import terms
from worlddb.log.statements.terms import BlankNode, Iri, Literal, Triple

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
IRIS = st.builds(lambda tail: Iri("https://a.example/" + tail), st.text("abcé/?=&~;😀", max_size=8))
BLANKS = st.uuids().map(lambda found: BlankNode(found.hex))
LITERALS = st.one_of(
    st.builds(Literal, TEXTS),
    st.builds(Literal, TEXTS, IRIS.map(lambda found: found.value)),
    st.builds(lambda text, tag: Literal(text, language=tag), TEXTS, st.sampled_from(["en", "pt-br", "zh-hant-tw"])),
)
PLAIN = st.one_of(IRIS, BLANKS, LITERALS)
TERMS = st.one_of(PLAIN, st.builds(Triple, st.one_of(IRIS, BLANKS), IRIS, PLAIN))


@given(TERMS)
def test_a_term_reads_back_from_its_text(term):
    assert terms.term_of(str(term)) == term
    assert terms.term_of(terms.stored_text(term)) == term


@given(TERMS, TERMS)
def test_two_terms_have_one_text_only_if_they_are_one(one, other):
    assert (str(one) == str(other)) == (one == other)


@given(LITERALS)
def test_the_text_is_what_oxigraph_writes(literal):
    oxigraph = pytest.importorskip("pyoxigraph")
    datatype = None if literal.language else oxigraph.NamedNode(literal.datatype)
    assert str(literal) == str(oxigraph.Literal(literal.value, datatype=datatype, language=literal.language))


@given(PLAIN)
def test_plain_texts_are_canonical(term):
    text = terms.stored_text(term)
    if terms.is_plain(text):
        assert terms.stored_text(terms.term_of(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tea",
        "<a>",
        "<http://a b>",
        '"tea',
        '"a"@',
        '"a"^^<b>',
        '"\\x"',
        '"\\uD800"',
        "_:",
        "<http://a> .",
        '"a" "b"',
        "<<( <http://a> <http://b> )>>",
        '<<( "a" <http://b> <http://c> )>>',
        "<<( " * 500,
    ],
)
def test_an_invalid_term_is_refused(text):
    with pytest.raises(errors.InputError):
        terms.term_of(text)


def test_escapes_and_tags_come_to_one_form():
    assert str(terms.term_of('"caf\\u00E9"@FR')) == '"café"@fr'
    assert str(terms.term_of('"a"^^<http://www.w3.org/2001/XMLSchema#string>')) == '"a"'
    assert str(terms.term_of('"a\\tb\\u007F"')) == '"a\\tb\\u007F"'


def test_blank_nodes_of_a_line_come_back_outside_of_literals():
    blank = BlankNode("0" * 32)
    iri = str(terms.skolem_iri(blank))
    assert terms.with_blank_nodes(f'{iri} <http://p> "{iri} \\"" .') == f'{blank} <http://p> "{iri} \\"" .'
