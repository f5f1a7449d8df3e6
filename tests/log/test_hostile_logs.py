"""Names in the log that are not ours are passed over.

And no manifest makes a reader hold more than it is worth.
"""

from __future__ import annotations

import shutil

import pytest

import wavedex as wx
from kit.hostile import KINDS, SLOTS, acts_on, forge
from kit.small_waves import make, rows_of, table
from wavedex.errors import Damaged
from wavedex.plan.slot_set import SPAN_MAX
from wavedex.store.part import FAR_BITS, SLOTS_MAX

pytestmark = pytest.mark.usefixtures("small_row_groups")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An index of some kinds, made once."""
    folder = tmp_path_factory.mktemp("made")
    for kind in ("everything", "packed", "lifetimes"):
        KINDS[kind](folder / kind)
    return folder


# -- names -----------------------------------------------------------------------------------------

STRAYS = {
    "digits and no ending": "2024010112000000000000000",
    "an ending that comes too soon": "000000000000000042.json00",
    "digits that are no numbers": "\N{SUPERSCRIPT TWO}" * 20 + ".json",
    "digits of another script": "\N{FULLWIDTH DIGIT ONE}" * 20 + ".json",
}
"""All as long as the name of a manifest is."""


@pytest.mark.parametrize("stray", STRAYS)
def test_a_name_in_the_log_that_is_no_manifests_is_passed_over(tmp_path, stray):
    oracle = make(tmp_path / "x", "del", "packed-shadow", SLOTS)
    before = wx.open(tmp_path / "x").commits
    (tmp_path / "x" / "log" / STRAYS[stray]).touch()
    index = wx.open(tmp_path / "x")
    assert index.commits == before
    assert index.scan().read_all().num_rows == len(oracle.rows())
    index.append(table(rows_of(SLOTS[-1] + 1)))
    index.verify()
    index.vacuum()
    assert len(index.commits) == 1
    assert (tmp_path / "x" / "log" / STRAYS[stray]).exists()


# -- claims ----------------------------------------------------------------------------------------

FAR = SLOTS_MAX // FAR_BITS // 2 + 1
APART = [[0, FAR], [10 * SPAN_MAX, 10 * SPAN_MAX + FAR]]
"""Few enough slots, if they lay side by side; but each takes an object of its own."""

CLAIMS = {
    "a sub-index": ("packed", lambda body: body["indexes"]["I1"].update(slots=APART)),
    "one that drains": ("everything", lambda body: body["draining"]["O1"].update(slots=APART)),
    "a temporary": ("everything", lambda body: body["temps"]["T0"].update(slots=APART)),
    "rows that wait": ("everything", lambda body: body["open"].update(slots=APART)),
    "the state": ("packed", lambda body: body["state"]["indexes"].update(I1=APART)),
    "temporaries of the state": (
        "everything",
        lambda body: body["state"]["temps"].update(T0=APART),
    ),
    "births of the state": ("lifetimes", lambda body: body["state"]["births"].update({"1": APART})),
    "an operation that is owed": (
        "packed",
        lambda body: body.update(owed=[{"op": "delete", "slots": APART, "target": "I1"}]),
    ),
    "births that an operation is about": (
        "lifetimes",
        lambda body: body.update(
            owed=[{"op": "insert", "births": APART, "slots": [1], "target": "I1"}]
        ),
    ),
}


@pytest.mark.parametrize("where", CLAIMS)
def test_a_small_manifest_cannot_claim_slots_that_lie_far_apart(made, tmp_path, where):
    kind, claim = CLAIMS[where]
    path = shutil.copytree(made / kind, tmp_path / "given")
    forge(path, claim)
    for name in ("probe", "describe", "append"):
        with pytest.raises(Damaged, match=f"more than {SLOTS_MAX:,}"):
            acts_on(path)[name]()
