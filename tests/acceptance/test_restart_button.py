"""The button of the settings starts the daemon again in the same process, with the same arguments, and the session goes on."""

import re
from pathlib import Path

import httpx
import pytest

from tests.dash.test_shopkeepers_day import free_port
from tests.fakes.real_shop import RealShop, wait_until

BUTTON = 'action="/dash/settings/restart/now"'


@pytest.mark.slow
def test_the_button_takes_over_what_waited_for_a_start(tmp_path: Path) -> None:
    with RealShop(tmp_path / "shop") as shop:
        shop.start(http=f"127.0.0.1:{free_port()}", arguments=["--no-modem", "--simulated-phone"])
        link = shop.momo("open", "--print").stdout.strip()
        origin = link.partition("/dash")[0]
        with httpx.Client(base_url=origin, timeout=20) as browser:
            assert browser.get(link).status_code == 303
            assert shop.momo("config", "set", "limits.burst", "70").returncode == 0
            page = browser.get("/dash/settings").text
            token = re.findall(rf'{BUTTON}>\s*<input[^>]+value="([0-9a-f.]+)"', page)[0]
            pid = shop.pid
            answer = browser.post(
                "/dash/settings/restart/now",
                data={"form_token": token},
                headers={"Origin": origin, "Sec-Fetch-Site": "same-origin"},
            )
            assert answer.headers["location"] == "/dash/settings?said=said_restarting"

            def back() -> bool:
                try:
                    found = browser.get("/dash/settings")
                except httpx.HTTPError:
                    return False
                return found.status_code == 200 and BUTTON not in found.text

            wait_until(back, 30, "the settings are in use")
        status = shop.momo("phones", "status").stdout
        assert "simulated-mtn" in status, "the arguments are the same"
        assert shop.pid == pid
        shop.stop()
