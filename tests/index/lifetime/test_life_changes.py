"""What came to a lifetime index and what went, and when: exactly that, whatever keeps the rows.

The machine of lifetimes folds changes after each of its steps; here stands what each write changes.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import wavedex as wx
from kit.folding import Folding, check_order
from kit.life_rows import COUNTED, SCHEMA, SIZES, table
from wavedex import errors
from wavedex.files.names import manifest_name
from wavedex.log.codec import seal
from wavedex.testing.life_oracle import BIRTH, END, KEY, CountOracle, Row

FORMATS = ["arrow", "parquet", "sqlite", "chained"]
WAYS = [
    ("rebuild", "arrow"),
    ("rebuild", "parquet"),
    ("rebuild", "sqlite"),
    ("no-rebuild", "chained"),
    ("lazy-rebuild", "arrow"),
    ("lazy-no-rebuild", "chained"),
]


def create(path: Path, method: str = "rebuild", **options) -> wx.LifetimeIndex:
    return wx.LifetimeIndex.create(
        path, SCHEMA, key=KEY, inserted=BIRTH, expires=END, max_lifetime=16, refresh=2,
        method=method, keep_commits=100, **options,
    )  # fmt: skip


def row(key: int, birth: int, end: int, value: str = "") -> Row:
    return {KEY: key, BIRTH: birth, END: end, "v": value}


def happened(index: wx.LifetimeIndex, since: object = 0) -> list[tuple]:
    """Key, end, sign and instant of each change."""
    found = index.changes(since).read_all()
    check_order(found)
    return [(each[KEY], each[END], each["_change"], each["_at"]) for each in found.to_pylist()]


@pytest.mark.parametrize(("method", "kept"), WAYS)
def test_rows_come_when_they_are_born_and_go_when_they_end(tmp_path, method, kept):
    life = create(tmp_path / "x", method, format=kept)
    life.update(4, table([row(1, 3, 9), row(2, 4, 7), row(3, 1, 17), row(4, 2, 4)]))
    life.update(10, table([row(5, 8, 12), row(6, 6, 9)]))
    assert happened(life) == [
        (3, 17, 1, 1),
        (1, 9, 1, 3),
        (2, 7, 1, 4),
        (2, 7, -1, 7),
        (5, 12, 1, 8),
        (1, 9, -1, 9),
    ]


@pytest.mark.parametrize(("method", "kept"), WAYS)
def test_what_comes_late_or_is_changed_comes_and_goes_with_its_write(tmp_path, method, kept):
    life = create(tmp_path / "x", method, format=kept)
    life.update(4, table([row(1, 3, 9), row(2, 4, 15), row(3, 4, 15)]))
    known = life.commit
    life.update(6, table([row(4, 2, 12), row(5, 4, 12), row(6, 5, 12), row(7, 1, 6)]))
    assert happened(life, known) == [(6, 12, 1, 5), (4, 12, 1, 6), (5, 12, 1, 6)]
    known = life.commit
    life.retract(7, table([row(2, 4, 15)]))
    assert happened(life, known) == [(2, 15, -1, 7)]
    known = life.commit
    life.prolong(8, table([row(3, 4, 20)]))
    assert happened(life, known) == [(3, 15, -1, 8), (3, 20, 1, 8)]
    known = life.commit
    life.retract(9, table([row(3, 4, 20)]))  # waits in the delta, and what ended goes before it
    assert sorted(happened(life, known)) == [(1, 9, -1, 9), (3, 20, -1, 9)]


def test_what_only_moves_is_no_change(tmp_path):
    life = create(tmp_path / "x")
    for now in (2, 4, 6):
        life.update(now, table([row(now, now, now + 12)]))
    known = life.commit
    life.migrate(method="no-rebuild", grid=(4, 2))
    life.migrate(method="rebuild", strategy="drain")
    life.prepare()
    assert life.commit > known
    assert happened(life, known) == []


def test_before_the_first_commit_there_was_nothing_and_from_none_on_all_came(tmp_path):
    life = create(tmp_path / "x")
    life.update(4, table([row(1, 3, 9), row(2, 4, 7)]))
    life.update(8, table([row(3, 1, 12)]))
    assert happened(life, None) == [(3, 12, 1, 1), (1, 9, 1, 3)]
    assert happened(life, life.commit) == []


def test_an_end_that_is_reckoned_from_a_length_is_kept_and_not_shown(tmp_path):
    schema = pa.schema(
        [("k", pa.int64()), ("b", pa.timestamp("s", "UTC")), ("d", pa.duration("s"))]
    )
    life = wx.LifetimeIndex.create(
        tmp_path / "x", schema, key="k", inserted="b", lifetime="d", max_lifetime="16 minutes",
        refresh="2 minutes", keep_commits=100,
    )  # fmt: skip
    life.update("1970-01-01T00:04:00Z", pa.table({"k": [1], "b": [200], "d": [100]}).cast(schema))
    life.update("1970-01-01T00:06:00Z")
    found = life.changes(0).read_all()
    assert found.schema.names == ["k", "b", "d", "_change", "_at", "_commit"]
    assert found.schema.field("_at").type == pa.timestamp("s", "UTC")
    assert found["_at"].cast(pa.int64()).to_pylist() == [200, 300]
    assert found["_change"].to_pylist() == [1, -1]


@pytest.mark.parametrize("method", ["count-rebuild", "count-no-rebuild"])
def test_the_changes_of_counted_windows_add_up(tmp_path, method):
    life = wx.LifetimeIndex.create(
        tmp_path / "x", COUNTED, key=KEY, inserted=BIRTH, counts=SIZES, max_lifetime=16, refresh=2,
        method=method, keep_commits=100, shards=2,
    )  # fmt: skip
    oracle, folding, draw = CountOracle(SIZES), Folding(), random.Random(11)
    now = 0
    for _ in range(40):
        now += draw.choice([0, 1, 2, 2, 3])
        arrived = {name: came + draw.randrange(12) for name, came in oracle.arrived.items()}
        rows = [
            {
                KEY: draw.randrange(5),
                BIRTH: now - draw.randrange(3),
                **{name: max(1, came - draw.randrange(20)) for name, came in arrived.items()},
            }
            for _ in range(draw.randrange(5))
        ]
        done = life.update(now, table(rows, COUNTED), arrived=arrived)
        if not done.repeated:
            oracle.update(rows, arrived)
        before = folding.commit
        for each in folding.read(life):
            assert before is None or each["_change"] > 0 or each["_at"] == now
        if draw.random() < 0.2:
            some = [dict(each) for each in oracle.live()[:1]]
            life.retract(now, table(some, COUNTED))
            for each in some:
                oracle.rows.remove(each)
            folding.read(life)
    assert sum(folding.rows.values()) > 0


def test_a_batch_of_a_stream_stands_for_its_commit(tmp_path):
    life = create(tmp_path / "x")
    for number in range(3):
        rows = table([row(number, number, number + 10)])
        life.feed(rows, stream="calls", number=number)
    assert happened(life, ("calls", 0)) == [(1, 11, 1, 1), (2, 12, 1, 2)]
    assert life.changes(("calls", 0), ("calls", 1)).read_all()[KEY].to_pylist() == [1]
    with pytest.raises(errors.BadPosition, match=r"'other'.*: 'calls'"):
        life.changes(("other", 0))
    with pytest.raises(errors.BadPosition, match="come to batch 2, and not yet to 3"):
        life.changes(("calls", 3))
    for nonsense in ("calls", ("calls",), ("calls", "1"), 1.5, True, {"calls": 1}):
        with pytest.raises(errors.BadPosition, match="no commit and no batch of a stream"):
            life.changes(nonsense)
    life.vacuum()
    with pytest.raises(errors.CommitGone, match="batch 0 of the stream 'calls' is not kept"):
        life.changes(("calls", 0))


def test_a_batch_whose_commit_is_gone_stands_for_no_later_one(tmp_path):
    life = create(tmp_path / "x")
    life.feed(table([row(1, 4, 19), row(2, 4, 18)]), stream="calls", number=0)
    life.retract(5, table([row(1, 4, 19)]))
    life.update(6, table([row(3, 6, 15)]))
    assert [each[0] for each in happened(life, ("calls", 0))] == [1, 3]
    life.vacuum(2)
    with pytest.raises(errors.CommitGone, match="batch 0 of the stream 'calls' is not kept"):
        life.changes(("calls", 0))
    life.apply(7, stream="other", number=5, takeover=True)
    life.apply(8, stream="calls", number=0, takeover=True)
    assert happened(life, ("other", 5)) == []
    for never in (-1, 99):
        with pytest.raises(errors.CommitGone, match=f"Commit {never} was never there"):
            life.changes(never)


def test_commits_of_an_earlier_format_do_not_pretend_to_know(tmp_path):
    life = create(tmp_path / "x")
    life.update(4, table([row(1, 4, 19), row(2, 4, 18)]))
    known = life.commit
    life.retract(6, table([row(1, 4, 19)]))
    path = life.storage.path(manifest_name(life.commit))
    body = json.loads(path.read_text())["manifest"]
    for name in ("told", "tells"):
        del body[name]
    path.write_bytes(seal("manifest", body))
    other = wx.open(tmp_path / "x")
    with pytest.raises(errors.CommitGone, match="earlier Wavedex, which did not note"):
        other.changes(known)
    assert happened(other, None) == [(2, 18, 1, 4)]
    later = other.commit
    other.retract(7, table([row(2, 4, 18)]))
    assert happened(other, later) == [(2, 18, -1, 7)]


def test_what_a_commit_tells_goes_with_it_and_damage_to_it_is_found(tmp_path):
    life = create(tmp_path / "x")
    life.update(4, table([row(1, 3, 9), row(2, 4, 15)]))
    life.retract(5, table([row(1, 3, 9)]))
    (told,) = (tmp_path / "x" / "data").glob("*.told")
    shutil.copytree(tmp_path / "x", tmp_path / "damaged")
    damaged = tmp_path / "damaged" / "data" / told.name
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    other = wx.open(tmp_path / "damaged")
    assert other.probe(2).num_rows == 1  # nobody else needs it
    with pytest.raises(errors.Damaged, match="told"):
        other.changes(0).read_all()
    with pytest.raises(errors.Damaged, match="told"):
        other.verify()
    damaged.unlink()
    with pytest.raises(errors.Damaged, match="told is missing"):
        other.verify()
    life.update(6)
    life.vacuum()
    assert not told.exists()
    life.verify()


def test_erased_rows_are_told_by_nobody(tmp_path):
    life = create(tmp_path / "x")
    life.update(4, table([row(1, 3, 9, "secret"), row(2, 4, 15)]))
    life.update(6, table([row(1, 3, 12, "secret")]))  # late, so that the commit tells of it
    known = life.commit
    life.erase([1])
    with pytest.raises(errors.CommitGone):
        life.changes(known)
    assert happened(life, None) == [(2, 15, 1, 4)]
    files = [each for each in (tmp_path / "x").rglob("*") if each.is_file()]
    assert not any(b"secret" in each.read_bytes() for each in files)


def test_a_column_of_our_own_name_is_refused(tmp_path):
    schema = SCHEMA.append(pa.field("_at", pa.int64()))
    with pytest.raises(errors.BadDefinition, match="_at is taken"):
        wx.LifetimeIndex.create(
            tmp_path / "x", schema, key=KEY, inserted=BIRTH, expires=END, max_lifetime=16, refresh=2
        )
