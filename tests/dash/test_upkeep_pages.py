"""The books and the upkeep in the browser: day sheet, health and backups, journal, settings."""

import re
from html import unescape
from pathlib import Path

import pytest

from daemon.dash.pages.upkeep import settings
from daemon.dash.web.words import load
from daemon.flows.upkeep import notices
from daemon.runtime.config import all_rows, sections
from daemon.wire import Role
from tests.dash.test_statement import address
from tests.fakes.api import FakeApi
from tests.fakes.dash import PASSWORD, log_in
from tests.fakes.orders import Orders


async def test_the_day_sheet_adds_up_and_may_be_exported_by_readers_only(api: FakeApi) -> None:
    orders = Orders(api.shop)
    for _ in range(2):
        await orders.make("paid")
    viewer = await log_in(api, Role.VIEWER)
    page = (await viewer.get("/dash/day")).text
    assert "Money in GHS\xa050.00" in page
    file = await viewer.get("/dash/day?as=csv&group=day")
    assert file.headers["content-type"].startswith("text/csv")
    assert file.text.splitlines() == ["day,currency,count,amount", "2026-11-21,GHS,2,50.00"]
    assert await api.shop.values("SELECT actor FROM events WHERE type = 'export.made'") == ["user:viewer"]
    payers = await viewer.get("/dash/day?group=payer")
    assert payers.status_code == 200
    cashier = await log_in(api, Role.CASHIER)
    assert (await cashier.get("/dash/day")).status_code == 403
    assert (await cashier.get("/dash/day?as=csv")).status_code == 403


async def test_days_that_make_no_sense_show_today_and_say_so(api: FakeApi) -> None:
    viewer = await log_in(api, Role.VIEWER)
    for query in ("from=2026-11-21&to=2026-11-01", "from=1990-01-01&to=2026-11-21", "from=2999-01-01"):
        page = await viewer.get(f"/dash/day?{query}")
        assert page.status_code == 200
        assert "Today is shown" in page.text
    for query in ("from=2026-11-01", "to=2026-11-01", "from=x&to=9999-99-99"):
        page = await viewer.get(f"/dash/day?{query}")
        assert page.status_code == 200
        assert "Today is shown" not in page.text


async def test_a_backup_is_made_and_tried_once_for_a_double_click(api: FakeApi) -> None:
    manager = await log_in(api, Role.MANAGER)
    token = manager.form_token("/dash/health/backups")
    for _ in range(2):
        answer = await manager.post("/dash/health/backups", form_token_=token)
        assert answer.headers["location"] == "/dash/health?said=said_backup_made"
    (made,) = list((api.home / "backups").iterdir())
    name = made.name.removeprefix("momo-").removesuffix(".db")
    assert name in (await manager.get("/dash/health")).text
    checked = await manager.post("/dash/health/backups/check", {"backup": name})
    assert checked.headers["location"] == "/dash/health?said=said_backup_checked"
    made.write_bytes(b"no database")
    bad = await manager.post("/dash/health/backups/check", {"backup": name})
    assert bad.status_code == 422
    assert "The backup is not good" in bad.text
    for wrong in ("", "../momo", str(made)):
        answer = await manager.post("/dash/health/backups/check", {"backup": wrong})
        assert answer.status_code == 422
    kinds = "SELECT type FROM events WHERE actor = 'user:manager' ORDER BY seq"
    assert await api.shop.values(kinds) == ["session.opened", "backup.made", "backup.checked"]


async def test_the_checks_of_the_doctor_are_shown_with_their_next_step(api: FakeApi) -> None:
    manager = await log_in(api, Role.MANAGER)
    page = (await manager.get("/dash/health/checks")).text
    assert "<strong>db.sound</strong><br>integrity_check ok" in page
    assert "<code>momo backup create</code>" in page


async def test_the_journal_names_the_person_and_is_filtered_by_person_and_thing(api: FakeApi) -> None:
    owner, viewer = await log_in(api, Role.OWNER), await log_in(api, Role.VIEWER)
    await Orders(api.shop).make("paid")
    await owner.post("/dash/users/viewer", {"what": "enable", "confirm_password": PASSWORD})
    await owner.post("/dash/users", {"name": "ama", "role": "cashier", "password": PASSWORD})
    page = (await viewer.get("/dash/journal")).text
    assert "user.added" in page
    assert "transaction.verified" not in page, "momo itself did it"
    assert "transaction.verified" in (await viewer.get("/dash/journal?who=everybody")).text
    assert "transaction.verified" in (await viewer.get("/dash/journal?search=momo")).text
    assert "user.added" in (await viewer.get("/dash/journal?search=owner&thing=access")).text
    assert "user.added" not in (await viewer.get("/dash/journal?search=viewer")).text
    assert "user.added" not in (await viewer.get("/dash/journal?thing=webhooks")).text
    assert "user.added" not in (await viewer.get("/dash/journal?to=2026-11-20")).text
    for odd in ("after=x", "after=99999999999999999999", "search=%27%25", "thing=x"):
        assert (await viewer.get(f"/dash/journal?{odd}")).status_code == 200
    file = (await viewer.get("/dash/journal?as=csv&thing=access")).text
    assert file.splitlines()[0].startswith("id,at,who,what,")
    assert "user:owner,user.added" in file
    cashier = await log_in(api, Role.CASHIER)
    assert (await cashier.get("/dash/journal")).status_code == 403


async def test_the_journal_shows_truth_and_objects_as_json(api: FakeApi) -> None:
    viewer = await log_in(api, Role.VIEWER)
    data = '{"sim":{"slot_index":0},"show_body":false,"roles":["owner"]}'
    await api.shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO events (type, mode, at, actor, data) VALUES ('export.made', 'live', 0, 'socket:0', :data)",
            {"data": data},
        )
    )
    page = unescape((await viewer.get("/dash/journal")).text)
    assert '<code>sim</code> {"slot_index":0}' in page
    assert "<code>show_body</code> false" in page
    assert '<code>roles</code> ["owner"]' in page


async def test_the_journal_is_read_page_after_page(api: FakeApi) -> None:
    viewer = await log_in(api, Role.VIEWER)
    for _ in range(60):
        await viewer.get("/dash/journal?as=csv")
    first = (await viewer.get("/dash/journal")).text
    assert first.count("export.made") == 50
    (older,) = re.findall(r'href="([^"]+)" rel="next"', first)
    second = (await viewer.get(older)).text
    assert "session.opened" in second
    assert second.count("export.made") == 10


def test_every_setting_has_a_meaning_and_stands_under_one_task() -> None:
    words, named = load("en"), [name for those in settings.TASKS.values() for name in those]
    assert all(f"task_{task}" in words for task in settings.TASKS)
    assert len(named) == len(set(named))
    assert set(named) <= {*sections(), *all_rows()}
    for row in all_rows().values():
        assert row.word in words
        assert settings.task_of(row.key) in settings.TASKS
    assert settings.task_of("transactions.code_sms_at") == "customers"
    assert settings.task_of("transactions.late_policy") == "payments"


PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 100


async def test_a_logo_is_uploaded_and_only_a_small_picture_is_taken(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOMO_HOME", str(api.home))
    manager, place = await log_in(api, Role.MANAGER), "/dash/settings/pages.logo"
    own = {"confirm_password": PASSWORD}
    for data in (b"<html>", b"", PNG + b"0" * 6_000, b"MZ\0\0"):
        answer = await manager.post(place, {"upload": address(data), **own})
        assert answer.status_code == 422
        assert "picture of at most 6000 bytes" in answer.text
    assert not list(Path(api.shop.env.home).glob("logo-*"))
    answer = await manager.post(place, {"upload": address(PNG), **own})
    assert answer.headers["location"] == "/dash/settings?said=said_setting_acts"
    (stored,) = Path(api.shop.env.home).glob("logo-*.png")
    assert (stored.read_bytes(), stored.stat().st_mode & 0o777) == (PNG, 0o600)
    assert api.shop.env.config.pages.logo == str(stored)
    # A replaced one does not stay, nor one that is not used any more; what the owner put there does.
    theirs = Path(api.shop.env.home) / "logo-of-mine.png"
    theirs.write_bytes(PNG)
    await manager.post(place, {"upload": address(PNG + b"1"), **own})
    assert not stored.exists()
    assert api.shop.env.config.pages.logo in map(str, Path(api.shop.env.home).glob("logo-*.png"))
    await manager.post(place, {"default": "1", **own})
    assert [file.name for file in Path(api.shop.env.home).glob("logo-*")] == [theirs.name]
    # Only the logo's setting takes a file.
    other = await manager.post("/dash/settings/limits.burst", {"upload": address(PNG), **own})
    assert other.status_code == 422
    viewer = await log_in(api, Role.VIEWER)
    assert (await viewer.post(place, {"upload": address(PNG), **own})).status_code == 403


async def test_what_waits_for_a_restart_has_its_button(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOMO_HOME", str(api.home))
    manager, viewer = await log_in(api, Role.MANAGER), await log_in(api, Role.VIEWER)
    button, place = 'action="/dash/settings/restart/now"', "/dash/settings/restart/now"
    assert button not in (await manager.get("/dash/settings")).text
    form = {"value": "70", "confirm_password": PASSWORD}
    await manager.post("/dash/settings/limits.burst", form)
    assert button in (await manager.get("/dash/settings")).text
    assert button not in (await viewer.get("/dash/settings")).text
    assert (await viewer.post(place)).status_code == 403
    assert api.restarts == 0
    token = manager.form_token(place)
    for _ in range(2):
        answer = await manager.post(place, form_token_=token)
        assert answer.headers["location"] == "/dash/settings?said=said_restarting"
    assert api.restarts == 1, "a form that is sent again restarts once"


async def test_a_setting_is_checked_shown_and_written_once(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOMO_HOME", str(api.home))
    manager = await log_in(api, Role.MANAGER)
    file, place = api.home / "config.toml", "/dash/settings/limits.burst"
    checked = (await manager.get(f"{place}?value=70")).text
    assert "<code>60</code> → <strong><code>70</code></strong>" in checked
    assert not file.exists(), "the check writes nothing"
    wrong = await manager.get(f"{place}?value=-1")
    assert wrong.status_code == 422
    assert "takes 0 to 1e+06" in wrong.text
    assert (await manager.post(place, {"value": "70"})).status_code == 422, "no password yet"
    form = {"value": "70", "confirm_password": PASSWORD}
    token = manager.form_token(place)
    for _ in range(2):
        answer = await manager.post(place, form, form_token_=token)
        assert answer.headers["location"] == "/dash/settings?said=said_setting_changed"
    assert file.read_text() == "[limits]\nburst = 70\n"
    page = (await manager.get("/dash/settings")).text
    assert "Changed, takes effect at the next start" in page
    assert '<p><a href="/dash/settings/limits.burst">' in page
    kinds = "SELECT actor FROM events WHERE type = 'setting.changed'"
    assert await api.shop.values(kinds) == ["user:manager"]
    assert (await manager.post(place, {"default": "on"})).status_code == 303
    assert "burst" not in file.read_text()
    assert (await manager.post(place, {"value": "many"})).status_code == 422
    assert (await manager.get("/dash/settings/limits.nothing")).status_code == 404
    assert (await manager.post("/dash/settings/limits.nothing", {"value": "1"})).status_code == 404


async def test_a_setting_that_acts_at_once_is_in_use_when_the_page_says_so(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOMO_HOME", str(api.home))
    manager = await log_in(api, Role.MANAGER)
    place = "/dash/settings/pages.contact"
    assert "acts at once" in (await manager.get(f"{place}?value=0244000111")).text
    form = {"value": "0244000111", "confirm_password": PASSWORD}
    answer = await manager.post(place, form)
    assert answer.headers["location"] == "/dash/settings?said=said_setting_acts"
    assert api.shop.env.config.pages.contact == "0244000111"
    assert "at the next start:" not in (await manager.get("/dash/settings")).text


async def test_only_the_owner_gives_rights_on_the_machine(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOMO_HOME", str(api.home))
    place, form = "/dash/settings/access.socket_users", {"value": "kofi"}
    manager, owner = await log_in(api, Role.MANAGER), await log_in(api, Role.OWNER)
    given = {**form, "confirm_password": PASSWORD}
    assert (await manager.post(place, given)).status_code == 403
    assert not (api.home / "config.toml").exists()
    assert (await owner.post(place, given)).status_code == 303


@pytest.mark.parametrize(
    ("key", "value"), [("smtp.host", "mail.evil.example"), ("store.url", "postgresql://evil.example/momo")]
)
async def test_only_the_owner_changes_where_secrets_and_users_are(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, key: str, value: str
) -> None:
    monkeypatch.setenv("MOMO_HOME", str(api.home))
    manager = await log_in(api, Role.MANAGER)
    given = {"value": value, "confirm_password": PASSWORD}
    assert (await manager.post(f"/dash/settings/{key}", given)).status_code == 403
    assert not (api.home / "config.toml").exists()


@pytest.mark.parametrize("role", [Role.OWNER, Role.MANAGER])
async def test_where_webhooks_may_go_is_changed_on_the_machine_only(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, role: Role
) -> None:
    monkeypatch.setenv("MOMO_HOME", str(api.home))
    person, place = await log_in(api, role), "/dash/settings/webhooks.allow_private_hosts"
    shown = (await person.get(f"{place}?value=10.0.0.7")).text
    assert "momo config set webhooks.allow_private_hosts VALUE" in shown
    assert '<button class="main">' not in shown
    answer = await person.post(place, {"value": "10.0.0.7", "confirm_password": PASSWORD})
    assert answer.status_code == 422
    assert "is changed only on the shop" in answer.text
    assert not (api.home / "config.toml").exists()


async def test_the_mail_password_is_stored_and_never_shown(api: FakeApi) -> None:
    owner = await log_in(api, Role.OWNER)
    form = {"mail_password": "secret-of-mail", "confirm_password": PASSWORD}
    assert (await owner.post("/dash/settings/mail/password", form)).status_code == 303
    assert await notices.smtp_password(api.shop.env) == "secret-of-mail"
    assert "secret-of-mail" not in (await owner.get("/dash/settings")).text
    assert (await owner.post("/dash/settings/mail/password", {})).status_code == 303
    assert await notices.smtp_password(api.shop.env) is None
