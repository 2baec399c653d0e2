"""Answers from rows by name, and columns from requests."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from daemon.core.shape import STORED_JSON, Time, kind_of, sample, shown, stored


class Row(Struct):
    name: str
    at: int
    ended_at: int | None
    events: str


class RowAnswer(Struct):
    name: str
    at: Time
    ended_at: Time | None
    events: Annotated[list[str], STORED_JSON]
    test: bool
    queued: int | UnsetType = UNSET


def test_an_answer_has_the_values_of_the_row_and_those_given() -> None:
    row = Row("Ama", 1_000_000, None, '["a", "b"]')
    body = msgspec.json.encode(shown(RowAnswer, row, test=True))
    assert body == (b'{"name":"Ama","at":"1970-01-01T00:00:01.000Z","ended_at":null,"events":["a", "b"],"test":true}')
    assert msgspec.json.encode(shown(RowAnswer, row, test=False, queued=2)).endswith(b'"test":false,"queued":2}')


def test_the_columns_of_a_request_are_its_members_that_are_given() -> None:
    class Changes(Struct):
        name: str | None = None
        events: tuple[str, ...] | None = None
        on: bool | None = None

    assert stored(Changes(events=("a", "b"), on=False)) == {"events": '["a", "b"]', "on": False}


def test_what_stands_further_outside_replaces_the_sample_and_the_note() -> None:
    inner = Annotated[str, sample("a", "inner"), Meta(max_length=5)]
    kind = kind_of(Annotated[inner | None, Meta(examples=[None])])
    assert (kind.base, kind.nullable, kind.limits) == (str, True, {"max_length": 5})
    assert kind.json == {"examples": [None], "description": "inner"}
