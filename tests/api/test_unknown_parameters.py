"""Every answer names unknown parameters, because a misspelled filter would otherwise seem to work."""

import httpx

from daemon.wire import Path
from tests.api.http.test_reading_writes_nothing import gets
from tests.fakes.api import FakeApi

MANUAL = {Path.MANUAL, Path.MANUAL_PAGE, Path.MANUAL_PICTURE}
NO_ENVELOPE = {Path.OPENAPI, Path.DOCS, Path.DOCS_ERRORS, Path.METRICS, *MANUAL}
"""Paths that answer with a document of another form, without a place for warnings."""
COLOUR = "Unknown parameter `colour` was ignored."


def told(answer: httpx.Response) -> list[str]:
    """Return the warnings of an answer."""
    found: list[str] = answer.json().get("meta", {}).get("warnings", [])
    return found


async def test_every_get_names_what_it_does_not_know(api: FakeApi) -> None:
    silent = []
    for path, target in (await gets(api)).items():
        if path.startswith("/pay/") or path in {Path.HEALTH, *NO_ENVELOPE}:
            continue
        plain = await api.local.get(target)
        answer = await api.local.get(f"{target}{'&' if '?' in target else '?'}colour=red")
        if (answer.status_code, told(answer)) != (200, [*told(plain), COLOUR]):
            silent.append((target, answer.status_code, told(answer)))
    assert silent == []


async def test_documents_stay_as_they_are(api: FakeApi) -> None:
    for path in (Path.OPENAPI, Path.METRICS):
        answer = await api.local.get(f"{path}?colour=red")
        assert answer.status_code == 200
        assert COLOUR not in answer.text


async def test_the_rest_of_the_answer_is_the_same_to_the_letter(api: FakeApi) -> None:
    body = {"amount": "25.00", "phone_number": "0241234567", "meta": {"n": 1.10, "t": "\u00e9"}}
    made = await api.live.post(Path.INITIALIZE, json=body)
    path = f"/v1/transactions/{made.json()['data']['reference']}"
    plain, warned = await api.live.get(path), await api.live.get(f"{path}?colour=red")
    assert warned.content == plain.content[:-1] + b',"meta":{"warnings":["%b"]}}' % COLOUR.encode()


async def test_what_is_done_names_it_too_also_when_it_is_repeated(api: FakeApi) -> None:
    body = {"amount": "25.00", "phone_number": "0241234567", "idempotency_key": "order-1"}
    first, again = [
        await api.live.post(f"{Path.INITIALIZE}?expected_payer_phone=0201234567", json=body) for _ in range(2)
    ]
    assert first.content == again.content
    plain = await api.live.post(Path.INITIALIZE, json=body)
    assert plain.json()["data"] == first.json()["data"]
    unread = "Unknown parameter `expected_payer_phone` was ignored."
    assert told(again) == [*told(plain), unread]


async def test_they_stand_beside_what_was_lowered_and_are_no_more_than_20(api: FakeApi) -> None:
    many = "&".join(f"x{number}=1" for number in range(30))
    found = told(await api.live.get(f"{Path.REVIEWS}?limit=1000&{many}"))
    assert found[:2] == ["`limit` was lowered to 200.", "Unknown parameter `x0` was ignored."]
    assert len(found) == 21
