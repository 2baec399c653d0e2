"""schemathesis makes up calls from the OpenAPI document, against a real daemon: no server error, no undocumented
answer.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes import no_network
from tests.fakes.real_shop import ANSWER_S, ROOT, RealShop, wait_until
from tests.fakes.receiver import Answer, Receiver
from tests.fakes.seed import seed
from tests.fakes.tiers import share

PASSWORD = "correct horse 42"
SETTINGS: dict[str, dict[str, object]] = {
    "limits": {"live_per_min": 0, "test_per_min": 0},
    # Only this machine can be reached.
    "webhooks": {"allow_private_hosts": ["localhost"]},
}


@dataclass
class Shop:
    """A shop with one thing of each kind."""

    real: RealShop
    folder: Path
    token: str
    known: dict[str, dict[str, str]]


def ask(client: httpx.Client, method: str, path: str, body: Any = None, **headers: str) -> Any:
    answer = client.request(method, path, json=body, headers=headers)
    assert answer.is_success, answer.text
    return answer.json()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with (
        Receiver(tmp_path / "receiver") as receiver,
        RealShop(tmp_path / "shop", settings=SETTINGS, ca_file=receiver.ca_file) as real,
    ):
        receiver.script(Answer(404))
        real.environ["PYTHONPATH"] = no_network.install(tmp_path / "hook")
        real.start()
        with httpx.Client(base_url=f"http://{real.http}", timeout=ANSWER_S) as client:
            token = ask(client, "POST", "/v1/auth/login", {"password": PASSWORD})["data"]["token"]
            client.headers["Authorization"] = f"Bearer {token}"
            known = furnish(client, receiver.url())
        yield Shop(real, tmp_path, token, known)


def furnish(client: httpx.Client, hook: str) -> dict[str, dict[str, str]]:
    """Put one thing of each kind into the shop; return its path and ID."""
    order = {"amount": "25.00", "phone_number": "0241234567", "client_reference": "order-1042"}
    live = ask(client, "POST", "/v1/transactions/initialize", order)["data"]
    test: dict[str, str] = {"Svc-Mode": "test"}
    ends = {"url": hook, "is_sandbox": True}
    endpoint = ask(client, "POST", "/v1/open-collections/endpoints", ends)["data"]["id"]
    paid = ask(client, "POST", "/v1/transactions/initialize", order, **test)["data"]["reference"]
    ask(client, "POST", "/v1/test/payments", {"reference": paid}, **test)
    forged = {"reference": paid, "amount": "25.00", "sender": "+233240000001"}
    ask(client, "POST", "/v1/test/payments", forged, **test)
    number = {"provider": "momo_mtn", "phone_number": "0244124567", "account_name": "Ama"}
    method = ask(client, "POST", "/v1/payment-methods", number)["data"]["id"]
    key = ask(client, "POST", "/v1/keys", {"name": "fuzz"})["data"]["id"]
    review = ask(client, "GET", "/v1/reviews")["data"][0]["id"]

    def given_up() -> Any:
        found = ask(client, "GET", "/v1/webhooks/dead-letters")["data"]
        return found[0] if found else None

    letter = wait_until(given_up, 20.0, "a dead letter")
    by_kind = {
        "/v1/open-collections/endpoints/": endpoint,
        "/v1/open-collections/deliveries/": letter["delivery_id"],
        "/v1/webhooks/dead-letters/": letter["id"],
        "/v1/payment-methods/": method,
        "/v1/keys/": key,
        "/v1/reviews/": review,
    }
    known = {
        path: {"id": found}
        for path in client.get("/v1/openapi.json").json()["paths"]
        for start, found in by_kind.items()
        if path.startswith(start + "{id}")
    }
    for path in ("", "/reconcile", "/cancel", "/events"):
        known["/v1/transactions/{reference}" + path] = {"reference": live["reference"]}
    known["/v1/transactions/by-svc/{svc_code}"] = {"svc_code": live["svc_code"]}
    known["/v1/transactions/by-client-ref/{client_ref}"] = {"client_ref": "order-1042"}
    return known


def look(shop: Shop, token: str, *flags: str) -> int:
    """Run schemathesis with every check, and return the number of calls; a finding fails the test."""
    done = subprocess.run(
        [
            Path(sys.executable).with_name("st"),
            *("--config-file", ROOT / "tests/acceptance/schemathesis.toml"),
            *("run", f"http://{shop.real.http}/v1/openapi.json"),
            *("--header", f"Authorization: Bearer {token}"),
            *("--no-shrink", "--continue-on-failure", "--seed", str(seed())),
            *flags,
        ],
        cwd=ROOT,
        env={**shop.real.environ, "PYTHONPATH": str(ROOT), "KNOWN_IDS": json.dumps(shop.known)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
    made = re.search(r"([0-9]+) generated", done.stdout)
    assert made is not None, done.stdout[-2000:]
    left = no_network.refused(shop.folder / "hook")
    assert not [line for line in left if line.startswith("connect")], "the guard let an address pass"
    assert "api.fault" not in shop.real.said()
    return int(made[1])


@pytest.mark.slow
def test_every_operation_keeps_to_the_document(shop: Shop) -> None:
    assert look(shop, shop.token, "--phases", "examples,fuzzing", "--max-examples", "1") >= 130


@pytest.mark.slow
@pytest.mark.timeout(900)  # a minute and a half on an idle machine
@pytest.mark.parametrize("caller", ["session", "live key", "test key"])
def test_many_made_up_calls_keep_to_the_document(shop: Shop, caller: str) -> None:
    keys = shop.real.keys
    token = {"session": shop.token, "live key": keys.api, "test key": keys.test_api}[caller]
    assert look(shop, token, "--max-examples", str(share(60))) >= share(5_000)
