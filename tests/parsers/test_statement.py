"""Statements as networks export them: columns, incoming payments, and unreadable lines."""

import csv
import io
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from parsers.statement import Closing, StatementEntry, read_statement, rows_of

MTN = """\
MTN MOBILE MONEY STATEMENT,,,
Name,AMA MENSAH,,
TRANSACTION DATE,FROM NAME,FROM NO.,TRANS. TYPE,AMOUNT,FEES,E-LEVY,BAL BEFORE,BAL AFTER,TO NO.,TO NAME,F_ID,REF
21-Nov-2026 08:00:05 AM,KOFI ANTWI,233244000111,TRANSFER,25.00,0.00,0.00,"1,000.00","1,025.00",233244124567,AMA,93214500001,7KQ2MX
21-Nov-2026 09:10:00 AM,AMA,233244124567,PAYMENT,10.00,0.10,0.00,"1,025.00","1,014.90",233244000222,SUPPLIER,93214500002,rice
21-Nov-2026 09:30:00 AM,ESI,233244000333,TRANSFER,"1,200.50",0.00,0.00,"1,014.90","2,215.40",233244124567,AMA,0093214503,x
"""
TELECEL = """\
Receipt No.;Completion Time;Details;Transaction Status;Paid In;Withdrawn;Balance
0000012345678901;21-11-2026 08:00:05;Payment;Completed;40.00;;140.00
0000012345678902;21-11-2026 08:10:00;Payment;Failed;50.00;;140.00
0000012345678903;21-11-2026 08:20:00;Cash out;Completed;;-20.00;120.00
;21-11-2026 08:30:00;Payment;Completed;7.00;;127.00
"""


def rows(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), delimiter=delimiter))


def test_mtns_own_statement_is_read_below_its_heading_and_by_its_balances() -> None:
    read = read_statement(rows(MTN))
    assert read.entries == (
        StatementEntry(4, "93214500001", 2500, datetime.fromisoformat("2026-11-21T08:00:05")),
        StatementEntry(6, "0093214503", 120050, datetime.fromisoformat("2026-11-21T09:30")),
    )
    assert (read.out, read.unread, read.columns["id"]) == (1, (), "F_ID")


def test_telecels_statement_counts_what_was_completed_and_paid_in() -> None:
    read = read_statement(rows(TELECEL, ";"))
    assert [(entry.id, entry.minor) for entry in read.entries] == [("0000012345678901", 4000)]
    assert (read.out, read.unread) == (2, (5,))


def test_columns_of_another_network_are_named_by_hand() -> None:
    table = rows("Ref,Value,When\nAB1234,5.00,2026-11-21\n")
    assert read_statement(table).missing == ("id", "amount")
    assert read_statement(table).header == ("Ref", "Value", "When")
    read = read_statement(table, {"id": "ref", "amount": "Value", "time": "When"})
    assert read.entries == (StatementEntry(2, "AB1234", 500, datetime.fromisoformat("2026-11-21")),)


def test_an_id_that_a_spreadsheet_made_text_is_still_the_id() -> None:
    table = rows('Transaction ID,Amount\n"=""0000012345""",5.00\n\'0000012346,5.00\n')
    assert [entry.id for entry in read_statement(table).entries] == ["0000012345", "0000012346"]


@given(st.lists(st.lists(st.text(max_size=12), max_size=6), max_size=8))
def test_no_table_is_too_strange(table: list[list[str]]) -> None:
    read_statement(table)
    read_statement([["F_ID", "AMOUNT", "BAL BEFORE", "BAL AFTER", "DATE", "STATUS"], *table])


@given(st.text(st.characters(), max_size=600))
def test_any_text_of_a_file_is_read(text: str) -> None:
    read_statement(rows_of("F_ID,AMOUNT,DATE\n" + text))


def test_amounts_that_went_through_a_spreadsheet_are_read() -> None:
    table = rows(
        "Receipt No;Time;Amount\n'0000012345678901;;=\"1,000.00\"\n0000012345678902;;'40.00\n"
        "0000012345678903;;\u202aGHS\u00a07.50\u202c\n0000012345678904;;\u22125.00\n",
        ";",
    )
    read = read_statement(table)
    assert [entry.minor for entry in read.entries] == [100_000, 4000, 750]
    assert (read.out, read.unread) == (1, ())


def test_a_quote_that_was_left_open_takes_no_other_row_in() -> None:
    rows = list(rows_of('Date,Name,Amount\n2026-11-01,"KOFI,12\n2026-11-02,AMA,13\n'))
    assert rows[1:] == [["2026-11-01", '"KOFI', "12"], ["2026-11-02", "AMA", "13"]]


def closing(*rows_: str, head: str = "FID,Date,Amount,Balance before,Balance after") -> Closing | None:
    return read_statement(rows("\n".join((head, *rows_)) + "\n")).closing


def test_the_balance_after_the_last_row_is_that_of_the_latest_time_in_either_order() -> None:
    early, late = ("A1111,2026-11-21 08:00:05,25.00,100.00,125.00", "B2222,2026-11-21 09:00:00,10.50,125.00,114.505")
    last = "B2222,2026-11-21 09:00:00,10.50,125.00,114.50"
    ends = Closing(114_50, datetime.fromisoformat("2026-11-21T09:00"), datetime.fromisoformat("2026-11-21T08:00:05"))
    assert closing(early, last) == closing(last, early) == ends, "also where the last row left the wallet"
    assert closing(early, late) is None, "no amount of money"
    assert read_statement(rows(MTN)).closing == Closing(
        2215_40, datetime.fromisoformat("2026-11-21T09:30"), datetime.fromisoformat("2026-11-21T08:00:05")
    )


def test_a_last_balance_that_is_not_certain_is_none() -> None:
    first = "A1111,2026-11-21 08:00:05,25.00,100.00,125.00"
    assert closing(first, "B2222,2026-11-21 09:00:00,1.00,125.00,") is None, "empty"
    assert closing(first, "B2222,2026-11-22,1.00,125.00,126.00") is None, "a day only"
    assert closing(first, "B2222,soon,1.00,125.00,126.00") is None, "no time"
    assert closing() is None
    head = "FID,Date,Amount,Balance"
    assert closing("A1111,2026-11-21 08:00,1.00,5.00", "B2222,2026-11-21 08:00,1.00,6.00", head=head) is None


def test_of_two_last_rows_of_one_time_the_balances_before_tell_which_is_the_last() -> None:
    one, two = "A1111,2026-11-21 08:00,1.00,5.00,6.00", "B2222,2026-11-21 08:00,1.00,6.00,7.00"
    found = [closing(one, two), closing(two, one)]
    assert [None if each is None else each.minor for each in found] == [7_00, 7_00]
    assert closing(one, "B2222,2026-11-21 08:00,1.00,9.00,10.00") is None
