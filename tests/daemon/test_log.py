import errno
import importlib
import io
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.runtime.log import Log, _as_if_missing
from tests.fakes.each import each

KEY = "svc_live_sk_0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef"
CANARIES = [
    "+233241234567",
    "0241234567",
    "233241234567",
    "024 123 4567",
    "+233 24 123 4567",
    "024-123-4567",
    KEY,
    KEY.replace("live_sk", "test_pk"),
    "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "Bearer c2VjcmV0LXRva2Vu",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbWEifQ.c2lnbmF0dXJl",
    "0791233244" * 8,
]


def line(as_json: bool, **facts: Any) -> str:
    out = io.StringIO()
    Log(out, as_json=as_json).warning("modem.lost", **facts)
    return out.getvalue()


@each("as_json", [False, True])
@each("canary", CANARIES)
def test_canary_never_reaches_the_log(canary: str, as_json: bool) -> None:
    places: list[dict[str, Any]] = [
        {"why": f"it said: {canary}, and went"},
        {"phone": canary},
        {"facts": {"deep": [canary, (canary,)]}},
        {"error": ValueError(canary)},
        {"body": canary, "text": canary, "secret": canary, "pdu": canary},
        {"raw_bytes": canary.encode()},
        {"why": f"'{canary}'"},
    ]
    for facts in places:
        assert canary not in line(as_json, **facts)


def test_a_value_cannot_write_a_line_of_its_own() -> None:
    assert line(False, why="a\nb").count("\n") == 1


def test_json_line_has_what_the_log_reader_filters_by() -> None:
    got = json.loads(line(True, port="/dev/ttyUSB0", count=2))
    assert got.pop("ts").endswith("Z")
    assert got == {
        "type": "item",
        "component": "modem",
        "event": "modem.lost",
        "port": "/dev/ttyUSB0",
        "count": 2,
        "level": "warning",
    }


def test_line_for_people_has_time_level_event_and_facts() -> None:
    got = line(False, port="/dev/ttyUSB0", count=2).split()
    assert got[1:] == ["[warning", "]", "modem.lost", "count=2", "port=/dev/ttyUSB0"]


def test_each_level_writes_one_line() -> None:
    out = io.StringIO()
    log = Log(out, as_json=True)
    log.info("a.b")
    log.warning("a.b")
    log.error("a.b")
    levels = [json.loads(text)["level"] for text in out.getvalue().splitlines()]
    assert levels == ["info", "warning", "error"]


def test_log_that_says_nothing_costs_nothing() -> None:
    probe = "import sys; from daemon.runtime.log import Log; Log(sys.stderr); print('structlog' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


@given(st.text(), st.recursive(st.text() | st.binary() | st.integers(), st.lists, max_leaves=5))
def test_anything_makes_one_valid_line(key: str, value: Any) -> None:
    out = io.StringIO()
    Log(out, as_json=True).info("a.b", facts={key: value})
    assert out.getvalue().count("\n") == 1
    json.loads(out.getvalue())


def test_a_package_that_an_import_is_not_to_find_is_found_again_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with _as_if_missing("colorsys"), pytest.raises(ImportError):
        importlib.import_module("colorsys")
    assert importlib.import_module("colorsys").rgb_to_hsv(1, 1, 1) == (0, 0, 1)
    with _as_if_missing("colorsys"):
        assert importlib.import_module("colorsys") is not None
    assert "colorsys" in sys.modules


def test_a_stream_that_cannot_be_written_stops_nothing_and_not_the_other_one() -> None:
    class Full(io.StringIO):
        def write(self, _text: str, /) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    file = io.StringIO()
    Log(Full(), file=file).error("api.unavailable", why="the disk is full")
    assert json.loads(file.getvalue())["event"] == "api.unavailable"
