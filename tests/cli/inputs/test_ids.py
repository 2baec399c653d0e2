"""Short forms of an id: a prefix, a name, a number; an ambiguous one is refused."""

import pathlib

import pytest

from daemon import wire
from daemon.wire import ErrorCode, Path
from momo_cli.errors import Failure
from momo_cli.inputs.ids import ENDPOINTS, METHODS, find_match, matches_part
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.each import each
from tests.fakes.fake_api import FakeApi, ok, refusal
from tests.fakes.real_shop import RealShop

AMA = {**samples.METHOD_ROW, "phone_number": "+233244124567", "account_name": "Ama Mensah"}
ESI = {**AMA, "id": "6f1c9999-3a55-4a83-9d0c-0b6f8f0f3f11", "phone_number": "+233200000011", "account_name": "Esi"}


@each(
    ("typed", "fit"),
    [
        ("6f1c0f2e", True),
        ("6F1C0f2e", True),
        ("6f1c…3f11", True),
        ("6f1…11", True),
        ("6f1c~3f11", True),
        ("6f1c...3f11", True),
        ("…3f11", True),
        ("6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11", True),
        ("6f1", False),
        ("…11", False),
        ("3f11", False),
        ("6f1c…3f12", False),
    ],
)
def test_the_beginning_or_the_ends_of_an_id_are_enough(typed: str, fit: bool) -> None:
    assert matches_part(typed, samples.METHOD) is fit


@pytest.mark.parametrize("typed", ["svc_", "svc_trx_", "svc_…", "svc_trx_012"])
def test_what_every_reference_begins_with_tells_nothing(typed: str) -> None:
    assert not matches_part(typed, samples.REF)


@pytest.mark.parametrize("typed", ["0244124567", "024 412 4567", "+233244124567", "Ama Mensah", "ama mensah", "6f1c0"])
def test_a_number_is_known_by_itself_its_name_or_its_id(typed: str) -> None:
    assert find_match(typed, [AMA, ESI], METHODS) is AMA


@pytest.mark.parametrize("typed", ["books", "https://shop.example/hook/", "shop.example"])
def test_an_endpoint_is_known_by_its_label_url_or_host(typed: str) -> None:
    row = {**samples.ENDPOINT, "description": "books", "url": "https://shop.example/hook"}
    assert find_match(typed, [row], ENDPOINTS) is row


def test_of_two_that_are_meant_none_is_taken() -> None:
    with pytest.raises(Failure) as refused:
        find_match("6f1c", [AMA, ESI], METHODS)
    assert refused.value.code == ErrorCode.USAGE
    assert refused.value.message == f"'6f1c' matches 2 payment methods: {AMA['id']}, {ESI['id']}"
    assert refused.value.next == ("momo lines list",)


def test_a_name_wins_over_the_beginning_of_an_id() -> None:
    called = {**ESI, "account_name": "6f1c0f2e"}
    assert find_match("6f1c0f2e", [AMA, called], METHODS) is called


@each(
    ("argv", "call"),
    [
        (("lines", "show"), ("GET", f"/v1/payment-methods/{samples.METHOD}")),
        (("lines", "remove", "--yes"), ("DELETE", f"/v1/payment-methods/{samples.METHOD}")),
        (("lines", "update", "--sim", "none"), ("PATCH", f"/v1/payment-methods/{samples.METHOD}")),
        (("claim", "--yes"), ("POST", f"/v1/payment-methods/{samples.METHOD}/claim-unplaced")),
    ],
)
@each("typed", ["0244124567", samples.METHOD])
def test_a_number_stands_for_its_id(
    argv: tuple[str, ...], call: tuple[str, str], typed: str, api: FakeApi, momo: Momo
) -> None:
    api.on("GET", Path.PAYMENT_METHODS, ok([ESI, AMA]))
    api.on(*call, ok(AMA, claimed=0))
    assert momo(*argv, "--", typed).code == 0
    assert (api.asked[-1].method, api.asked[-1].path) == call


def test_a_replay_goes_to_whom_it_is_said(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.ENDPOINTS, ok([{**samples.ENDPOINT, "description": "shop-web"}]))
    api.on("POST", Path.REPLAY, ok(None, enqueued=0))
    assert momo("replay", "--endpoint", "Shop-Web", "--from", "-25h", "--yes").code == 0
    assert api.asked[-1].body["endpoint_id"] == samples.ENDPOINT["id"]
    assert momo("replay", "--endpoint", "nobody", "--from", "-25h", "--yes").code == 3


def test_a_number_that_there_is_not_is_3(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.PAYMENT_METHODS, ok([ESI]))
    ran = momo("lines", "show", "0244124567", "--json")
    assert ran.code == 3
    assert ran.json["error"]["code"] == "PAYMENT_METHOD_NOT_FOUND"
    assert ran.json["error"]["next"] == ["momo lines list"]


@pytest.mark.parametrize("typed", ["svc_trx_0123", "svc_…cdef", "svc_~cdef", "SVC_TRX_0123...EF"])
def test_an_order_is_known_by_the_ends_of_its_reference(typed: str, api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.TRANSACTIONS, ok([samples.PAID], pagination=samples.PAGE))
    api.on("GET", Path.TRANSACTION.format(reference=samples.REF), samples.one("SUCCESS"))
    assert momo("tx", "show", typed, "--get", "data.reference").out == f"{samples.REF}\n"
    asked = api.asked[0].query
    assert (asked["search"].lower()[:4], asked["origin"]) == ("svc_", "all")
    assert "~" not in asked["search"]


def test_reconcile_takes_no_order_when_two_are_meant(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.TRANSACTIONS, ok([samples.PAID, samples.SHORT], pagination=samples.PAGE))
    ran = momo("reconcile", "svc_trx_0123", "40412345678")
    assert ran.code == 2
    assert ran.err.startswith("error: 'svc_trx_0123' matches 2 transactions: svc_trx_")
    assert [asked.method for asked in api.asked] == ["GET"]


def test_a_whole_reference_is_not_looked_up(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.TRANSACTION.format(reference=samples.REF), samples.one("SUCCESS"))
    assert momo("tx", "show", samples.REF).code == 0
    assert Path.TRANSACTIONS not in [asked.path for asked in api.asked]


def cut(whole: str) -> str:
    """Return an id as a narrow table shows it."""
    return f"{whole[:4]}…{whole[-4:]}"


REVIEW, LETTER, DELIVERY, KEY, PAYER = (
    str(row["id"]) for row in (samples.REVIEW, samples.DEAD_LETTER, samples.DELIVERY, samples.KEY, samples.PAYER)
)
SHOWN = [
    (Path.REVIEWS, samples.REVIEW, ("review", "show"), ("GET", f"/v1/reviews/{REVIEW}")),
    (Path.REVIEWS, samples.REVIEW, ("review", "reject", "--notes", "no"), ("POST", f"/v1/reviews/{REVIEW}/reject")),
    (Path.LOCAL_MESSAGES, samples.MESSAGE_ROW, ("messages", "show"), ("GET", f"/local/v1/messages/{samples.MESSAGE}")),
    (Path.DELIVERIES, samples.DELIVERY, ("deliveries", "show"), ("GET", f"/v1/open-collections/deliveries/{DELIVERY}")),
    (
        Path.DELIVERIES,
        samples.DELIVERY,
        ("deliveries", "redeliver"),
        ("POST", f"/v1/open-collections/deliveries/{DELIVERY}/redeliver"),
    ),
    (Path.DEAD_LETTERS, samples.DEAD_LETTER, ("dead-letters", "show"), ("GET", f"/v1/webhooks/dead-letters/{LETTER}")),
    (
        Path.DEAD_LETTERS,
        samples.DEAD_LETTER,
        ("dead-letters", "replay"),
        ("POST", f"/v1/webhooks/dead-letters/{LETTER}/replay"),
    ),
    (Path.KEYS, samples.KEY, ("keys", "show"), ("GET", f"/v1/keys/{KEY}")),
    (Path.KEYS, samples.KEY, ("keys", "revoke", "--yes"), ("DELETE", f"/v1/keys/{KEY}")),
    (Path.APPROVED_PAYERS, samples.PAYER, ("review", "payers", "revoke"), ("DELETE", f"/v1/approved-payers/{PAYER}")),
]


@pytest.mark.parametrize(("path", "row", "argv", "call"), SHOWN)
def test_what_a_table_shows_of_an_id_can_be_typed_back(
    path: str, row: dict[str, object], argv: tuple[str, ...], call: tuple[str, str], api: FakeApi, momo: Momo
) -> None:
    api.on("GET", path, ok([row]))
    api.on("GET", call[1], ok(row))
    api.on(*call, ok(row))
    ran = momo(*argv, "--", cut(str(row["id"])))
    assert ran.code == 0, ran.err
    asked = [(each.method, each.path) for each in api.asked]
    assert (asked[0], asked[-1]) == (("GET", path), call)


def test_a_key_is_known_by_its_name(api: FakeApi, momo: Momo) -> None:
    other = {**samples.KEY, "id": samples.METHOD, "name": "books"}
    api.on("GET", Path.KEYS, ok([samples.KEY, other]))
    api.on("GET", f"/v1/keys/{samples.METHOD}", ok(other))
    assert momo("keys", "show", "Books", "-o", "id").out == f"{samples.METHOD}\n"


def test_a_review_on_a_later_page_is_found(api: FakeApi, momo: Momo) -> None:
    others = [{**samples.REVIEW, "id": f"99999999-0000-4000-8000-{n:012}"} for n in range(200)]
    api.on("GET", Path.REVIEWS, ok(others), ok([samples.REVIEW]))
    api.on("GET", f"/v1/reviews/{REVIEW}", ok(samples.REVIEW))
    assert momo("review", "show", cut(REVIEW), "-o", "id").out == f"{REVIEW}\n"
    assert [asked.query for asked in api.asked[:2]] == [
        {"state": "all", "limit": "200", "offset": "0"},
        {"state": "all", "limit": "200", "offset": "200"},
    ]


def test_nothing_is_approved_when_two_reviews_are_meant(api: FakeApi, momo: Momo) -> None:
    twin = {**samples.REVIEW, "id": REVIEW[:-1] + "0"}
    api.on("GET", Path.REVIEWS, ok([samples.REVIEW, twin]))
    ran = momo("review", "approve", REVIEW[:8], "--yes")
    assert ran.code == 2
    assert ran.err.startswith(f"error: '{REVIEW[:8]}' matches 2 reviews: {REVIEW}, ")
    assert [asked.method for asked in api.asked] == ["GET"]


def test_deliveries_in_the_plural(api: FakeApi, momo: Momo) -> None:
    twin = {**samples.DELIVERY, "id": DELIVERY[:-1] + "0"}
    api.on("GET", Path.DELIVERIES, ok([samples.DELIVERY, twin]))
    assert "matches 2 deliveries" in momo("deliveries", "show", DELIVERY[:8]).err


def test_a_batch_takes_beginnings_and_leaves_what_means_nothing_to_the_daemon(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.DEAD_LETTERS, ok([samples.DEAD_LETTER]))
    refused = {"id": "nobody", "code": "DEAD_LETTER_NOT_FOUND", "message": "no"}
    api.on("POST", Path.DEAD_LETTERS_REPLAY, ok({"replayed": [LETTER], "failed": [refused]}))
    assert momo("dead-letters", "replay", cut(LETTER), LETTER, "nobody").code == 9
    assert [asked.method for asked in api.asked] == ["GET", "POST"]
    assert api.asked[-1].body == {"dead_letter_ids": [LETTER, "nobody"]}


def test_messages_are_read_again_by_the_beginning_of_their_ids(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.LOCAL_MESSAGES, ok([samples.MESSAGE_ROW]))
    api.on("POST", Path.LOCAL_REPARSE, ok({**samples.REPARSED, "next": None}))
    assert momo("messages", "reparse", samples.MESSAGE[:8]).code == 0
    assert api.asked[-1].body["ids"] == [samples.MESSAGE]


@pytest.mark.slow
def test_the_daemon_lists_whatever_an_id_may_be_looked_up_in(tmp_path: pathlib.Path) -> None:
    with RealShop(tmp_path) as shop:
        shop.start()
        for words in (
            "review show", "messages show", "deliveries show", "dead-letters show", "keys show",
            "review payers revoke", "notices seen",
        ):  # fmt: skip
            ran = shop.momo(*words.split(), "nobody", "--json")
            assert ran.returncode == 3, ran.stdout
            assert "matches 'nobody'" in ran.stdout


HOOK = samples.ENDPOINT["id"]
RULE = {**samples.RULE, "name": "rents", "position": 1}
OTHER_RULE = {**RULE, "id": samples.RULE["id"][:-1] + "0", "name": "", "position": 2}


@pytest.mark.parametrize("typed", [cut(samples.RULE["id"]), "Rents", "1"])
def test_a_rule_is_known_by_its_id_its_name_or_its_number(typed: str, api: FakeApi, momo: Momo) -> None:
    rules = f"/v1/open-collections/endpoints/{HOOK}/rules"
    api.on("GET", rules, ok([RULE, OTHER_RULE]))
    api.on("PUT", f"{rules}/{RULE['id']}", ok(RULE))
    api.on("DELETE", f"{rules}/{RULE['id']}", ok(None, deleted=True))
    assert momo("endpoints", "rules", "update", HOOK, typed, "--no-enabled").code == 0
    assert momo("endpoints", "rules", "remove", HOOK, typed, "-o", "id").out == f"{RULE['id']}\n"
    assert [asked.method for asked in api.asked] == ["GET", "PUT", "GET", "DELETE"]


def test_no_rule_goes_when_two_are_meant_or_none(api: FakeApi, momo: Momo) -> None:
    api.on("GET", f"/v1/open-collections/endpoints/{HOOK}/rules", ok([RULE, OTHER_RULE]))
    ran = momo("endpoints", "rules", "remove", HOOK, RULE["id"][:8])
    assert ran.code == 2
    assert f"'{RULE['id'][:8]}' matches 2 rules: {RULE['id']}, " in ran.err
    ran = momo("endpoints", "rules", "remove", HOOK, "3", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "RULE_NOT_FOUND")
    assert ran.json["error"]["next"] == [f"momo endpoints rules list {HOOK}"]
    assert {asked.method for asked in api.asked} == {"GET"}


def test_a_notice_is_seen_by_a_part_of_its_id_also_when_it_was_seen_before(api: FakeApi, momo: Momo) -> None:
    notice = samples.NOTICE["id"]
    api.on("GET", Path.LOCAL_NOTICES, ok([samples.NOTICE]))
    api.on("POST", Path.LOCAL_NOTICES_SEEN, ok({"seen": 1}))
    assert momo("notices", "seen", cut(notice)).code == 0
    assert api.asked[0].query == {"all": "1", "limit": "500", "offset": "0"}
    assert api.asked[-1].body == {"id": notice}
    ran = momo("notices", "seen", "nobody", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "NOTICE_NOT_FOUND")


COMMANDS = [["today"], ["report", "--yesterday"], ["tx", "list"], ["review", "list"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistyped_branch_is_not_found(command: list[str], api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_HUB, ok([samples.BRANCH]))
    ran = momo(*command, "--branch", "kumsi")
    assert (ran.code, ran.out) == (3, "")
    assert [line.strip() for line in ran.err.splitlines()] == [
        "error: there is no branch 'kumsi'; did you mean 'kumasi'?  [BRANCH_NOT_FOUND]",
        "next:  momo hub status",
    ]
    assert [one.path for one in api.asked] == [wire.Path.LOCAL_HUB]
    assert "; the branches are: kumasi" in momo(*command, "--branch", "zzz").err


def test_a_script_gets_the_code_of_a_branch_that_is_not_there(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_HUB, ok([]))
    ran = momo("today", "--branch", "kumasi", "--json")
    assert (ran.json["error"]["code"], ran.json["exit_code"]) == ("BRANCH_NOT_FOUND", 3)
    assert "no branch has joined yet" in ran.json["error"]["message"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_shop_that_is_no_hub_has_no_branches(command: list[str], api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_HUB, refusal(409, "NOT_A_HUB"))
    ran = momo(*command, "--branch", "kumasi")
    assert (ran.code, ran.out) == (5, "")
    assert "this shop is not a hub and has no branches: leave --branch out" in ran.err
