"""Reconcile many payments from one file: each line by itself, the same file again, and the summary."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from momo_cli.commands.payments.reconcile import lines_of
from momo_cli.errors import Failure
from momo_cli.inputs.typed_values import amount_of
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.each import each
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, refusal

CSV = "reference,transaction_id,amount\n"


def matched(**said: Any) -> Says:
    return ok({**samples.RECONCILED, **said})


def order(number: int) -> str:
    return f"svc_trx_{number:032x}"


def path(number: int) -> str:
    return f"/v1/transactions/{order(number)}/reconcile"


@pytest.fixture
def three(api: FakeApi, tmp_path: Path) -> str:
    """One line is matched, one payment is missing, one is matched to the same payment already."""
    api.on("POST", path(1), matched())
    api.on("POST", path(2), refusal(404, "NO_MATCHING_TRANSACTION", "not yet"))
    extras = {"transaction_status": "PARTIAL", "verified_by_transaction_id": "0000000003"}
    api.on("POST", path(3), refusal(409, "ALREADY_VERIFIED", "paid", **extras))
    file = tmp_path / "payments.csv"
    rows = [f"{order(n)},000000000{n},{n}.00\n" for n in (1, 2, 3)]
    file.write_text("\ufeff" + CSV + "".join(rows), encoding="utf-8")
    return str(file)


def items(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_each_line_is_told_and_the_last_line_is_the_sum(three: str, api: FakeApi, momo: Momo) -> None:
    ran = momo("reconcile", "--from-file", three, "--json")
    *lines, last = items(ran.out)
    assert ran.code == 9
    assert [(each["type"], each["line"], each["ok"]) for each in lines] == [
        ("item", 2, True),
        ("item", 3, False),
        ("item", 4, True),
    ]
    assert lines[1]["error"] == {"code": "NO_MATCHING_TRANSACTION", "message": "not yet"}
    assert last == {"type": "summary", "requested": 3, "matched": 2, "already": 1, "inexact": 1, "failed": 1}
    assert api.asked[0].body == {"transaction_id": "0000000001", "amount": "1.00"}


def test_quiet_says_nothing_beside_the_lines(three: str, momo: Momo) -> None:
    ran = momo("reconcile", "--from-file", three, "-q", "--plain")
    assert (ran.code, ran.err) == (9, "")
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == ["2", "3", "4"]


def test_people_get_one_sentence(three: str, momo: Momo) -> None:
    ran = momo("reconcile", "--from-file", three, "-o", "table", "-q")
    said = "✗ 2 matched, 1 already, 1 inexact, 1 refused (1 NO_MATCHING_TRANSACTION).\n"
    assert (ran.code, ran.out) == (9, said)


def test_stop_on_error_leaves_the_rest_alone(three: str, api: FakeApi, momo: Momo) -> None:
    ran = momo("reconcile", "--from-file", three, "--stop-on-error", "--json")
    assert items(ran.out)[-1]["left"] == 1
    assert (ran.code, len(api.asked)) == (9, 2)


def test_exact_makes_a_short_payment_a_finding(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("POST", path(1), matched(difference_type="underpaid"))
    file = tmp_path / "one.csv"
    file.write_text(CSV + f"{order(1)},0000000001\n")
    assert momo("reconcile", "--from-file", str(file)).code == 0
    assert momo("reconcile", "--from-file", str(file), "--exact").code == 6


def test_daemon_that_goes_away_ends_it_with_7_and_the_sum(three: str, api: FakeApi, momo: Momo) -> None:
    api.on("POST", path(2), Says(drop=True))
    ran = momo("reconcile", "--from-file", three, "--json")
    kinds = [each["type"] for each in items(ran.out)]
    assert (ran.code, kinds) == (7, ["item", "error", "summary"])
    assert items(ran.out)[-1]["left"] == 2
    assert "the same command again" in ran.err


def test_daemon_that_never_was_there_is_one_document(momo: Momo, naps: list[float], tmp_path: Path) -> None:
    file = tmp_path / "one.csv"
    file.write_text(f"{order(1)},0000000001\n")
    ran = momo("reconcile", "--from-file", str(file), "--json")
    assert (ran.code, ran.json["error"]["code"]) == (7, "DAEMON_DOWN")


def test_lines_come_from_stdin_too(api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    def echo(asked: Asked) -> Says:
        return matched(transaction_id=asked.body["transaction_id"])

    api.on("POST", path(1), echo)
    typed = json.dumps({"reference": order(1), "transaction_id": "0012", "notes": "by hand"})
    monkeypatch.setattr("sys.stdin", io.StringIO(typed + "\n\n"))
    assert momo("reconcile", "--from-file", "-", "--json").code == 0
    assert api.asked[0].body == {"transaction_id": "0012", "notes": "by hand"}


@each(
    ("text", "said"),
    [
        ("7KQ2MX,0012\n", [(1, "7KQ2MX", "")]),
        ("Transaction ID,Reference\n0012,7KQ2MX\n", [(2, "7KQ2MX", "")]),
        ("reference,transaction_id\n\n7KQ2MX,\n", [(3, "7KQ2MX", "reference and transaction_id")]),
        ("7KQ2MX\n", [(1, "", "too few columns")]),
        ('reference,transaction_id,amount\nA,1,"12,50"\n', [(2, "A", "amount: '12,50'")]),
        ('{"reference":"A","transaction_id":12}', [(1, "A", "transaction_id must be a text")]),
        ('{"reference":"A","transaction_id":"12"}\nnonsense\n', [(1, "A", ""), (2, "", "not JSON")]),
        ('{"reference":"A","transaction_id":"12","notes":"a\u2028b\x85c"}\r\n', [(1, "A", "")]),
        ('{"reference":"A","transaction_id":"12"}\r{}', [(1, "A", ""), (2, "", "reference and")]),
        ('7KQ2MX,0012,,"a\nb"\r\n7KQ2MX,\r\n', [(2, "7KQ2MX", ""), (3, "7KQ2MX", "reference and")]),
        ("{}\n", [(1, "", "reference and transaction_id are needed")]),
    ],
)
def test_what_is_wrong_is_said_of_its_line(text: str, said: list[tuple[int, str, str]]) -> None:
    found = lines_of(text, None)
    assert [(line.number, line.transaction) for line in found] == [each[:2] for each in said]
    for line, (_, _, problem) in zip(found, said, strict=True):
        assert line.problem.startswith(problem)
        assert bool(line.problem) == bool(problem)


@pytest.mark.parametrize(
    ("text", "said"), [("reference,amount\nA,1\n", "no column transaction_id"), ('a,"b\n', "line 1")]
)
def test_file_that_is_no_such_file_is_refused_whole(text: str, said: str) -> None:
    with pytest.raises(Failure) as caught:
        lines_of(text, "csv")
    assert said in caught.value.message


def test_order_is_found_by_the_shop_s_own_reference(api: FakeApi, momo: Momo) -> None:
    api.on("GET", "/v1/transactions/by-client-ref/INV-17", samples.one("PENDING"))
    api.on("POST", f"/v1/transactions/{samples.REF}/reconcile", matched())
    assert momo("reconcile", "--client-ref", "INV-17", "0000012345").code == 0


@pytest.mark.parametrize(
    "argv",
    [
        ("A",),
        ("A", "1", "--client-ref", "B"),
        ("A", "1", "--from-file", "f"),
        ("A", "1", "--stop-on-error"),
        ("--from-file", "f", "--format", "xml"),
    ],
)
def test_flags_that_do_not_go_together_are_exit_2(argv: tuple[str, ...], momo: Momo) -> None:
    assert momo("reconcile", *argv).code == 2


def test_an_order_that_nothing_is_meant_by_fails_alone(three: str, api: FakeApi, momo: Momo) -> None:
    api.on("GET", "/v1/transactions", ok([], pagination=samples.PAGE))
    with Path(three).open("a", encoding="utf-8") as file:
        file.write(f"svc_trx_zzzz,5,\n{order(1)},0000000001,\n")
    ran = momo("reconcile", "--from-file", three, "--json")
    lines = items(ran.out)
    assert (ran.code, [each.get("ok") for each in lines]) == (9, [True, False, True, False, True, None])
    assert lines[3]["error"]["code"] == "TRANSACTION_NOT_FOUND"


def test_a_file_of_a_spreadsheet_may_have_semicolons() -> None:
    text = f'reference;transaction_id;amount\n{order(1)};="0000015298826612";1,000.00\n'
    (line,) = lines_of(text, None)
    assert line.problem == ""
    assert line.body == {"transaction_id": "0000015298826612", "amount": "1000.00"}


def test_ids_and_amounts_that_went_through_a_spreadsheet_are_read() -> None:
    text = (
        'reference;transaction_id;amount\nA;"=""0000015298826612""";"1,000.00"\n'
        "B;'0000015298826612;\u202a10\u202c\nC;9.3E+10;10\n"
    )
    first, second, third = lines_of(text, None)
    assert first.body == {"transaction_id": "0000015298826612", "amount": "1000.00"}
    assert second.body == {"transaction_id": "0000015298826612", "amount": "10.00"}
    assert "a number that a spreadsheet has rounded" in third.problem


def test_an_id_that_a_spreadsheet_has_rounded_is_not_looked_for(api: FakeApi, momo: Momo) -> None:
    ran = momo("reconcile", order(1), "9.3E+10")
    assert (ran.code, api.asked) == (2, [])
    assert "copy the whole ID from the customer's message" in ran.err


def test_the_old_mark_of_the_cedi_is_an_amount_in_cedis() -> None:
    assert amount_of("ghc10") == ("10.00", "GHS")
