import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.access import callers
from daemon.core.access.callers import Caller, CallerKind, KeyKind, KeyParts
from daemon.core.ids import BASE62
from daemon.wire import Mode, Scope
from tests.fakes.each import each
from tests.fakes.entropy import FakeEntropy

BODY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
PREFIXES = {
    (Mode.LIVE, KeyKind.SECRET): "svc_live_sk_",
    (Mode.TEST, KeyKind.SECRET): "svc_test_sk_",
    (Mode.LIVE, KeyKind.PUBLISHABLE): "svc_live_pk_",
    (Mode.TEST, KeyKind.PUBLISHABLE): "svc_test_pk_",
}


def caller(*scopes: Scope) -> Caller:
    return Caller(CallerKind.KEY, Mode.LIVE, frozenset(scopes), "key-1", False, "key:key-1")


@pytest.mark.parametrize(("what", "prefix"), PREFIXES.items())
def test_key_says_its_mode_and_kind(what: tuple[Mode, KeyKind], prefix: str) -> None:
    mode, kind = what
    key = callers.make_key(mode, kind, FakeEntropy(7).below)
    assert re.fullmatch(prefix + "[0-9A-Za-z]{38}", key)
    assert callers.parse_key(key) == KeyParts(mode, kind, f"{prefix}...{key[-4:]}")


def test_checksum_is_base62_of_the_crc_of_the_random_part() -> None:
    # binascii.crc32(b"A" * 32) is 0xAD316F1E = 2905698078 = 3Ae0o2 in base 62.
    key = callers.make_key(Mode.LIVE, KeyKind.SECRET, lambda _limit: 10)
    assert key == "svc_live_sk_" + BODY + "3Ae0o2"


@given(st.integers(0, 2**32), st.integers(0, 37), st.sampled_from(BASE62))
def test_one_wrong_character_is_noticed(seed: int, position: int, character: str) -> None:
    key = callers.make_key(Mode.TEST, KeyKind.SECRET, FakeEntropy(seed).below)
    at = len("svc_test_sk_") + position
    wrong = key[:at] + character + key[at + 1 :]
    assert (callers.parse_key(wrong) is None) == (wrong != key)


@each(
    "text",
    [
        "",
        "svc_live_sk_",
        "svc_live_sk_" + BODY,
        "svc_live_sk_" + BODY + "000000",
        "svc_live_xx_" + BODY + "000000",
        "svc_prod_sk_" + BODY + "000000",
        "sk_live_" + BODY,
        "\u0660" * 50,
    ],
)
def test_what_is_no_key_is_none(text: str) -> None:
    assert callers.parse_key(text) is None


def test_key_with_white_space_around_it_is_none() -> None:
    key = callers.make_key(Mode.LIVE, KeyKind.SECRET, FakeEntropy().below)
    assert [callers.parse_key(text) for text in (f" {key}", f"{key} ", f"{key}\n")] == [None] * 3


@given(st.text())
def test_any_text_gets_an_answer(text: str) -> None:
    assert callers.parse_key(text) is None


def test_key_is_stored_as_its_sha_256() -> None:
    assert callers.hash_key("svc_live_sk_x") == hashlib.sha256(b"svc_live_sk_x").hexdigest()


def test_hint_does_not_give_the_key_away() -> None:
    key = callers.make_key(Mode.LIVE, KeyKind.SECRET, FakeEntropy().below)
    parts = callers.parse_key(key)
    assert parts is not None
    assert len(parts.hint) < 20


def test_write_implies_initialize_and_manage_implies_read() -> None:
    implied = {scope: callers.with_implied(frozenset({scope})) - {scope} for scope in Scope}
    assert {scope: more for scope, more in implied.items() if more} == {
        Scope.TRANSACTIONS_WRITE: {Scope.TRANSACTIONS_INITIALIZE},
        Scope.PAYMENT_METHODS_MANAGE: {Scope.PAYMENT_METHODS_READ},
    }


def test_caller_may_what_its_scopes_imply_and_nothing_else() -> None:
    writer = caller(Scope.TRANSACTIONS_WRITE)
    assert {scope for scope in Scope if writer.may(scope)} == {
        Scope.TRANSACTIONS_WRITE,
        Scope.TRANSACTIONS_INITIALIZE,
    }


def test_caller_without_scopes_may_nothing() -> None:
    assert not any(caller().may(scope) for scope in Scope)


def test_no_key_can_be_given_the_managing_of_keys() -> None:
    assert set(Scope) - {Scope.KEYS_MANAGE, Scope.BRANCH} == callers.KEY_SCOPES
