import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.access import callers
from daemon.core.access.callers import KEYS_MAX, Caller, CallerKind, KeyKind, KeyParts, Rates, caller_address
from daemon.core.ids import BASE62
from daemon.core.limits import MINUTE_US, SECOND_US
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
    assert {scope for scope in Scope if writer.may(scope)} == {Scope.TRANSACTIONS_WRITE, Scope.TRANSACTIONS_INITIALIZE}


def test_caller_without_scopes_may_nothing() -> None:
    assert not any(caller().may(scope) for scope in Scope)


def test_no_key_can_be_given_the_managing_of_keys() -> None:
    assert set(Scope) - {Scope.KEYS_MANAGE, Scope.BRANCH} == callers.KEY_SCOPES


HEADER = b"x-forwarded-for"


@pytest.mark.parametrize(
    ("peer", "header", "told", "found"),
    [
        ("127.0.0.1", HEADER, b"10.9.9.9, 102.176.10.7", "102.176.10.7"),
        ("::1", HEADER, b"2001:DB8:0::7", "2001:db8::7"),
        ("127.0.0.1", HEADER, b"::ffff:102.176.10.7", "102.176.10.7"),
        ("102.176.10.7", HEADER, b"10.9.9.9", "102.176.10.7"),
        ("127.0.0.1", b"", b"10.9.9.9", "127.0.0.1"),
        ("127.0.0.1", HEADER, b"<script>", "127.0.0.1"),
        ("127.0.0.1", HEADER, b"", "127.0.0.1"),
    ],
)
def test_the_last_address_that_a_proxy_here_names_is_the_callers(
    peer: str, header: bytes, told: bytes, found: str
) -> None:
    assert caller_address(peer, [(b"host", b"x"), (HEADER, told)], header) == found


def test_a_proxy_that_names_nobody_leaves_its_own_address() -> None:
    assert caller_address("127.0.0.1", [(b"host", b"x")], HEADER) == "127.0.0.1"


def test_a_line_that_the_client_sent_itself_does_not_forge_the_address() -> None:
    headers = [(HEADER, b"10.9.9.9"), (HEADER, b"10.8.8.8, 102.176.10.7")]
    assert caller_address("127.0.0.1", headers, HEADER) == "102.176.10.7"


NOW = 1_800_000_000 * SECOND_US


def test_a_burst_goes_through_and_the_next_call_waits_for_one_filling() -> None:
    rates = Rates(60, 5)
    taken = [rates.take("a", NOW) for _ in range(6)]
    assert [one is not None and one.allowed for one in taken] == [True] * 5 + [False]
    assert [one.remaining for one in taken if one] == [4, 3, 2, 1, 0, 0]
    last = taken[-1]
    assert last is not None
    assert (last.limit, last.reset_s, last.retry_after_s) == (60, 5, 1)
    again = rates.take("a", NOW + SECOND_US)
    assert again is not None
    assert again.allowed


def test_no_limit_says_nothing() -> None:
    assert Rates(0, 60).take("a", NOW) is None


def test_one_key_does_not_use_up_anothers_calls() -> None:
    rates = Rates(60, 1)
    assert [rates.take(key, NOW).allowed for key in "aba"] == [True, True, False]  # type: ignore[union-attr]  # there is a limit


def test_a_refused_call_costs_nothing() -> None:
    rates = Rates(60, 1)
    for _ in range(100):
        rates.take("a", NOW)
    taken = rates.take("a", NOW + SECOND_US)
    assert taken is not None
    assert taken.allowed


def test_a_clock_set_back_locks_nobody_out_for_longer_than_a_filling() -> None:
    rates = Rates(60, 5)
    for _ in range(5):
        rates.take("a", NOW + 3600 * SECOND_US)
    rates.take("a", NOW)
    taken = rates.take("a", NOW + SECOND_US)
    assert taken is not None
    assert taken.allowed


def test_the_memory_is_bounded() -> None:
    rates = Rates(60, 5)
    for number in range(3 * KEYS_MAX):
        rates.take(str(number), NOW)
    assert len(rates._full_at) <= KEYS_MAX


@given(
    per_min=st.integers(1, 6000), burst=st.integers(1, 100), gaps=st.lists(st.integers(0, 5 * SECOND_US), max_size=200)
)
def test_never_more_than_the_burst_and_the_filling(per_min: int, burst: int, gaps: list[int]) -> None:
    rates, now, allowed = Rates(per_min, burst), NOW, 0
    for gap in gaps:
        now += gap
        taken = rates.take("a", now)
        assert taken is not None
        allowed += taken.allowed
        assert taken.allowed == (taken.retry_after_s == 0)
        assert 0 <= taken.remaining < burst + 1
        assert allowed <= burst + (now - NOW) // (MINUTE_US // per_min) + 1
