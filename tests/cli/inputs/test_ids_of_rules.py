"""Short forms of the id of a rule, which also has a name and a number, and of a notice."""

import pytest

from daemon.wire import Path
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.cli.inputs.test_ids import cut
from tests.fakes.fake_api import FakeApi, ok

HOOK = samples.ENDPOINT["id"]
RULE = {**samples.RULE, "name": "rents", "position": 1}
OTHER_RULE = {**RULE, "id": samples.RULE["id"][:-1] + "0", "name": "", "position": 2}


@pytest.mark.parametrize("typed", [cut(samples.RULE["id"]), "Rents", "1"])
def test_a_rule_is_known_by_its_id_its_name_or_its_number(
    typed: str, api: FakeApi, momo: Momo
) -> None:
    rules = f"/v1/open-collections/endpoints/{HOOK}/rules"
    api.on("GET", rules, ok([RULE, OTHER_RULE]))
    api.on("PUT", f"{rules}/{RULE['id']}", ok(RULE))
    api.on("DELETE", f"{rules}/{RULE['id']}", ok(None, deleted=True))
    assert momo("endpoints", "rules", "update", HOOK, typed, "--no-enabled").code == 0
    assert momo("endpoints", "rules", "remove", HOOK, typed, "-o", "id").out == f"{RULE['id']}\n"
    assert [asked.method for asked in api.asked] == ["GET", "PUT", "GET", "DELETE"]


def test_no_rule_goes_when_two_are_meant_or_none(api: FakeApi, momo: Momo) -> None:
    api.on("GET", f"/v1/open-collections/endpoints/{HOOK}/rules", ok([RULE, OTHER_RULE]))
    ran = momo("endpoints", "rules", "remove", HOOK, RULE["id"][:8])
    assert ran.code == 2
    assert f"'{RULE['id'][:8]}' matches 2 rules: {RULE['id']}, " in ran.err
    ran = momo("endpoints", "rules", "remove", HOOK, "3", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "RULE_NOT_FOUND")
    assert ran.json["error"]["next"] == [f"momo endpoints rules list {HOOK}"]
    assert {asked.method for asked in api.asked} == {"GET"}


def test_a_notice_is_seen_by_a_part_of_its_id_also_when_it_was_seen_before(
    api: FakeApi, momo: Momo
) -> None:
    notice = samples.NOTICE["id"]
    api.on("GET", Path.LOCAL_NOTICES, ok([samples.NOTICE]))
    api.on("POST", Path.LOCAL_NOTICES_SEEN, ok({"seen": 1}))
    assert momo("notices", "seen", cut(notice)).code == 0
    assert api.asked[0].query == {"all": "1", "limit": "500", "offset": "0"}
    assert api.asked[-1].body == {"id": notice}
    ran = momo("notices", "seen", "nobody", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "NOTICE_NOT_FOUND")
