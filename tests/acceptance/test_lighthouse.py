"""Lighthouse on a phone: how quickly the pages of the dashboard that are open all day appear, and how usable they are.

It runs without internet, in Debian's Chromium. `make test-long` installs it with the other Node tools.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from daemon.wire import Role
from tests.acceptance.test_clients import needs_node, node
from tests.dash.test_review import OTHER
from tests.fakes.api import running
from tests.fakes.browser import CHROMIUM, FLAGS, needs_browser
from tests.fakes.dash import cookie_of, log_in
from tests.fakes.orders import Orders

LEAST = {"performance": 95, "accessibility": 100, "best-practices": 100}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), needs_node, needs_browser]


@pytest.mark.parametrize(
    "page", ["/dash", "/dash/till", "/dash/payments", "/dash/review"], ids=["now", "till", "payments", "review"]
)
async def test_a_page_on_a_phone_has_the_scores_of_the_design(page: str, tmp_path: Path) -> None:
    async with running(tmp_path / "shop") as api:
        await api.shop.begin_chain()
        orders = Orders(api.shop)
        for _ in range(2):
            await orders.make("checking", expected_payer_phone=OTHER)
        for _ in range(30):
            await orders.make("paid")
        person = await log_in(api, Role.OWNER)
        if page == "/dash/review":
            page = (await person.get(page)).headers["location"]
        found = await asyncio.to_thread(measure, f"{api.base_url}{page}", f"{cookie_of(api)}={person.token}", tmp_path)
    print(page, scores(found))
    assert found["finalDisplayedUrl"] == f"{api.base_url}{page}"
    assert {name: max(LEAST[name], score) for name, score in scores(found).items()} == scores(found), failed(found)


def measure(address: str, cookie: str, folder: Path) -> dict[str, Any]:
    """Return the report of a page, which a user with this cookie visits with a phone."""
    report = node(
        "lighthouse",
        address,
        "--quiet",
        "--output=json",
        "--output-path=stdout",
        f"--only-categories={','.join(LEAST)}",
        f"--extra-headers={json.dumps({'Cookie': cookie})}",
        f"--chrome-flags={' '.join(FLAGS)}",
        "--no-enable-error-reporting",
        cwd=folder,
        CHROME_PATH=str(CHROMIUM),
        TMPDIR=str(folder),
    )
    found: dict[str, Any] = json.loads(report)
    return found


def scores(report: dict[str, Any]) -> dict[str, int]:
    """Return the score of each category, 100 at most."""
    return {name: round(100 * one["score"]) for name, one in report["categories"].items()}


def failed(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the audits without a full score, each with its value and the first places that it names."""
    return [
        (name, str(one.get("displayValue", "")), json.dumps(one.get("details", {}).get("items", []))[:500])
        for name, one in report["audits"].items()
        if one["score"] is not None and one["score"] < 1
    ]
