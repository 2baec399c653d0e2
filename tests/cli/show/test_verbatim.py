"""Text for copying or for programs is printed unchanged and unwrapped, also on a narrow terminal."""

import io
import json

import pytest

from momo_cli.flags import Flags
from momo_cli.show.terminal import open_terminal
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, ok

DELIVERY = samples.DELIVERY["id"]
LETTER = samples.DEAD_LETTER["id"]
PAYLOAD = {"type": "transaction.forwarded", "data": {"payer": {"name": "Kofi Ɔsei Boateng Antwi", "note": "a  b · c"}}}
BODY = json.dumps(PAYLOAD, ensure_ascii=False, separators=(",", ":"))
LONG = {**samples.MESSAGE_ROW, "body": "Payment received for GHS 12.50 " * 9}


@pytest.fixture(autouse=True)
def _scripted(api: FakeApi) -> None:
    signed = {**samples.SIGNED, "body": BODY}
    api.on("POST", f"/local/v1/deliveries/{DELIVERY}/signed", ok(signed))
    delivery = {**samples.DELIVERED, "payload": PAYLOAD}
    api.on("GET", f"/v1/open-collections/deliveries/{DELIVERY}", ok(delivery))
    letter = {**samples.DEAD_LETTER, "payload": PAYLOAD}
    api.on("GET", f"/v1/webhooks/dead-letters/{LETTER}", ok(letter))
    api.on("GET", f"/local/v1/messages/{samples.MESSAGE}", ok(LONG))


@pytest.mark.usefixtures("sample_folder")
@pytest.mark.parametrize(
    "line",
    [
        f"deliveries curl {DELIVERY}",
        "completion bash",
        "completion zsh",
        "daemon install --print",
        "messages templates learn marked.txt --name receipt_2027 --network mtn",
    ],
)
def test_it_is_the_same_on_a_narrow_terminal_as_in_a_pipe(line: str, momo: Momo) -> None:
    narrow = momo(*line.split(), "-o", "table", COLUMNS="40")
    assert narrow.code == 0
    assert max(map(len, narrow.out.splitlines())) > 40
    assert narrow.out == momo(*line.split()).out


@pytest.mark.parametrize("what", [("deliveries", DELIVERY), ("dead-letters", LETTER)])
@pytest.mark.parametrize("environ", [{"COLUMNS": "40"}, {"COLUMNS": "40", "LANG": "C"}])
def test_a_payload_stands_on_one_line_as_it_is_sent(what: tuple[str, str], environ: dict[str, str], momo: Momo) -> None:
    noun, one = what
    ran = momo(noun, "show", one, "--payload", "-o", "table", **environ)
    assert ran.out.splitlines()[-1] == BODY


def test_a_sample_for_the_maintainers_keeps_its_lines(momo: Momo) -> None:
    ran = momo("messages", "sample", samples.MESSAGE, "-o", "table", COLUMNS="40")
    assert f"| {LONG['body']}" in ran.out.splitlines()


def test_an_answer_of_the_api_is_not_wrapped(momo: Momo) -> None:
    path = f"/v1/open-collections/deliveries/{DELIVERY}"
    ran = momo("api", "GET", path, "-o", "table", COLUMNS="40")
    assert json.loads(ran.out)["data"]["payload"] == PAYLOAD


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_a_webhook_that_listen_prints_is_not_wrapped_on_a_screen(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    said = Screen()
    monkeypatch.setattr("sys.stdout", Screen())
    monkeypatch.setattr("sys.stderr", said)
    environ = {**shop.environ, "COLUMNS": "40", "LANG": "C"}
    open_terminal(Flags(), environ).verbatim(BODY)
    open_terminal(Flags(quiet=True), environ).verbatim(BODY)
    assert said.getvalue() == f"{BODY}\n"
