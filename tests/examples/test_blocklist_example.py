"""The example of a block list runs, and its answers are those of a search through its edits."""

from __future__ import annotations

import runpy

import pytest

from kit.paths import ROOT
from wavedex.temporal import TemporalSet


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(ROOT / "examples" / "blocklist.py"))


@pytest.fixture(scope="module")
def edits(example):
    return example["edits"]()


@pytest.fixture(scope="module")
def blocked(example, edits, tmp_path_factory):
    return example["keep"](tmp_path_factory.mktemp("list") / "blocked.wxt", edits)


def entries(edits):
    """From when to when each address was on the list, and why, one edit after the other."""
    found, begun = {}, {}
    for each in edits.to_pylist():
        if each["op"] > 0:
            begun[each["address"]] = each
        else:
            start = begun.pop(each["address"])
            found.setdefault(each["address"], []).append((start["at"], each["at"], start["reason"]))
    for name, start in begun.items():
        found.setdefault(name, []).append((start["at"], None, start["reason"]))
    return found


def test_each_request_is_judged_by_the_list_of_its_time(example, edits, blocked):
    log = example["requests"](20_000)
    told, listed = example["as_of_each"](blocked, log), entries(edits)
    counts = dict.fromkeys(example["REASONS"], 0)
    for each in told.to_pylist():
        reasons = [
            reason
            for start, end, reason in listed.get(each["address"], [])
            if start <= each["at"] and (end is None or each["at"] < end)
        ]
        assert each["blocked"] == (len(reasons) == 1)
        for reason in reasons:
            counts[reason] += 1
    assert min(counts.values()) > 100
    assert example["by_reason"](blocked, told.filter(told["blocked"])) == counts
    assert told["blocked"].to_pylist() == example["plainly"](edits, log)


def test_the_list_of_today_would_judge_otherwise(example, edits, blocked):
    log = example["requests"](5_000)
    today = {name for name, spans in entries(edits).items() if spans[-1][1] is None}
    now = example["as_of_now"](blocked, log).to_pylist()
    assert now == [name in today for name in log["address"].to_pylist()]
    assert now != example["as_of_each"](blocked, log)["blocked"].to_pylist()


def test_the_example_says_what_it_found(example, edits, tmp_path, capsys):
    example["main"](["--folder", str(tmp_path), "--requests", "3000"])
    said = capsys.readouterr().out
    assert f"{edits.num_rows:,} edits of a list, 3,000 requests" in said
    assert "The list of today would miss" in said
    assert TemporalSet.open(tmp_path / "blocked.wxt").verify() == []
