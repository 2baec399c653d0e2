"""A sentence is a key and its values; what people typed is a value and stays as it is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.json_values import dump
from daemon.core.text import Catalogue, Text, plain, restore, store

HOSTILE = ("{0} {x!r} {}", "<script>alert(1)</script>", "a\nb", "no transaction ID", "{{name}}")


def words(**texts: str) -> Catalogue:
    found = Catalogue()
    found.update(texts)
    return found


SAMPLE = words(
    rule="Its rule {name} matches.",
    inside="Seen: {what}",
    joined="{reasons:capital}.",
    one="first",
    two="second",
    and_also=" et ",
    left_one="{count} day",
    left_other="{count} days",
)


@given(st.text() | st.sampled_from(HOSTILE))
def test_a_value_stays_as_it_was_typed(name: str) -> None:
    said = f"Its rule {name} matches."
    assert Text("rule", name=name).render(SAMPLE) == said
    assert Text("inside", what=Text("rule", name=name)).render(SAMPLE) == f"Seen: {said}"


@given(st.text() | st.sampled_from(HOSTILE))
def test_a_stored_text_is_read_back_with_its_values(name: str) -> None:
    said = Text("inside", what=(Text("rule", name=name), Text("one"), 7))
    again = restore(json.loads(json.dumps({"why": "Stored.", "why.text": plain(said)})), "why")
    assert again == said
    assert str(again) == "Stored."
    assert isinstance(again, Text)
    assert again.render(SAMPLE) == said.render(SAMPLE)
    assert restore({"why": name}, "why") == name


def test_a_row_has_the_english_sentence_and_its_key_beside_it() -> None:
    assert store({"why": Text("review.late.short"), "count": 1}) == {
        "why": "transaction had expired",
        "why.text": {"key": "review.late.short", "values": {}},
        "count": 1,
    }


def test_texts_are_joined_and_counted_in_their_language() -> None:
    assert Text("joined", reasons=(Text("one"), Text("two"))).render(SAMPLE) == "First et second."
    assert Text("left", count=1).render(SAMPLE) == "1 day"
    assert Text("left", count=0).render(SAMPLE) == "0 days"


def test_a_key_without_words_is_the_stored_sentence() -> None:
    later = {"key": "of.a.later.version", "values": {}}
    said = restore({"why": "As it was.", "why.text": later}, "why")
    assert isinstance(said, Text)
    assert said.render(SAMPLE) == "As it was."
    assert not said.has_words(SAMPLE)
    with pytest.raises(KeyError, match="no words for"):
        str(Text("of.a.later.version"))


@pytest.mark.parametrize(
    "stored",
    [
        {"key": "rule", "values": {"title": "Bread"}},
        {"key": "inside", "values": {"what": {"key": "of.a.later.version", "values": {}}}},
    ],
    ids=["other values", "other sentence inside"],
)
def test_words_that_changed_since_a_row_was_written_leave_its_stored_sentence(stored: dict[str, object]) -> None:
    said = restore({"why": "As it was.", "why.text": stored}, "why")
    assert isinstance(said, Text)
    assert said.render(SAMPLE) == "As it was."


def test_json_has_the_sentence_in_english() -> None:
    assert dump({"why": Text("review.late.short")}) == b'{"why":"transaction had expired"}'
    with pytest.raises(NotImplementedError):
        dump({"why": object()})
