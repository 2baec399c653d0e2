"""Access to operations: each operation of the interface with its scopes, another scope, and a dashboard session."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
from msgspec import structs

from daemon.runtime.config import Config, Limits, OpenCollections
from daemon.wire import Mode, Scope
from tests.api.test_login import api, session
from tests.api.webhooks.test_redeliver import NOBODY, code
from tests.fakes.api import FakeApi, running
from tests.fakes.each import each

__all__ = ["api"]
HOOKS = (Scope.WEBHOOKS_MANAGE,)
READ = (Scope.TRANSACTIONS_READ,)
WRITE = (Scope.TRANSACTIONS_WRITE,)
NUMBERS = (Scope.PAYMENT_METHODS_MANAGE,)
ENDPOINTS = "/v1/open-collections/endpoints"
DELIVERIES = "/v1/open-collections/deliveries"
LETTERS = "/v1/webhooks/dead-letters"
REFUSALS = ((401, "UNAUTHORIZED"), (403, "INSUFFICIENT_SCOPE"), (403, "SESSION_REQUIRED"))
OF_THE_INTERFACE = {
    ("GET", ENDPOINTS): HOOKS,
    ("POST", ENDPOINTS): HOOKS,
    ("GET", f"{ENDPOINTS}/{{id}}"): HOOKS,
    ("PUT", f"{ENDPOINTS}/{{id}}"): HOOKS,
    ("DELETE", f"{ENDPOINTS}/{{id}}"): HOOKS,
    ("POST", f"{ENDPOINTS}/{{id}}/test"): HOOKS,
    ("POST", f"{ENDPOINTS}/{{id}}/secret"): (),
    ("POST", f"{ENDPOINTS}/{{id}}/rotate-secret"): (),
    ("GET", DELIVERIES): HOOKS,
    ("POST", f"{DELIVERIES}/{{id}}/redeliver"): HOOKS,
    ("POST", "/v1/open-collections/replay"): HOOKS,
    ("GET", LETTERS): HOOKS,
    ("POST", f"{LETTERS}/{{id}}/replay"): HOOKS,
    ("POST", f"{LETTERS}/replay-batch"): HOOKS,
    ("GET", "/v1/open-collections/lines"): (*HOOKS, Scope.PAYMENT_METHODS_READ),
    ("GET", "/v1/payment-methods/sims"): (Scope.PAYMENT_METHODS_READ,),
    ("POST", "/v1/payment-methods"): NUMBERS,
    ("PATCH", "/v1/payment-methods/{id}"): NUMBERS,
    ("POST", "/v1/payment-methods/{id}/claim-unplaced"): NUMBERS,
    ("POST", "/v1/transactions/initialize"): (Scope.TRANSACTIONS_INITIALIZE, Scope.TRANSACTIONS_WRITE),
    ("POST", "/v1/transactions/{reference}/reconcile"): WRITE,
    ("GET", "/v1/transactions"): READ,
    ("GET", "/v1/transactions/{reference}"): READ,
    ("GET", "/v1/transactions/by-svc/{svc_code}"): READ,
    ("GET", "/v1/transactions/by-client-ref/{client_ref:path}"): READ,
    ("GET", f"{ENDPOINTS}/{{id}}/rules"): HOOKS,
    ("POST", f"{ENDPOINTS}/{{id}}/rules"): HOOKS,
    ("PUT", f"{ENDPOINTS}/{{id}}/rules/{{rule_id}}"): HOOKS,
    ("DELETE", f"{ENDPOINTS}/{{id}}/rules/{{rule_id}}"): HOOKS,
    ("POST", "/v1/open-collections/rules/test"): HOOKS,
    ("GET", "/v1/open-collections/payments/{id}/routing"): HOOKS,
    ("GET", f"{DELIVERIES}/{{id}}"): HOOKS,
    ("GET", f"{DELIVERIES}/{{id}}/attempts"): HOOKS,
    ("GET", "/v1/open-collections/gap"): HOOKS,
    ("GET", f"{LETTERS}/{{id}}"): HOOKS,
    ("POST", f"{LETTERS}/{{id}}/dismiss"): HOOKS,
    ("PATCH", "/v1/sims/{device_id}:{slot_index}"): NUMBERS,
    ("GET", "/v1/payment-methods"): (Scope.PAYMENT_METHODS_READ,),
    ("GET", "/v1/payment-methods/{id}"): (Scope.PAYMENT_METHODS_READ,),
    ("DELETE", "/v1/payment-methods/{id}"): NUMBERS,
    ("GET", "/v1/transactions/{reference}/events"): READ,
    ("GET", "/v1/events"): READ,
    ("POST", "/v1/transactions/{reference}/cancel"): WRITE,
    ("POST", "/v1/transactions/{reference}/settle"): WRITE,
    ("DELETE", "/v1/transactions/{reference}/settle"): WRITE,
    ("POST", "/v1/test/payments"): WRITE,
    ("GET", "/v1/reviews"): WRITE,
    ("GET", "/v1/reviews/{id}"): WRITE,
    ("POST", "/v1/reviews/{id}/approve"): WRITE,
    ("POST", "/v1/reviews/{id}/reject"): WRITE,
    ("POST", "/v1/reviews/{id}/undo"): WRITE,
    ("GET", "/v1/approved-payers"): READ,
    ("GET", "/v1/approved-payers/{id}"): READ,
    ("DELETE", "/v1/approved-payers/{id}"): WRITE,
}
"""Every operation that takes a key; none of the scopes is a session only."""
OPEN_COLLECTIONS_ONLY = (
    *((method, path) for method, path in OF_THE_INTERFACE if ENDPOINTS in path and method != "GET"),
    ("POST", f"{DELIVERIES}/{{id}}/redeliver"),
    ("POST", "/v1/open-collections/replay"),
    ("POST", "/v1/open-collections/rules/test"),
    ("POST", f"{LETTERS}/{{id}}/replay"),
    ("POST", f"{LETTERS}/replay-batch"),
)
"""What is refused while open collections are off; everything may still be read."""


def served(api: FakeApi) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield method, path and scopes of each operation that authenticates the caller."""
    for path, methods in api.application.operations.items():
        for method, operation in methods.items():
            if path.startswith("/v1/") and not operation.public:
                yield method, path, tuple(map(str, operation.scopes))


async def call(client: httpx.AsyncClient, method: str, path: str) -> tuple[int, str]:
    """Call an operation with an empty body; only the head of an endless answer is read."""
    filled = path.replace("{reference}", "svc_trx_" + "0" * 32)
    filled = re.sub(r"\{[a-z_:]+\}", NOBODY, filled)
    body: dict[str, object] | None = None if method in ("GET", "DELETE") else {}
    async with client.stream(method, filled, json=body) as answer:
        if answer.status_code == 200:
            return 200, ""
        await answer.aread()
        return code(answer)


@each(("operation", "scopes"), OF_THE_INTERFACE.items())
async def test_an_operation_of_the_interface_takes_each_of_its_scopes_and_no_other(
    operation: tuple[str, str], scopes: tuple[Scope, ...], api: FakeApi
) -> None:
    known = {(method, path): needed for method, path, needed in served(api)}
    assert sorted(known[operation]) == sorted(map(str, scopes))
    mode = Mode.TEST if operation[1] == "/v1/test/payments" else Mode.LIVE
    for scope in scopes:
        client = await api.client(await api.key(mode, scope))
        assert await call(client, *operation) not in REFUSALS
    stranger = Scope.TRANSACTIONS_READ if scopes != READ else Scope.WEBHOOKS_MANAGE
    client = await api.client(await api.key(Mode.LIVE, stranger))
    assert await call(client, *operation) == ((403, "INSUFFICIENT_SCOPE") if scopes else (403, "SESSION_REQUIRED"))


async def test_every_operation_is_in_the_table_of_scopes(api: FakeApi) -> None:
    known = {(method, path) for method, path, scopes in served(api) if scopes}
    of_a_branch = {key for key in known if key[1].startswith("/v1/branch/")}
    assert known - of_a_branch == {key for key, scopes in OF_THE_INTERFACE.items() if scopes}


async def test_only_reading_is_possible_while_open_collections_are_off(tmp_path: Path) -> None:
    config = structs.replace(Config(), open_collections=OpenCollections(enabled=False))
    async with running(tmp_path, config) as off:
        for (method, path), scopes in OF_THE_INTERFACE.items():
            client = off.live if scopes else off.local
            refused = await call(client, method, path) == (403, "OPEN_COLLECTIONS_DISABLED")
            assert refused is ((method, path) in OPEN_COLLECTIONS_ONLY), path


async def test_a_session_is_accepted_wherever_a_key_is(api: FakeApi) -> None:
    client = await session(api)
    found = {(method, path): await call(client, method, path) for method, path, scopes in served(api) if scopes}
    assert len(found) > len(OF_THE_INTERFACE)
    assert {key: said for key, said in found.items() if said[0] in (401, 403)} == {}


async def test_nobody_is_let_in_without_a_credential(api: FakeApi) -> None:
    client = await api.client()
    for method, path, _ in served(api):
        assert await call(client, method, path) == (401, "UNAUTHORIZED"), path


LIST = "/v1/transactions"


async def test_every_answer_to_a_key_says_how_much_is_left(tmp_path: Path) -> None:
    config = Config(limits=Limits(live_per_min=60, test_per_min=0, burst=2))
    async with running(tmp_path, config) as api:
        client = await api.client(await api.key())
        first = await client.get(LIST)
        assert [first.headers[f"ratelimit-{name}"] for name in ("limit", "remaining", "reset")] == ["60", "1", "1"]
        refusal = await client.get("/v1/transactions/by-svc/ZZZZZZ")
        assert (refusal.status_code, refusal.headers["ratelimit-remaining"]) == (404, "0")
        limited = await client.get(LIST)
        assert (limited.status_code, limited.json()["error"]["code"]) == (429, "RATE_LIMITED")
        assert limited.headers["retry-after"] == "1"
        assert limited.json()["retry_after"] == limited.json()["error"]["retry_after"] == 1
        assert limited.headers["ratelimit-remaining"] == "0"
        # Another key, the sandbox without a limit, and the socket are still served.
        assert (await (await api.client(await api.key())).get(LIST)).status_code == 200
        test = await api.client(await api.key(Mode.TEST))
        answers = [await test.get(LIST) for _ in range(5)]
        assert {answer.status_code for answer in answers} == {200}
        assert "ratelimit-limit" not in answers[0].headers
        for _ in range(5):
            assert (await api.local.get(LIST)).status_code == 200
        api.shop.clock.advance(1)
        assert (await client.get(LIST)).status_code == 200
