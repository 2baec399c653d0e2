import hmac
import json
import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core import ids
from daemon.wire import EventKind, Mode
from tests.fakes.each import each

SIXTEEN = st.binary(min_size=16, max_size=16)


def test_uuid_has_version_4_and_the_standard_variant() -> None:
    assert ids.new_uuid(bytes(16)) == "00000000-0000-4000-8000-000000000000"
    assert ids.new_uuid(b"\xff" * 16) == "ffffffff-ffff-4fff-bfff-ffffffffffff"


@given(SIXTEEN)
def test_uuid_is_what_the_standard_library_makes_of_the_same_bytes(entropy: bytes) -> None:
    assert ids.new_uuid(entropy) == str(uuid.UUID(bytes=entropy, version=4))


@given(SIXTEEN, st.integers(0, 2**48 * 1000 - 1))
def test_time_ordered_uuid_has_version_7_the_time_and_the_random_bits(entropy: bytes, now_us: int) -> None:
    random = ids.new_uuid(entropy)
    made = uuid.UUID(ids.time_ordered(random, now_us))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == now_us // 1000
    assert made.int % 2**76 == uuid.UUID(random).int % 2**76


@given(SIXTEEN)
def test_reference_carries_the_uuid_and_gives_it_back(entropy: bytes) -> None:
    transaction_id = ids.new_uuid(entropy)
    reference = ids.reference_of(transaction_id)
    assert re.fullmatch("svc_trx_[0-9a-f]{32}", reference)
    assert ids.split_reference(reference) == transaction_id


@each(
    "text",
    [
        "",
        "svc_trx_",
        "svc_trx_" + "0" * 31,
        "svc_trx_" + "0" * 33,
        "svc_trx_" + "G" * 32,
        "svc_trx_" + "A" * 32,
        "svc_trx_" + "\u0660" * 32,
        " svc_trx_" + "0" * 32,
        "svc_trx_" + "0" * 32 + "\n",
        "trx_" + "0" * 32,
    ],
)
def test_what_is_no_reference_has_no_uuid(text: str) -> None:
    assert ids.split_reference(text) is None


def test_device_id_of_an_imei_never_changes() -> None:
    # Shops keep this id in their own software: a new value here loses their phones.
    assert ids.device_id_of("356938035643809") == "1527c25b-d5ac-577c-8595-7194ffc51b2a"
    assert uuid.UUID(ids.device_id_of("356938035643809")).version == 5


def test_device_ids_of_two_imeis_differ() -> None:
    assert ids.device_id_of("356938035643809") != ids.device_id_of("356938035643817")


def test_request_and_reconciliation_ids_show_what_they_are() -> None:
    assert ids.request_id(bytes(16)) == "req_" + "0" * 32
    assert ids.reconciliation_id(b"\xab" * 16) == "rec_" + "ab" * 16


def test_slug_is_22_characters_at_both_ends() -> None:
    assert ids.public_slug(bytes(16)) == "0" * 22
    assert ids.public_slug(b"\xff" * 16) == "7n42DGM5Tflk9n8mt7Fhc7"


@given(SIXTEEN, SIXTEEN)
def test_different_entropy_gives_different_slugs(one: bytes, two: bytes) -> None:
    assert (ids.public_slug(one) == ids.public_slug(two)) == (one == two)
    assert re.fullmatch("[0-9A-Za-z]{22}", ids.public_slug(one))


@given(st.integers(0, 62**6 - 1))
def test_what_is_written_in_base62_reads_back(number: int) -> None:
    text = ids.base62(number, 6)
    read = 0
    for character in text:
        read = read * 62 + ids.BASE62.index(character)
    assert (len(text), read) == (6, number)


def test_base62_refuses_a_number_that_does_not_fit() -> None:
    with pytest.raises(AssertionError):
        ids.base62(62, 1)


@pytest.mark.parametrize("make", [ids.request_id, ids.reconciliation_id, ids.public_slug])
def test_too_little_entropy_is_our_fault(make: object) -> None:
    assert callable(make)
    with pytest.raises(AssertionError):
        make(bytes(15))


@given(st.text(), st.text(), st.integers(0, 9))
def test_derived_ids_are_those_of_the_json_of_their_parts(url: str, subject: str, revision: int) -> None:
    key = b"k" * 32
    kind = next(iter(EventKind))
    parts = json.dumps([str(Mode.LIVE), url, str(kind), subject, revision]).encode()
    number = int.from_bytes(hmac.new(key, parts, "sha256").digest(), "big") % 36**24
    low_first = ids.webhook_id(key, Mode.LIVE, url, kind, subject, revision).removeprefix("ocl_")
    assert int(low_first[::-1], 36) == number
    payment = hmac.new(key, json.dumps(["payment", url]).encode(), "sha256").digest()[:16]
    assert ids.payment_id(key, url)[len(url[:15]) :] == ids.new_uuid(payment)[15:]
