"""Negative tests of the proof: traces in which an announcement comes too early."""

import pytest

from tests.acceptance.strace_log import announced_too_early, calls, committed_at

WAL = "/shop/momo.db-wal"
PDU = b"0791332204000099"


def _hex(data: bytes) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'


def _frame(page: bytes, *, last: bool) -> list[str]:
    header = (7).to_bytes(4, "big") + (9 if last else 0).to_bytes(4, "big") + bytes(16)
    return [
        f"11 pwrite64(5<{WAL}>, {_hex(header)}, 24, 32) = 24",
        f"11 pwrite64(5<{WAL}>, {_hex(page)}, {len(page)}, 56) = {len(page)}",
    ]


STORED = _frame(b"other rows" + bytes(30), last=False) + _frame(PDU + bytes(30), last=True)
SYNC = [f"11 fdatasync(5<{WAL}>) = 0"]
SYNC_BEGINS = [f"11 fdatasync(5<{WAL}> <unfinished ...>"]
SYNC_ENDS = ["11 <... fdatasync resumed>) = 0"]
DELETE = [f"10 write(9</dev/pts/3>, {_hex(b'AT+CMGD=1' + bytes([13]))}, 10) = 10"]


def _verdict(*lines: list[str]) -> bool:
    """Return whether the trace proves that the PDU was durable before the delete."""
    trace = calls(line for part in lines for line in part)
    delete = next(call for call in trace if call.data.startswith(b"AT+CMGD"))
    return announced_too_early(trace, WAL, [(delete, PDU)]) == []


def test_a_delete_after_the_sync_is_proven() -> None:
    assert _verdict(STORED, SYNC, DELETE)
    assert _verdict(STORED, SYNC_BEGINS, SYNC_ENDS, DELETE)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((DELETE, STORED, SYNC), id="delete before the write"),
        pytest.param((STORED, DELETE, SYNC), id="delete before the sync"),
        pytest.param((STORED, SYNC_BEGINS, DELETE, SYNC_ENDS), id="delete during the sync"),
        pytest.param((SYNC_BEGINS, STORED, SYNC_ENDS, DELETE), id="the sync began too early"),
        pytest.param((SYNC, STORED, DELETE), id="the sync was of what came before"),
        pytest.param((STORED, DELETE), id="no sync at all"),
        pytest.param((SYNC, DELETE), id="nothing stored"),
        pytest.param((STORED[:2], STORED[2:3], SYNC, DELETE), id="the last page is missing"),
        pytest.param((_frame(PDU, last=False), SYNC, DELETE), id="no commit"),
        pytest.param((STORED, ["11 fdatasync(6</shop/momo.db>) = 0"], DELETE), id="another file"),
        pytest.param((STORED, [f"11 fdatasync(5<{WAL}>) = -1 EIO (Input/output error)"], DELETE), id="the sync failed"),
        pytest.param((STORED, SYNC_BEGINS, DELETE), id="the sync never came back"),
    ],
)
def test_an_announcement_before_the_sync_is_found(lines: tuple[list[str], ...]) -> None:
    assert not _verdict(*lines)


SERVER_WAL = "/pg/data/pg_wal/000000010000000000000001"
SENT = [f"20 sendto(3<socket:[1]>, {_hex(b'Bind ' + PDU)}, 21, 0, NULL, 0) = 21"]
SERVER_LOGS = [f"30 pwrite64(7<{SERVER_WAL}>, {_hex(PDU + bytes(9))}, 25, 0) = 25"]
SERVER_SYNC = [f"30 fdatasync(7<{SERVER_WAL}>) = 0"]
SERVER_SAYS = [f"30 sendto(9<socket:[2]>, {_hex(b'C' + bytes(3) + bytes([11]) + b'COMMIT' + bytes(1))}, 12, 0, NULL, 0) = 12"]  # fmt: skip


def _committed(*lines: list[str]) -> int:
    return committed_at(calls(line for part in lines for line in part), 30, PDU)


def test_a_server_that_says_commit_after_the_sync_is_proven() -> None:
    assert _committed(SENT, SERVER_LOGS, SERVER_SYNC, SERVER_SAYS) == 3
    again = [SENT, SERVER_LOGS, SERVER_SYNC, SERVER_LOGS, SERVER_SYNC, SERVER_SAYS]
    assert _committed(*again) == 5


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((SENT, SERVER_LOGS, SERVER_SAYS, SERVER_SYNC), id="said before the sync"),
        pytest.param((SENT, SERVER_SYNC, SERVER_LOGS, SERVER_SAYS), id="the sync was of what came before"),
        pytest.param((SENT, SERVER_LOGS, SERVER_SYNC, SERVER_LOGS, SERVER_SAYS), id="the last write has no sync"),
        pytest.param((SENT, SERVER_SYNC, SERVER_SAYS), id="the text is not in the log"),
    ],
)
def test_a_server_that_says_commit_too_early_is_found(lines: tuple[list[str], ...]) -> None:
    with pytest.raises(AssertionError):
        _committed(*lines)
