"""The day sheet: payments by outcome, and the comparison with the balance of the wallet."""

import asyncio
import io
import sys
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from daemon.core.books import day_sheet
from daemon.flows.upkeep import notices
from daemon.loops.notices import NoticeLoop
from daemon.runtime.config import Config, Smtp
from daemon.runtime.log import Log
from daemon.sender.owner_notices import Email
from daemon.steps.books.day_sheet import read_buckets, read_sheet, read_totals
from daemon.store.books.day_sheet import Period
from daemon.store.engine import Reader, Tx
from tests.fakes.api import FakeApi, running
from tests.fakes.mail_server import Mailbox
from tests.fakes.mail_server import serving as mail_serving
from tests.fakes.receipts import STARTED, Receipt, mtn
from tests.fakes.reviews import approve_row

PATH = "/local/v1/report"


def received(api: FakeApi, minor: int, number: int, reference: str = "rent", *, minutes: int = 0) -> Receipt:
    return mtn(
        minor,
        "KOFI ANTWI BADU",
        api.shop.wallet(minor),
        reference,
        f"932145000{number:02d}",
        sent_at=STARTED + timedelta(minutes=minutes),
    )


async def sheet(api: FakeApi, **query: str) -> dict[str, Any]:
    answer = await api.local.get(PATH, params=query)
    assert answer.status_code == 200, api.log.lines
    data: dict[str, Any] = answer.json()["data"]
    return data


async def test_money_is_told_apart_by_what_became_of_it_and_ties_out(api: FakeApi) -> None:
    await api.shop.begin_chain()
    exact, short, over = [await api.shop.request(minor) for minor in (2500, 4000, 1000)]
    for number, (minor, reference) in enumerate(
        [(2500, exact.svc_code), (3800, short.svc_code), (1400, over.svc_code), (900, "rent")]
    ):
        await api.shop.read(received(api, minor, number, str(reference), minutes=number))
    data = await sheet(api, date="2026-11-21")
    assert (data["from"], data["to"]) == ("2026-11-21T00:00:00.000Z", "2026-11-22T00:00:00.000Z")
    column = data["sheets"][0]["lines"][0]
    assert column == {
        "provider": "momo_mtn",
        "network": "mtn",
        "network_name": "MTN",
        "payment_method_id": "99999999-9999-4999-8999-999999999999",
        "phone_number": "+233244124567",
        "account_name": "Ama",
        "paid": {"count": 1, "amount": "25.00"},
        "short": {"count": 1, "amount": "38.00", "owed": "2.00"},
        "over": {"count": 1, "amount": "14.00", "to_give_back": "4.00"},
        "unmatched": {"count": 1, "amount": "9.00"},
        "rest": {"count": 0, "amount": "0.00"},
        "reversed": {"count": 0, "amount": "0.00"},
        "doubted": {"count": 0, "amount": "0.00"},
        "late": 0,
        "money_in": {"count": 4, "amount": "86.00"},
        "fees": "0.00",
        "wallet": {
            "says": "86.00",
            "difference": "0.00",
            "agrees": True,
            "opening": "900.00",
            "closing": "986.00",
            "out": "0.00",
            "other_in": "0.00",
            "untold_in": "0.00",
            "untold_out": "0.00",
        },
    }
    assert data["sheets"][0]["all"]["money_in"] == {"count": 4, "amount": "86.00"}


async def test_money_that_no_message_told_of_shows_as_a_difference(api: FakeApi) -> None:
    await api.shop.begin_chain()
    api.shop.limit(0)
    await api.shop.read(received(api, 2500, 0))
    await api.shop.read(received(api, 2500, 1, minutes=1))
    api.shop.wallet(700)
    await api.shop.read(received(api, 100, 2, minutes=2))
    await api.shop.read(received(api, 300, 3, minutes=3))
    await approve_row(api.shop)
    wallet = (await sheet(api, date="2026-11-21"))["sheets"][0]["all"]["wallet"]
    assert (wallet["agrees"], wallet["says"], wallet["difference"]) == (False, "61.00", "-7.00")
    assert wallet["untold_in"] == "7.00"


async def test_an_empty_day_has_no_sheet_and_a_wrong_one_is_refused(api: FakeApi) -> None:
    assert (await sheet(api, date="2026-01-31"))["sheets"] == []
    for query in ({"date": "yesterday"}, {"from": "2026-01-01T00:00:00Z"}, {"by": "colour"}):
        assert (await api.local.get(PATH, params=query)).status_code == 422


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        ("hour", [("2026-11-21 08:00", 2, "50.00"), ("2026-11-21 09:00", 1, "9.00")]),
        ("day", [("2026-11-21", 3, "59.00")]),
    ],
)
async def test_rows_by_time_are_in_the_shops_hours(api: FakeApi, by: str, rows: list[tuple[str, int, str]]) -> None:
    await api.shop.begin_chain()
    for number, (minor, minutes) in enumerate([(2500, 0), (2500, 59), (900, 60)]):
        await api.shop.read(received(api, minor, number, minutes=minutes))
    found = (await sheet(api, date="2026-11-21", by=by))["rows"]
    assert [(row[by], row["count"], row["amount"]) for row in found] == rows


@pytest.mark.parametrize(
    ("zone", "count"), [("Africa/Accra", 2), ("Asia/Kathmandu", 2), ("one whose clocks change", 1)]
)
async def test_the_totals_of_one_pass_are_those_of_the_sheet_and_of_its_hours(
    api: FakeApi, zone: str, count: int
) -> None:
    await api.shop.begin_chain()
    exact, short = [await api.shop.request(minor) for minor in (2500, 4000)]
    for number, (minor, reference) in enumerate(
        [(2500, exact.svc_code), (3800, short.svc_code), (1400, "rent"), (900, "rent")]
    ):
        await api.shop.read(received(api, minor, number, str(reference), minutes=31 * number))
    await api.shop.env.store.write(
        lambda tx: tx.run("UPDATE line_balances SET standing = 'doubtful' WHERE effect_minor = 900")
    )
    local = ChangingClocks() if zone.startswith("one") else ZoneInfo(zone)
    period = Period(*day_sheet.day(STARTED.date(), local))

    def read(reader: Reader) -> tuple[Any, ...]:
        sheets, hours = read_totals(reader, period, local)
        whole = read_sheet(reader, period, None)["sheets"]
        return sheets, hours, whole, read_buckets(reader, period, local, "hour")

    sheets, hours, whole, by_hour = await api.shop.env.store.read(read)
    assert [one["all"] for one in sheets] == [one["all"] for one in whole]
    assert sheets[0]["all"]["money_in"]["count"] == 3
    assert sheets[0]["all"]["doubted"]["count"] == 1
    assert hours == by_hour
    assert len(hours) == count


class ChangingClocks(tzinfo):
    """A zone that puts its clocks back by an hour on the day of the tests, between two payments."""

    CHANGE = (STARTED + timedelta(minutes=45)).replace(tzinfo=None)

    def utcoffset(self, at: datetime | None) -> timedelta:
        assert at is not None
        return timedelta(hours=0 if at.replace(tzinfo=None) >= self.CHANGE else 1)

    def dst(self, _at: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, _at: datetime | None) -> str:
        return "changing"

    def fromutc(self, at: datetime) -> datetime:
        changed = at.replace(tzinfo=None) >= self.CHANGE
        return at + timedelta(hours=0 if changed else 1)


async def test_payers_come_a_page_at_a_time_the_most_first(api: FakeApi) -> None:
    await api.shop.begin_chain()
    for number, name in enumerate(("KOFI ANTWI BADU", "ESI OWUSU MENSAH", "KOFI ANTWI BADU")):
        receipt = mtn(1000, name, api.shop.wallet(1000), "rent paid", f"9321450000{number}")
        await api.shop.read(receipt)
    answer = await api.local.get(PATH, params={"date": "2026-11-21", "by": "payer", "limit": "1"})
    assert answer.json()["meta"] == {"limit": 1, "offset": 0, "total": 2}
    assert answer.json()["data"]["rows"] == [
        {"payer_phone": None, "payer_name": "KOFI ANTWI BADU", "currency": "GHS", "count": 2, "amount": "20.00"}
    ]


async def test_the_newest_payments_come_with_the_order_that_they_pay(api: FakeApi) -> None:
    await api.shop.begin_chain()
    request = await api.shop.request(2500)
    await api.shop.read(received(api, 900, 0))
    await api.shop.read(received(api, 2500, 1, str(request.svc_code), minutes=1))
    paid, walk_in = (await sheet(api, recent="5"))["recent"]
    assert (paid["order"]["svc_code"], paid["order"]["status"]) == (request.svc_code, "SUCCESS")
    assert (walk_in["order"], walk_in["amount"], walk_in["network"]) == (None, "9.00", "mtn")
    assert not walk_in["doubted"]


async def test_a_payment_whose_receipt_was_refuted_is_shown_as_doubted(api: FakeApi) -> None:
    await api.shop.begin_chain()
    await api.shop.read(received(api, 900, 0))

    def refute(tx: Tx) -> None:
        tx.run("UPDATE line_balances SET standing = 'doubtful' WHERE message_seq = (SELECT message_seq FROM payments)")

    await api.shop.env.store.write(refute)
    [newest] = (await sheet(api, recent="5"))["recent"]
    assert newest["doubted"]


async def test_mail_goes_to_the_owner_alone(api: FakeApi) -> None:
    body = {"to": "eve@example.com", "subject": "sheet", "text": "  a\nb"}
    answer = await api.local.post(f"{PATH}/mail", json=body)
    assert answer.status_code == 422
    assert "name no mail server" in answer.text
    assert answer.json()["error"]["details"][0]["code"] == "not_configured"


async def momo(home: Path, *words: str) -> tuple[int, str]:
    """Run the real `momo` against this API; return its exit code and its messages on stderr."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "momo_cli", *words),
        env={"PATH": "/bin", "MOMO_HOME": str(home)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    return process.returncode or 0, said.decode()


async def test_momo_report_mail_ends_in_the_owners_mailbox(tmp_path: Path) -> None:
    box, owner = Mailbox(), "ama@shop.example"
    async with mail_serving(box) as port:
        smtp = Smtp("127.0.0.1", port, to=owner, starttls=False)
        async with running(tmp_path, Config(smtp=smtp)) as api:
            env = api.shop.env
            await api.shop.begin_chain()
            await api.shop.read(received(api, 900, 0))
            words = ("report", "--from", "2026-11-21", "--to", "2026-11-21", "--by", "payer")
            code, said = await momo(tmp_path, *words, "--mail", "eve@example.com", "--quiet")
            first, after = said.splitlines()
            assert (code, after) == (2, "  next:  momo config set smtp.to eve@example.com")
            assert f"only the owner gets mail, at the address in [smtp] to: {owner}" in first
            assert await momo(tmp_path, *words, "--mail", owner, "--quiet") == (0, "")
            email = Email(smtp, env.clock, lambda: notices.smtp_password(env))
            loop = NoticeLoop(env, {"email": email}, Log(io.StringIO()))
            task = asyncio.create_task(loop.run())
            async with asyncio.timeout(10):
                while not box.got:  # noqa: ASYNC110 -- the mailbox is a plain list
                    await asyncio.sleep(0.01)
            task.cancel()
    (got,) = box.got
    assert (got["To"], got["Subject"]) == (owner, "Sat 21 Nov · Ama Provisions")
    sheet, rows = got.get_content().split("\n\n")
    assert "Money in GHS                    1         9.00   wallet says 9.00 ✓" in sheet
    assert rows.splitlines()[0] == "PAYER            PAYMENTS    AMOUNT"
    assert rows.splitlines()[2] == "KOFI ANTWI BADU         1  GHS 9.00"
