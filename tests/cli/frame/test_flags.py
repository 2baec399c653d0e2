"""The global flags, at any position of the command line."""

import itertools

import pytest

from daemon.wire import Path
from momo_cli.flags import Flags, Output, lift
from momo_cli.frame.command_table import COMMANDS, GROUPS, ORDINARY, verb_alone, words_after
from momo_cli.frame.reference import TOPICS
from momo_cli.frame.tree import load
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.cli.test_errors import parses
from tests.fakes.each import each
from tests.fakes.fake_api import FakeApi, ok


@each(
    ("argv", "flags", "rest"),
    [
        (["lines", "--json"], Flags(output=Output.JSON), ["lines"]),
        (["--json", "lines"], Flags(output=Output.JSON), ["lines"]),
        (["-o", "csv", "tx", "list"], Flags(output=Output.CSV), ["tx", "list"]),
        (["tx", "-ocsv", "list"], Flags(output=Output.CSV), ["tx", "list"]),
        (["tx", "list", "--output=id"], Flags(output=Output.ID), ["tx", "list"]),
        (["tx", "--fields", "a, b", "list"], Flags(fields=("a", "b")), ["tx", "list"]),
        (["lines", "-qy"], Flags(quiet=True, yes=True), ["lines"]),
        (["lines", "-qx"], Flags(), ["lines", "-qx"]),
        (["lines", "--", "--json"], Flags(), ["lines", "--", "--json"]),
        (["lines", "--timeout", "2m"], Flags(timeout_s=120.0), ["lines"]),
        (["lines", "--timeout", "0"], Flags(timeout_s=0.0), ["lines"]),
        (["lines", "--get", "data.ready"], Flags(get="data.ready"), ["lines"]),
        (["lines", "--no-header"], Flags(header=False), ["lines"]),
        (["setup", "--tz", "Africa/Accra"], Flags(), ["setup", "--tz", "Africa/Accra"]),
        (["lines", "--tz", "Africa/Accra"], Flags(tz="Africa/Accra"), ["lines"]),
        (["-V"], Flags(version=True), []),
        (["init", "12", "--wait"], Flags(), ["init", "12", "--wait=10m"]),
        (["init", "12", "--wait", "5m"], Flags(), ["init", "12", "--wait=5m"]),
        (["init", "--wait", "12"], Flags(), ["init", "--wait=10m", "12"]),
        (["-o", "json", "phones", "list", "--wait"], Flags(output=Output.JSON), None),
        (["users", "password", "--password-stdin"], Flags(), ["users", "password", "--password-file=-"]),
        (["daemon", "start", "--wait", "5s"], Flags(), ["daemon", "start", "--wait", "5s"]),
    ],
)
def test_global_flags_are_lifted_out(argv: list[str], flags: Flags, rest: list[str] | None) -> None:
    expected = ["phones", "list", "--wait=30s"] if rest is None else rest
    assert lift(argv, {}) == (flags, expected)


def test_both_orders_of_every_pair_of_flags_mean_the_same(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.LINES, ok(samples.LINES))
    words = ["lines", "--plain", "--header", "--utc"]
    ran = {momo(*order).out for order in itertools.permutations(words)}
    assert len(ran) == 1


def test_flag_wins_over_environment() -> None:
    environ = {"MOMO_OUTPUT": "csv", "MOMO_TIMEOUT": "5s", "MOMO_NO_INPUT": "1"}
    assert lift([], environ)[0] == Flags(output=Output.CSV, timeout_s=5.0, no_input=True)
    assert lift(["--json"], environ)[0].output is Output.JSON


@each(
    ("argv", "said"),
    [
        (("lines", "-o", "yaml"), "-o: 'yaml' is not one of table, plain, json, ndjson, csv, id"),
        (("lines", "--timeout", "soon"), "--timeout: 'soon' is not a duration"),
        (("lines", "--get"), "--get needs a value"),
        (("lines", "--nonsense"), "momo lines has no flag --nonsense"),
        (("nonsense",), "there is no command 'nonsense'"),
        (("init",), "AMOUNT is missing"),
        (("lines", "add"), "NUMBER and --name are missing"),
        (("init", "12", "--phone"), "--phone needs a value"),
        (("init", "12", "--phone", "--name", "x"), "--phone needs a value, but --name is a flag"),
        (("lines", "--fields", "--utc"), "--fields needs a value"),
        (("init", "12", "13", "14"), "unexpected '14': momo init takes AMOUNT PHONE"),
        (("status", "extra"), "unexpected 'extra': momo status takes flags only"),
        (("lines", "--", "--json"), "unexpected '--json'"),
        (("lines", "--jsn"), "momo lines has no flag --jsn; did you mean --json?"),
        (("init", "12", "--fone", "1"), "momo init has no flag --fone; did you mean --phone?"),
        (("tx", "list", "--all=yes"), "--all takes no value"),
        (("tx", "list", "--page", "x"), "--page: 'x' is not a whole number of at least 1"),
        (("tx", "list", "--per-page", "101"), "--per-page: 101 is not a whole number from 1 to 100"),
        (("tx", "list", "--status", "paid", "--status", "short"), "--status is given twice"),
        (("reconcile", "A", "B", "--amount", "1", "--amount", "2"), "--amount is given twice"),
        (("tx", "list", "--all", "--page", "2"), "--all writes every page; leave out --page"),
        (("tx", "watch", "--get", "id"), "--get reads a value of one document"),
        (("list",), "'list' needs a word before it: tx, review"),
        (("init", "12,50", "--phone", "0244124567"), "did you mean 12.50?"),
        (("init", "-1", "--phone", "0244124567"), "there is no flag -1; put -- before a value that begins with -"),
        (("init", "12.505", "--phone", "0244124567"), "AMOUNT: '12.505' is not an amount"),
        (("init", "12", "--phone", "1", "--meta", "[]"), "--meta must be a JSON object"),
        (("init", "12", "--phone", "1", "--meta", "@/nonexistent"), "--meta: /nonexistent: "),
        (("tx", "list", "--status", "ODD"), "--status: 'ODD' is not one of waiting, paid"),
        (("tx", "list", "--per-page", "0"), "--per-page"),
        (("tx", "list", "--from", "soon"), "--from: 'soon' is not a time"),
        (("tx", "show"), "give one of REF, CODE and --client-ref"),
        (("tx", "wait", "X", "--for", "money"), "--for: 'money' is not one of paid, final, expired"),
        (("lines", "ignore", "zte"), "DEVICE:SLOT: 'zte' is not DEVICE:SLOT"),
        (("messages", "list", "--state", "odd"), "--state: 'odd' is not one of payment"),
        (("deliveries", "list", "--status", "odd"), "--status: 'odd' is not one of pending"),
        (("lines", "--fields", "nope"), "--fields: unknown field nope; there are device_id, phone"),
        (("lines", "--fields", "phone", "-o", "id"), "--fields does not go with -o id"),
        (("setup", "--no-input", "--method", "mtn"), "--method: 'mtn' is not NET:PHONE:NAME"),
        (("help", "nonsense"), "there is no topic or command 'nonsense'"),
    ],
)
def test_wrong_words_are_exit_2_with_a_sentence(argv: tuple[str, ...], said: str, momo: Momo) -> None:
    ran = momo(*argv)
    assert ran.code == 2
    assert ran.out == ""
    assert said in ran.err.splitlines()[0]
    assert ran.err.splitlines()[0].endswith("[USAGE]")
    assert ran.err.splitlines()[1].startswith("  next:  momo ")
    if not {"-o", "--get", "--fields"} & set(argv):  # these choose the output on stdout, too
        told = momo("--json", "-q", *argv)
        assert (told.code, told.json["exit_code"], told.err) == (2, 2, "")
        assert said in told.json["error"]["message"]


def test_wrong_words_with_json_are_one_document(momo: Momo) -> None:
    ran = momo("--json", "lines", "--nonsense")
    assert ran.json == {
        "success": False,
        "error": {"code": "USAGE", "message": "momo lines has no flag --nonsense", "next": ["momo lines --help"]},
        "exit_code": 2,
    }


@pytest.mark.parametrize(
    ("short", "full"),
    [
        (("tx", "ls"), ("tx", "list")),
        (("dl", "ls"), ("dead-letters", "list")),
        (("endpoints", "rm"), ("endpoints", "delete")),
        (("lines", "rm"), ("lines", "remove")),
        (("keys", "rm"), ("keys", "revoke")),
    ],
)
def test_short_words_stand_for_long_ones(short: tuple[str, ...], full: tuple[str, ...], momo: Momo) -> None:
    said = momo(*short, "--help").out
    assert said.partition("\n")[2] == momo(*full, "--help").out.partition("\n")[2]
    assert said.startswith("Usage: momo ")


def test_an_ordinary_word_leads_to_the_command_that_does_it(momo: Momo) -> None:
    assert momo("pay", "12.50").err.splitlines() == [
        "error: there is no command 'pay'; did you mean 'init'?  [USAGE]",
        "  next:  momo init --help",
        "         momo simulate payment --help",
        "         momo help pay",
    ]
    assert momo("Balance", "--json").json["error"]["next"][0] == "momo today"


def test_every_ordinary_word_leads_to_commands_and_hides_none() -> None:
    words = [word for row in ORDINARY for word in row.split()]
    assert len(words) == len(set(words))
    assert {*words} & ({*words_after("")} | {*TOPICS}) == set()
    for row in ORDINARY.values():
        assert [each for each in row if not parses(f"momo {each}")] == []


def test_help_with_a_word_searches_names_and_first_lines(momo: Momo) -> None:
    found = momo("help", "webhook", "-o", "table")
    assert found.code == 0
    lines = found.out.splitlines()
    assert lines[0] == "Commands about 'webhook':"
    assert lines[1].split()[:2] == ["endpoints", "list"]
    assert any(line.startswith("  listen ") for line in lines)
    assert "deliveries verify" in found.out
    named = momo("help", "undo", "--json").json["data"]["commands"]
    assert "review undo" in [one["name"] for one in named]
    assert momo("help", "cooking").code == 2


def test_what_is_nearly_a_command_is_asked_about(momo: Momo) -> None:
    assert momo("tx", "lst").err.splitlines() == [
        "error: there is no command 'tx lst'; did you mean 'list'?  [USAGE]",
        "  next:  momo tx list",
        "         momo tx --help",
    ]
    assert momo("reconcil", "--json").json["error"]["next"] == ["momo reconcile", "momo --help"]


def test_a_switch_may_be_given_twice_and_so_may_what_takes_several(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.TRANSACTIONS, ok([], pagination=samples.PAGE))
    assert momo("tx", "list", "--all", "--all", "-q", "-q").code == 0
    assert momo("tx", "watch", "--status", "paid", "--status", "odd").err.startswith("error: --status: 'odd'")


@pytest.mark.parametrize("argv", [(), ("data",), ("simulate",)])
def test_a_group_alone_is_help_for_people_and_a_refusal_for_programs(argv: tuple[str, ...], momo: Momo) -> None:
    assert momo(*argv).out.startswith("Usage: momo")
    assert momo(*argv).code == 2
    ran = momo(*argv, "--json", "-q")
    assert (ran.code, ran.json["exit_code"], ran.err) == (2, 2, "")
    assert "needs a command: " in ran.json["error"]["message"]


def test_a_noun_alone_is_its_list_or_its_state(api: FakeApi, momo: Momo) -> None:
    alone = {name: verb_alone(name) for name in GROUPS}
    assert {name for name, verb in alone.items() if not verb} == {"data", "simulate"}
    assert {name: verb for name, verb in alone.items() if verb not in ("", "list")} == {
        "lines": "status", "config": "show", "daemon": "status", "daemon certificate": "show", "hub": "status",
    }  # fmt: skip
    api.on("GET", Path.LOCAL_STATUS, ok(samples.STATUS))
    assert momo("daemon", "--json").json == momo("daemon", "status", "--json").json


@pytest.mark.parametrize("argv", [("tx", "list", "--help"), ("help", "tx", "list")])
def test_help_is_one_document_for_programs(argv: tuple[str, ...], momo: Momo) -> None:
    ran = momo(*argv, "--json")
    assert (ran.code, ran.json["data"]["topic"]) == (0, "tx list")
    assert ran.json["data"]["text"].startswith("Usage: momo tx list [OPTIONS]")


def test_the_usage_line_and_the_flags_name_values_in_capitals(momo: Momo) -> None:
    said = momo("init", "--help").out
    assert said.startswith("Usage: momo init [OPTIONS] AMOUNT [PHONE]\n")
    assert "<str>" not in said


def test_absolute_shows_the_time_instead_of_how_long_ago(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.TRANSACTIONS, ok([samples.PAID], pagination=samples.PAGE))
    argv = ("tx", "list", "-o", "table", "--utc")
    assert "4m ago" in momo(*argv).out
    shown = momo(*argv, "--absolute").out
    assert "today 09:14" in shown
    assert "ago" not in shown


@pytest.mark.parametrize("name", ["../x", "", "a/b", "a b", ".hidden", "x" * 65])
def test_a_profile_that_is_no_name_of_a_folder_is_refused(name: str) -> None:
    assert "not a valid profile name" in lift(["lines", "--profile", name], {})[0].problem
    told = lift(["lines"], {"MOMO_PROFILE": name})[0].problem
    assert ("not a valid profile name" in told) is bool(name)
    assert not lift(["lines"], {"MOMO_PROFILE": name, "MOMO_HOME": "/x"})[0].problem
    assert not lift(["lines", "--profile", "shop-2.a_b"], {})[0].problem


@pytest.mark.parametrize("form", ["json", "plain", "table"])
def test_a_zone_that_there_is_not_is_refused_in_every_form(form: str, momo: Momo) -> None:
    ran = momo("tx", "list", "--tz", "Nowhere/X", "-o", form)
    assert (ran.code, "there is no time zone 'Nowhere/X'" in ran.err) == (2, True)


def test_every_dry_run_has_its_letter() -> None:
    for name in COMMANDS:
        flags = [option.opts for option in load(name).params]
        dry = [opts for opts in flags if "--dry-run" in opts]
        assert all("-n" in opts for opts in dry), name


def test_every_list_takes_the_same_flags() -> None:
    wanted = {"--limit", "--offset", "--fail-if-any"}
    for name in COMMANDS:
        if name.endswith(" list"):
            flags = [word for option in load(name).params for word in option.opts]
            # `momo tx list` has pages.
            assert wanted <= {*flags, *(["--offset"] if "--page" in flags else [])}, name
            assert len(flags) == len(set(flags)), name


def test_any_list_is_cut_and_fails_if_it_is_not_empty(api: FakeApi, momo: Momo) -> None:
    keys = [{**samples.KEY, "name": name} for name in "abc"]
    api.on("GET", Path.KEYS, ok(keys))
    part = ("keys", "list", "--limit", "1", "--offset", "1")
    assert momo(*part, "--fields", "name").out == "b\n"
    assert [row["name"] for row in momo(*part, "--json").json["data"]] == ["b"]
    assert momo(*part, "--fail-if-any").code == 6
    assert momo("keys", "list", "--offset", "3", "--fail-if-any").code == 0
    api.on("GET", Path.LOCAL_NOTICES, ok([samples.NOTICE]))
    assert momo("notices", "list", "--limit", "5", "--offset", "5").out == ""
    assert api.asked[-1].query["limit"] == "10"
    api.on("GET", Path.TRANSACTIONS, ok([samples.PAID], pagination=samples.PAGE))
    ran = momo("tx", "list", "--all", "--fail-if-any", "--quiet")
    assert (ran.code, ran.out) == (6, "")
    assert ran.err.startswith("error: momo tx list is not empty\n")
