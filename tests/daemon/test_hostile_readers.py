"""Every reader of octets from outside gives a value or a named fault, whatever the octets are, and in bounded size.

`READERS` is the table of them. A module that decodes octets and is neither in the table nor named as a reader of our own
octets fails a test, so that a new reader is added here.
"""

import ast
import asyncio
import contextlib
import gzip
import tracemalloc
from collections.abc import Callable, Iterable
from datetime import UTC
from itertools import islice
from pathlib import Path
from typing import Any

import httptools
import httpx
import msgspec
import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from daemon.api.http import body as http_body
from daemon.core.access import callers
from daemon.core.branches import answer as hub_answer
from daemon.core.branches import facts, public_key
from daemon.core.errors import MomoError
from daemon.core.messages import message_journal, post
from daemon.modem import hilink
from daemon.modem.codec import gsm7, pdu, pdu_fields
from daemon.modem.session import at
from daemon.runtime import config_file
from daemon.sender import https, hub_client
from daemon.store.upkeep import backup
from momo_cli.commands.payments import reconcile
from momo_cli.errors import Failure
from momo_cli.inputs import typed_values
from parsers import (
    money,
    own,
    pasted,
    phone,
    phone_backup,
    read,
    reading,
    statement,
    statement_file,
    svc_code,
    times,
    xml_text,
)
from tests.fakes.tiers import LONG, share

PACKAGES = ("daemon", "momo_cli", "parsers")
ROOT = Path(__file__).parents[2]
LARGE = share(10_000_000)


def text(octets: bytes) -> str:
    """Return octets as a text that may hold every character, also half of a surrogate pair."""
    return octets.decode("utf-8", "surrogatepass" if is_text(octets) else "replace")


def is_text(octets: bytes) -> bool:
    try:
        octets.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def at_lines(octets: bytes) -> object:
    lines = [str(line) for line in at.Codec().receive_data(octets)][:200]
    readers: tuple[Callable[[str], Any], ...] = (
        at.error_of, at.fields, at.cmgl_header, at.cmgr_header, at.unsolicited_header, at.from_ucs2, at.cmti, at.cpms_fills,
        at.cpms_choices, at.csq_signal, at.clock_us, at.registration_stat, at.operator_name, at.imei_of, at.imsi_of,
        at.iccid_of, at.answer_value, at.pin_tries, at.full_storage, at.unsolicited_kind, at.whole_number, at.is_hex,
    )  # fmt: skip
    return [reader(line) for line in lines for reader in readers]


def a_pdu(octets: bytes) -> object:
    return pdu.decode(octets.hex()), pdu.decode(text(octets), tpdu_length=len(octets))


def header_of_a_part(octets: bytes) -> object:
    elements = pdu_fields.read_elements(octets)
    return pdu_fields.find_concat(elements), pdu_fields.find_ports(elements)


def septets(octets: bytes) -> object:
    return gsm7.decode(bytes(one & 127 for one in octets[:1000])), pdu_fields.read_time(octets[:7].ljust(7, b"\0"))


def stick(octets: bytes) -> object:
    """Read an answer of a HiLink stick as `huawei-lte-api` does."""
    import xmltodict  # type: ignore[import-untyped]

    body = hilink.readable(octets[: hilink.ANSWER_OCTETS_MAX])
    with contextlib.suppress(xmltodict.expat.ExpatError, ValueError):  # `_fault_of` names them
        answer = xmltodict.parse(body, dict_constructor=dict)
        return [hilink._message("sim", one) for one in hilink._listed(answer.get("response"))]
    return None


def app_post(octets: bytes) -> object:
    begin, rows = octets[: post.BODY_BYTES_MAX], post.PRESETS
    headers = {"authorization": begin.decode("latin-1")}
    arrived = post.Arrived(headers, "x", post.mac_of(b"key"), begin)
    pdu = msgspec.structs.replace(rows["custom"], pdu="pdu", sender="a", text="b", slot="c", time="d")
    return [
        *(post.read_post(one, begin, UTC, whole=whole) for one in (rows["capcom6"], pdu) for whole in (True, False)),
        *(post.fault_of(rows[name], b"key", arrived, 0) for name in ("httpsms", "smsforwarder")),
    ]


def phone_backups(octets: bytes) -> object:
    decoded = octets.decode(phone_backup.encoding_of(octets), "replace")
    pieces = [decoded[at : at + 4096] for at in range(0, len(decoded), 4096)]
    found = []
    for form in (None, phone_backup.XML, phone_backup.CSV, phone_backup.PDU):
        with contextlib.suppress(phone_backup.BackupError):
            found += list(islice(phone_backup.messages_of(iter(pieces), form, UTC), 1000))
    return found


def a_statement(octets: bytes) -> object:
    found = []
    for begin in (b"", b"PK\x03\x04", b"F_ID,AMOUNT,DATE\n"):
        with contextlib.suppress(statement_file.StatementFileError):
            found.append(statement.read_statement(statement_file.rows_in(begin + octets)))
    return found


def reconcile_file(octets: bytes) -> object:
    found = []
    for form in (None, "csv", "ndjson"):
        with contextlib.suppress(Failure):
            found += reconcile.lines_of(text(octets), form)
    return found


def hub_reply(octets: bytes) -> object:
    found = hub_client._read(httpx.Response(200), octets, "https://hub.example")
    return hub_answer.read(found, hub_answer.ExchangeAnswer)


def hub_request(octets: bytes) -> object:
    return facts.decode(octets)


def zipped(octets: bytes) -> object:
    limit = 1_000_000
    scope = {"headers": [(b"content-type", b"application/json"), (b"content-encoding", b"gzip")]}

    def unzipped(body: bytes) -> bytes:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        return asyncio.run(http_body.read_large(scope, receive, limit))

    with contextlib.suppress(MomoError):
        assert len(unzipped(octets)) <= limit
    return facts.decode(unzipped(gzip.compress(octets)))


def receiver(octets: bytes) -> object:
    """Read the head and body of a webhook's receiver."""
    headers = {"retry-after": octets.decode("latin-1"), "date": text(octets)}
    got = https.PartialResponse()
    got.take(octets)
    return https.retry_after_s(headers), https.date_us(headers), got.text()


def receiver_protocol(octets: bytes) -> object:
    class Parts:
        def on_header(self, _name: bytes, _value: bytes) -> None:
            """Take a header."""

    with contextlib.suppress(httptools.HttpParserError):
        httptools.HttpResponseParser(Parts()).feed_data(octets)
    with contextlib.suppress(httptools.HttpParserError):
        httptools.HttpRequestParser(Parts()).feed_data(octets)
    return None


def sms(octets: bytes) -> object:
    body = text(octets)[:5000]
    return [
        (read.read(sender, body), money.read_money(body), svc_code.candidates(body[:400]))
        for sender in ("MobileMoney", "T-CASH", None, body[:20])
    ]


def a_time(octets: bytes) -> object:
    one = text(octets)[:60]
    with contextlib.suppress(ValueError):
        times.read_iso(one)
    return times.read_printed(one), times.read_local(one, one), post.read_time(one, UTC)


def typed(octets: bytes) -> object:
    one = text(octets)
    with contextlib.suppress(Failure):
        typed_values.amount_of(one)
    with contextlib.suppress(Failure):
        typed_values.read_json(one.lstrip("@"), "--meta")
    return (
        pasted.plain_id(one), pasted.plain_code(one), pasted.plain_amount(one), phone.read_phone(one),
        reading.normalize_telco_id(one), money.read_api_amount(one), callers.parse_key(one),
    )  # fmt: skip


def restored(octets: bytes) -> object:
    name = Path(restored.folder, "momo-20261128T000000Z.db")  # type: ignore[attr-defined]
    name.write_bytes(octets)
    with contextlib.suppress(backup.BackupBad):
        return backup.verify_copy(name)
    return None


READERS: dict[str, tuple[Callable[[bytes], object], tuple[type[Exception], ...], tuple[Any, ...]]] = {
    "AT lines of a modem": (at_lines, (), (at,)),
    "PDU": (a_pdu, (), (pdu, pdu_fields)),
    "header of a part": (header_of_a_part, (), (pdu_fields,)),
    "GSM 7-bit and times of a PDU": (septets, (), (gsm7, pdu_fields)),
    "HiLink": (stick, (), (hilink, xml_text)),
    "post of an app": (app_post, (), (post,)),
    "SMS backup": (phone_backups, (), (phone_backup,)),
    "statement": (a_statement, (), (statement, statement_file)),
    "file for reconcile": (reconcile_file, (), (reconcile,)),
    "settings": (lambda octets: config_file.parse_config(text(octets)), (config_file.ConfigError,), (config_file,)),
    "own wordings": (lambda octets: own.load_wordings(text(octets)), (), (own,)),
    "body of a request": (http_body.parse, (MomoError,), (http_body,)),
    "request of a branch": (hub_request, (MomoError,), (facts,)),
    "zipped request of a branch": (zipped, (MomoError,), (facts, http_body)),
    "answer of a hub": (hub_reply, (MomoError,), (hub_client, hub_answer)),
    "answer of a receiver": (receiver, (), (https,)),
    "HTTP of both sides": (receiver_protocol, (), ()),
    "SMS": (sms, (), (read, reading)),
    "times": (a_time, (), (times,)),
    "typed and pasted": (typed, (), (typed_values, pasted)),
    "line of the message journal": (lambda octets: message_journal.decode(octets, b"k" * 32), (), (message_journal,)),
    "copy to restore": (restored, (), (backup,)),
    "public key of a hub": (public_key.spki_of, (public_key.PublicKeyError,), (public_key,)),
}
"""What reads octets from outside, the faults that it names, and the modules with its code."""

ODD = st.sampled_from(
    [
        "\x00", "\x0c", "\x0f", "\x1b", "\x85", "\u2028", "\ufffe", "\uffff", "\ud83d", "\ude09", "\U0001f609", "&#0;", "&#15;",
        "&#xD83D;&#xDE09;", "<", "]]>", "<!DOCTYPE a [<!ENTITY b 'c'>]>", "{", "[", '"', ",", ";", "\t", "\r\n", "0001-01-01", "9999-12-31 23:59:59",
        "1970-01-01T00:00:00.000+00:00", "2569-01-01T00:00:00Z", "-1", "1e999", "99999999999999999999", "NaN", "\\ud800", "GHS 1,000.00",
        '{"event": "sms:received", "payload": {"message": "', '", "receivedAt": "', '"}}', "<response><Messages><Message><Content>",
        "</Content><Date>", "</Date></Message></Messages></response>", '<smses><sms address="MobileMoney" type="1" date="', '" body="', '"/></smses>',
        "+CMGL: 1,0,,20", '+CCLK: "99/99/99,99:99:99+99"', "Transaction ID: ", "reference,transaction_id,amount\n",
    ]
)  # fmt: skip
OCTETS = st.binary(max_size=300) | st.lists(ODD | st.text(st.characters(), max_size=30)).map(
    lambda pieces: "".join(pieces).encode("utf-8", "surrogatepass")
)


def test_any_octets_give_a_value_or_a_named_fault(tmp_path: Path) -> None:
    restored.folder = tmp_path  # type: ignore[attr-defined]

    @given(OCTETS)
    @settings(max_examples=150)
    @example(b"")
    def check(octets: bytes) -> None:
        for name, (reader, faults, _) in READERS.items():
            note(name)
            with contextlib.suppress(*faults):
                reader(octets)

    check()


@pytest.mark.slow
@pytest.mark.parametrize(("filling", "size"), [(b"A", LARGE), (b"[", LARGE), (b"<a>", LARGE), (b"\n", LARGE)])
@pytest.mark.parametrize("name", READERS)
def test_many_octets_are_read_in_bounded_memory(name: str, filling: bytes, size: int, tmp_path: Path) -> None:
    reader, faults, _ = READERS[name]
    restored.folder = tmp_path  # type: ignore[attr-defined]
    octets = filling * (size // len(filling))
    tracemalloc.start()
    try:
        with contextlib.suppress(*faults):
            reader(octets)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * LARGE + (0 if LONG else 10_000_000), (
        "what a reader needs for a short text too counts in the small tier"
    )


DECODERS = frozenset(
    {"loads", "decode", "Decoder", "reader", "DictReader", "fromhex", "decompressobj", "decompress", "strptime", "fromisoformat"}
)  # fmt: skip
MODULES = frozenset({"json", "tomllib", "csv", "zlib", "gzip", "tarfile", "zipfile", "xml", "httptools", "xmltodict"})
"""Modules that decode: whoever imports one reads octets."""
OUR_FOLDERS = ("daemon/store/", "daemon/demo/", "daemon/emulator/")
"""They read rows that momo wrote, or octets of the demo."""
ELSEWHERE = {
    **dict.fromkeys(
        (
            "daemon/core/access/callers.py", "daemon/core/books/day_sheet.py", "daemon/core/json_values.py",
            "daemon/core/payments/transaction_json.py", "daemon/core/upkeep/clock_check.py",
            "daemon/core/upkeep/erasure.py", "daemon/core/webhooks/endpoint.py", "daemon/core/webhooks/routing.py",
            "daemon/core/webhooks/rule_fields.py", "daemon/core/webhooks/rules.py", "daemon/dash/pages/webhooks/deliveries.py",
            "daemon/dash/pages/webhooks/endpoints.py", "daemon/flows/access/browser.py", "daemon/flows/access/keys.py",
            "daemon/flows/branches/sync.py", "daemon/flows/payments/review.py", "daemon/flows/upkeep/notices.py",
            "daemon/flows/webhooks/endpoints.py", "daemon/steps/judge.py", "daemon/steps/take_back.py",
            "daemon/steps/webhooks/head.py",
        ),
        "values of our own database, checked when they were stored",
    ),
    **dict.fromkeys(
        (
            "daemon/runtime/log.py", "daemon/runtime/own_certificate.py", "daemon/runtime/words.py", "daemon/doctor/bundle.py",
            "daemon/runtime/page_response.py", "daemon/api/openapi/pages.py", "momo_cli/commands/upkeep/config.py",
            "momo_cli/socket/connect.py",
        ),
        "files of our own",
    ),
    **dict.fromkeys(
        (
            "daemon/commands/config.py", "daemon/commands/decode.py", "momo_cli/service/daemon_program.py",
            "momo_cli/frame/command.py", "momo_cli/service/modem_manager.py", "momo_cli/setup/machine.py", "momo_cli/show/render.py",
        ),
        "what the other half of momo or a program of the system has printed",
    ),
    "daemon/core/webhooks/signature_check.py": "tests/core/webhooks/test_signature_check.py",
    "daemon/dash/pages/webhooks/rules.py": "tests/dash/test_webhooks.py",
    "daemon/dash/parts/listing.py": "tests/dash/test_forgery.py",
    "daemon/sender/connection.py": "tests/sender/test_transport.py",
    "parsers/statement_file.py": "tests/parsers/test_statement_file.py",
    "daemon/sender/http_client.py": "tests/sender/test_hub_client.py",
    "momo_cli/commands/messages/messages.py": "tests/cli/messages/test_templates.py",
    "momo_cli/listener.py": "tests/cli/webhooks/test_listen.py",
    "momo_cli/socket/client.py": "tests/cli/socket/test_client.py",
    "momo_cli/socket/http.py": "tests/cli/socket/test_http.py",
    "momo_cli/socket/trace.py": "tests/cli/socket/test_client.py",
}  # fmt: skip
"""Whose octets the other modules read, or the test that reads odd ones there."""


def decoding() -> Iterable[str]:
    """Return the modules of the product that import a decoder."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if not any(decoder in text for decoder in DECODERS):
                continue
            tree = ast.parse(text)
            named = {
                name.partition(".")[0]
                for node in ast.walk(tree)
                if isinstance(node, ast.Import | ast.ImportFrom)
                for name in (
                    [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
                )
            }
            loads = any(isinstance(node, ast.Attribute) and node.attr in DECODERS for node in ast.walk(tree))
            name = str(path.relative_to(ROOT))
            if named & MODULES and loads and not name.startswith(OUR_FOLDERS):
                yield name


def test_every_module_that_decodes_octets_is_in_the_table_or_says_whose_they_are() -> None:
    covered = {str(Path(module.__file__).relative_to(ROOT)) for _, _, modules in READERS.values() for module in modules}
    found = set(decoding())
    assert sorted(found - covered - set(ELSEWHERE)) == []
    assert sorted(set(ELSEWHERE) - found) == [], "it decodes nothing any more"
