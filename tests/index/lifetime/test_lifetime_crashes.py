"""A crash before any change to the disk leaves a lifetime index as it was, or as it was to be."""

from __future__ import annotations

import pytest

from kit.crashing import crash_everywhere
from kit.life_rows import (
    COUNTED,
    LAST,
    counted_rows,
    make,
    make_counted,
    retract_once,
    rows_at,
    table,
)
from kit.matrix import in_turn
from wavedex.testing.crashes import DISKS
from wavedex.testing.life_oracle import END

METHODS = ["rebuild", "no-rebuild", "lazy-no-rebuild", "wata"]
GRIDS = {"wata": (2, 1)}


@pytest.mark.parametrize(
    ("method", "now", "disk"), in_turn(DISKS, METHODS, [LAST + 1, LAST + 2, LAST + 7])
)
def test_a_crash_in_a_refresh_leaves_the_rows_of_before_or_of_after(tmp_path, method, now, disk):
    oracle = make(tmp_path / "origin", method, GRIDS.get(method, (2, 2)))
    old = oracle.live()
    rows = rows_at(now, 6)
    oracle.update(now, rows)

    def act(life):
        life.update(now, table(rows))

    changes = crash_everywhere(tmp_path, DISKS[disk], act, old, oracle.live())
    assert changes > 6


@pytest.mark.parametrize("disk", DISKS)
@pytest.mark.parametrize("method", ["rebuild", "no-rebuild"])
def test_a_crash_in_a_retraction_hides_all_of_the_rows_or_none(tmp_path, method, disk):
    oracle = make(tmp_path / "origin", method)
    old = oracle.live()
    rows = [dict(row) for row in oracle.rows[:3]]
    oracle.retract(LAST + 1, rows)

    def act(life):
        retract_once(life, LAST + 1, rows)

    changes = crash_everywhere(tmp_path, DISKS[disk], act, old, oracle.live())
    assert changes > 4


@pytest.mark.parametrize("disk", DISKS)
@pytest.mark.parametrize("method", ["rebuild", "no-rebuild"])
def test_a_crash_in_a_prolongation_leaves_the_old_end_or_the_new_one(tmp_path, method, disk):
    oracle = make(tmp_path / "origin", method)
    old = oracle.live()
    rows = [{**oracle.meant(oracle.rows[1]), END: LAST + 9}]
    oracle.prolong(LAST + 1, rows)

    def act(life):
        life.prolong(LAST + 1, table(rows))

    crash_everywhere(tmp_path, DISKS[disk], act, old, oracle.live())


@pytest.mark.parametrize(
    ("method", "later", "strategy", "disk"),
    in_turn(
        DISKS, [("rebuild", "no-rebuild"), ("no-rebuild", "lazy-rebuild")], ["rebuild", "drain"]
    ),
)
def test_a_crash_in_a_migration_changes_no_answer(tmp_path, method, later, strategy, disk):
    oracle = make(tmp_path / "origin", method)

    def act(life):
        life.migrate(method=later, grid=(4, 2), strategy=strategy)

    crash_everywhere(tmp_path, DISKS[disk], act, oracle.live(), oracle.live())


@pytest.mark.parametrize("disk", DISKS)
@pytest.mark.parametrize("method", ["count-rebuild", "count-no-rebuild"])
def test_a_crash_in_a_refresh_of_counted_windows_leaves_the_rows_of_before_or_of_after(
    tmp_path, method, disk
):
    oracle = make_counted(tmp_path / "origin", method)
    old = oracle.live()
    arrived = {name: came + 25 for name, came in oracle.arrived.items()}
    rows = counted_rows(LAST + 2, arrived)
    oracle.update(rows, arrived)

    def act(life):
        life.update(LAST + 2, table(rows, COUNTED), arrived=arrived)

    crash_everywhere(tmp_path, DISKS[disk], act, old, oracle.live())
