"""Access to operations: each operation of the interface with its scopes, another scope, and a dashboard session."""

import re
from collections.abc import Iterator

import httpx

from daemon.wire import Mode, Scope
from tests.api.test_login import api, session
from tests.api.webhooks.test_redeliver import NOBODY, code
from tests.fakes.api import FakeApi
from tests.fakes.each import each

__all__ = ["api"]
HOOKS = (Scope.WEBHOOKS_MANAGE,)
READ = (Scope.TRANSACTIONS_READ,)
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
    ("POST", "/v1/transactions/initialize"): (
        Scope.TRANSACTIONS_INITIALIZE,
        Scope.TRANSACTIONS_WRITE,
    ),
    ("POST", "/v1/transactions/{reference}/reconcile"): (Scope.TRANSACTIONS_WRITE,),
    ("GET", "/v1/transactions"): READ,
    ("GET", "/v1/transactions/{reference}"): READ,
    ("GET", "/v1/transactions/by-svc/{svc_code}"): READ,
    ("GET", "/v1/transactions/by-client-ref/{client_ref:path}"): READ,
}
"""Every operation of the interface's tables; none of the scopes is a session only."""


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
    for scope in scopes:
        client = await api.client(await api.key(Mode.LIVE, scope))
        assert await call(client, *operation) not in REFUSALS
    stranger = Scope.TRANSACTIONS_READ if scopes != READ else Scope.WEBHOOKS_MANAGE
    client = await api.client(await api.key(Mode.LIVE, stranger))
    assert await call(client, *operation) == (
        (403, "INSUFFICIENT_SCOPE") if scopes else (403, "SESSION_REQUIRED")
    )


async def test_a_session_is_accepted_wherever_a_key_is(api: FakeApi) -> None:
    client = await session(api)
    found = {
        (method, path): await call(client, method, path)
        for method, path, scopes in served(api)
        if scopes
    }
    assert len(found) > len(OF_THE_INTERFACE)
    assert {key: said for key, said in found.items() if said[0] in (401, 403)} == {}


async def test_nobody_is_let_in_without_a_credential(api: FakeApi) -> None:
    client = await api.client()
    for method, path, _ in served(api):
        assert await call(client, method, path) == (401, "UNAUTHORIZED"), path
