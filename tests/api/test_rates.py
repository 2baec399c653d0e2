"""The rate limit of an API key."""

from pathlib import Path

from daemon.runtime.config import Config, Limits
from daemon.wire import Mode
from tests.fakes.api import running

LIST = "/v1/transactions"


async def test_every_answer_to_a_key_says_how_much_is_left(tmp_path: Path) -> None:
    config = Config(limits=Limits(live_per_min=60, test_per_min=0, burst=2))
    async with running(tmp_path, config) as api:
        client = await api.client(await api.key())
        first = await client.get(LIST)
        assert [first.headers[f"ratelimit-{name}"] for name in ("limit", "remaining", "reset")] == [
            "60",
            "1",
            "1",
        ]
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
