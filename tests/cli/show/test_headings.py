"""Heading and footer of a list: the number of rows shown, and the command for the next page."""

import pytest

from daemon.wire import Path
from momo_cli.show.answer import Answer
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok

PAGE = {"limit": 1, "offset": 0, "total": 3}


@pytest.mark.parametrize(
    ("words", "path", "row", "said"),
    [
        ("messages list", Path.LOCAL_MESSAGES, samples.MESSAGE_ROW, "messages"),
        ("messages list --state unparsed", Path.LOCAL_MESSAGES, samples.MESSAGE_ROW, "messages (unparsed)"),
        ("deliveries list --status failed", Path.DELIVERIES, samples.DELIVERY, "deliveries (failed)"),
        ("review list", Path.REVIEWS, samples.REVIEW, "reviews"),
    ],
)
def test_a_page_names_the_whole_and_the_flag_of_the_next(
    words: str, path: str, row: object, said: str, api: FakeApi, momo: Momo
) -> None:
    api.on("GET", path, ok([row], meta=PAGE), ok([row], meta={**PAGE, "offset": 2}))
    ran = momo(*words.split(), "-o", "table")
    assert ran.out.splitlines()[0] == f"Showing 1 of 3 {said}, next: --offset 1"
    ran = momo(*words.split(), "--offset", "2", "-o", "table")
    assert ran.out.splitlines()[0] == f"Showing 1 of 3 {said}"
    assert api.asked[-1].query["offset"] == "2"


def test_a_page_of_orders_names_the_next_page(api: FakeApi, momo: Momo) -> None:
    page = {**samples.PAGE, "total": 3, "has_next": True}
    api.on("GET", Path.TRANSACTIONS, ok([samples.PAID], pagination=page))
    ran = momo("tx", "list", "-o", "table")
    assert ran.out.splitlines()[0] == "Showing 1 of 3 transactions, page 1, next: --page 2"


def test_what_to_type_next_is_told_once_and_in_one_column() -> None:
    answer = Answer(next=["momo setup", "momo setup", "momo daemon start", "momo setup"])
    assert answer.next_lines() == ["next:  momo setup", "       momo daemon start"]
