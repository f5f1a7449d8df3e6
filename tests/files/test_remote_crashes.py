"""A crash before every change leaves the old window or the new one on object stores too."""

from __future__ import annotations

import pytest

from kit.crashing import crash_numbers
from kit.remote_places import Place, place_of
from kit.remote_rows import UPDATES, WINDOW, filled, oracle_of, rows_of, table
from wavedex.testing.crashes import DISKS, CopyingWalk


@pytest.fixture(params=["subtree", "s3", "memory"])
def place(request, tmp_path) -> Place:
    return place_of(request, tmp_path, request.param)


@pytest.mark.parametrize(
    ("act", "update"),
    [*zip(["append", "amend", "erase", "vacuum"], UPDATES * 2, strict=True)],
)
def test_a_crash_anywhere_leaves_the_old_window_or_the_new_one(place, update, act):
    slots = range(1, WINDOW + 4)
    index = filled(place, place.new(), *slots, update=update, scheme="rata")
    oracle = oracle_of(*slots)
    walk = CopyingWalk(index.storage, lambda: place.files(place.new()))
    old = oracle.rows()
    late = [{"k": "key 3", "t": (WINDOW + 3) * 10 + 9, "v": "late"}]
    following = rows_of(WINDOW + 4)

    def change(held) -> None:
        if act == "append":
            held.append(table(following))
        elif act == "amend":
            # An amendment has no identity of its own, so whoever repeats it looks first.
            if not any(row["v"] == "late" for row in walk.answers(held)):
                held.amend(table(late))
        elif act == "erase":
            held.erase(["key 3"])
        else:
            held.vacuum()

    if act == "append":
        oracle.append(following, WINDOW + 4)
    elif act == "amend":
        oracle.amend(late)
    new = oracle.rows(lambda row: act != "erase" or row["k"] != "key 3")
    changes = walk.crash_everywhere(DISKS["crash"], change, old, new, crash_numbers())
    assert changes >= (1 if act == "vacuum" else 5)
