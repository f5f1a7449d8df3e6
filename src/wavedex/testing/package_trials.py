"""What is tried on a package: each function makes indexes at a path, and asserts what must hold.

`wavedex.testing.packages` lists them as the clauses of a contract.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from wavedex.errors import BadDefinition, Damaged
from wavedex.files.names import DATA
from wavedex.index.reading.snapshot import Snapshot
from wavedex.index.wave.index import WaveIndex
from wavedex.testing.crashes import DISKS, EACH, crash_everywhere, unnamed_files
from wavedex.testing.oracle import Oracle, same_rows
from wavedex.testing.package_rows import KEYS, SCHEMA, VALUES, rows_of, table, values_of

WINDOW, INDEXES, LAST = 6, 3, 15


def create(path: Path, format_: str, scheme: str, update: str, **more: Any) -> WaveIndex:
    """An empty index of rows as `rows_of` makes them."""
    options = {"shards": 2, "keep_commits": 3, **_options_of(scheme), **more}
    return WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=10, window=WINDOW, indexes=INDEXES, scheme=scheme,
        update=update, format=format_, **options,
    )  # fmt: skip


def _options_of(scheme: str) -> dict[str, Any]:
    if scheme.endswith("-bounded"):
        return {"max_size": 8 * WINDOW}
    if scheme.endswith("-offline"):
        return {"sizes": {slot: len(rows_of(slot)) for slot in range(1, LAST + 1)}}
    return {}


def oracle() -> Oracle:
    """What an index made by `create` must answer."""
    return Oracle(WINDOW, "k", lambda row: row["t"] // 10)


def fill(index: WaveIndex, slots: Iterable[int]) -> Oracle:
    """Append these slots to an empty index. What it must answer then."""
    truth = oracle()
    for slot in slots:
        index.append(table(rows_of(slot)))
        truth.append(rows_of(slot), slot)
    return truth


def check(asked: WaveIndex | Snapshot, truth: Oracle) -> None:
    """Ask everything that can be asked. Raises AssertionError where an answer is wrong."""
    assert same_rows(asked.scan().read_all().to_pylist(), truth.rows()), "scan()"
    for key in (0, 3, 99):
        assert same_rows(asked.probe(key).to_pylist(), truth.probe(key)), f"probe({key})"
    some = [0, 4, 99, 7]
    expected = truth.rows(lambda row: row["k"] in some)
    assert same_rows(asked.probe_many(some).to_pylist(), expected), f"probe_many({some})"
    expected = truth.rows(lambda row: 2 <= row["k"] <= 6)
    assert same_rows(asked.probe_range(2, 6).to_pylist(), expected), "probe_range(2, 6)"
    assert asked.probe_range(6, 2).num_rows == 0, "probe_range(6, 2)"
    since, until = asked.slots[1], asked.slots[-2]
    during = f"in slots {since} to {until}"

    def inside(row: dict[str, Any]) -> bool:
        return since <= row["t"] // 10 <= until

    found = asked.scan(since, until, columns=["v"]).read_all().to_pylist()
    expected = [{"v": row["v"]} for row in truth.rows(inside)]
    assert same_rows(found, expected), f"scan() {during}"
    found = asked.probe(4, since, until).to_pylist()
    assert same_rows(found, truth.probe(4, inside)), f"probe(4) {during}"
    found = asked.probe_many(list(KEYS), since, until).to_pylist()
    assert same_rows(found, truth.rows(inside)), f"probe_many() {during}"


def walk(index: WaveIndex, every: int = 1) -> None:
    """Append slots one by one, one of them after a gap, and ask all the time.

    Amend, hold snapshots, clear away, reopen. Everything is asked after each slot, or after every
    so many.
    """
    truth, held = oracle(), []
    reader = WaveIndex.open(index.path)
    for slot in range(1, LAST + 1):
        if slot == 9 and not index.definition.scheme.weighs:
            continue
        index.append(table(rows_of(slot)))
        truth.append(rows_of(slot), slot)
        if slot % 4 == 3:
            late = [row for each in (slot, slot - 1) for row in rows_of(each, late=True)]
            index.amend(table(late))
            truth.amend(late)
        if slot % 5 == 2:
            then = oracle()
            then.slots = {each: list(rows) for each, rows in truth.slots.items()}
            held.append((index.snapshot(), then))
        if slot % 6 == 5:
            index.vacuum()
            index = WaveIndex.open(index.path)
        if slot % every:
            continue
        index.verify()
        for asked in (index, reader):
            check(asked, truth)
        for snapshot, then in held:
            check(snapshot, then)
    held.clear()
    del reader
    index.vacuum()
    check(index, truth)
    index.verify()
    assert not unnamed_files(Path(index.path)), "Files are left that no commit names."


def walk_through(path: Path, scheme: str, update: str, format: str, **more: Any) -> None:  # noqa: A002
    """A walk of an index of its own, asked after every third slot."""
    walk(create(path, format, scheme, update, **more), every=3)


def check_keys(path: Path, kind: pa.DataType, keys: list[Any], **how: Any) -> None:
    """Keys of a type are found one by one, together and between any two, while rows are added.

    Or the type is refused before there is an index.
    """
    schema = pa.schema([("k", kind), ("t", pa.int64()), ("n", pa.int64())])
    index = _kept(path, schema, key="k", time="t", slot=1, window=4, indexes=2, shards=1, **how)
    if index is None:
        return
    for slot in (1, 2, 3):
        columns = [pa.array(keys, kind), pa.array([slot] * len(keys), pa.int64())]
        index.append(pa.table([*columns, pa.array(range(len(keys)))], schema=schema))
    index.verify()
    for key in keys:
        assert index.probe(key)["k"].to_pylist() == [key] * 3, f"probe({key!r})"
        assert index.probe(key, 2, 2).num_rows == 1, f"probe({key!r}) in slot 2"
    assert index.probe_many(keys).num_rows == 3 * len(keys), f"probe_many({keys!r})"
    for low in keys:
        for high in keys:
            between = [k for k in keys if _order(low) <= _order(k) <= _order(high)]
            found = sorted(index.probe_range(low, high, 1, 1)["k"].to_pylist(), key=_order)
            assert found == sorted(between, key=_order), f"probe_range({low!r}, {high!r})"


def _order(key: Any) -> Any:
    """By what keys sort: text by its bytes."""
    return key.encode() if isinstance(key, str) else key


def _kept(path: Path, schema: pa.Schema, **how: Any) -> WaveIndex | None:
    """A new index; None where its columns are refused, and then nothing is left of it."""
    try:
        return WaveIndex.create(path, schema, **how)
    except BadDefinition:
        assert not path.exists(), "A definition was refused, but the folder is there."
        return None


def check_values(path: Path, **how: Any) -> None:
    """Rows of every type come back as they were, bit for bit, by keys of two columns too.

    Columns whose type is refused are left out. Where a timestamp or a key of two columns is
    refused, times are numbers and the key is one column.
    """
    tables, key, kept = _values_kept(path, how)
    index = _create_values(path, tables[0], key, kept, how)
    assert index is not None
    for rows in tables:
        index.append(rows.select(kept))
    index.verify()
    found = index.scan().read_all()
    assert found.schema == tables[0].select(kept).schema, "scan() has other columns"
    expected = [row for rows in tables[1:] for row in rows.select(kept).to_pylist()]
    assert same_rows(found.to_pylist(), expected), "scan()"  # By their text: -0.0 is not 0.0.
    if isinstance(key, list):
        _check_pairs(index)
    if "kind" in kept:
        labels = index.scan(columns=["kind"], dictionaries=True).read_all()["kind"].to_pylist()
        assert sorted(label or "" for label in labels) == sorted(["new", "old", "new", ""] * 3)


def _values_kept(
    path: Path, how: Mapping[str, Any]
) -> tuple[list[pa.Table], str | list[str], list[str]]:
    """Rows of four slots, a key, and the columns that an index keeps with it."""
    tables = [values_of(day) for day in (1, 2, 3, 4)]
    plainer = [_with_numbers(table) for table in tables]
    pair, kept = ["who", "where"], ["who", "where", "at"]

    def accepts(rows: pa.Table, key: str | list[str], names: list[str]) -> bool:
        index = _create_values(path, rows, key, names, how)
        shutil.rmtree(path, ignore_errors=True)
        return index is not None

    for chosen, key in ((tables, pair), (plainer, pair), (plainer, "who")):
        if accepts(chosen[0], key, kept):
            others = [name for name in VALUES.names if name not in kept]
            kept += [name for name in others if accepts(chosen[0], key, [*kept, name])]
            return chosen, key, kept
    raise AssertionError("An index of text and 64-bit numbers is refused.")


def _with_numbers(values: pa.Table) -> pa.Table:
    """The same rows, with 64-bit numbers for place and time."""
    kinds = {"where": pa.int64(), "at": pa.int64()}
    columns = [values[name].cast(kinds.get(name, values[name].type)) for name in VALUES.names]
    return pa.table(columns, VALUES.names)


def _create_values(
    path: Path, rows: pa.Table, key: str | list[str], names: list[str], how: Mapping[str, Any]
) -> WaveIndex | None:
    schema = rows.select(names).schema
    slot = "1 day" if pa.types.is_timestamp(schema.field("at").type) else 24 * 3600 * 10**6
    return _kept(path, schema, key=key, time="at", slot=slot, window=3, indexes=2, shards=2, **how)


def _check_pairs(index: WaveIndex) -> None:
    assert index.probe(("a", 0)).num_rows == 6
    assert index.probe_many([("é", 7), ("", -7), ("é", -7)]).num_rows == 6
    keys = [("", -7), ("a", 0), ("é", 7)]
    for low in keys:
        for high in keys:
            between = {k for k in keys if low <= k <= high}
            rows = index.probe_range(low, high).to_pylist()
            assert {(row["who"], row["where"]) for row in rows} == between, (low, high)


def check_stream(path: Path, **how: Any) -> None:
    """A stream fills open slots.

    When they are sealed they leave the delta, which is written anew without them.
    """
    index = WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=10, window=4, indexes=2, shards=2, **how
    )
    kept: list[dict[str, Any]] = []
    for number in range(30):
        rows = [{"k": n, "t": number * 4 + n, "v": f"{number}/{n}"} for n in range(3)]
        index.feed(table(rows), stream="s", number=number, delay=15)
        assert index.feed(table(rows), stream="s", number=number, delay=15).rows == 0
        kept += rows
        window = index.slots
        expected = [row for row in kept if row["t"] // 10 in window]
        assert same_rows(index.scan().read_all().to_pylist(), expected), f"after batch {number}"
        index.verify()
    assert index.describe()["open"]["rows"] > 0
    assert len(window) > 4


def check_changes(path: Path, **how: Any) -> None:
    """What was appended and amended comes out of the feed of changes, once."""
    index = create(path, how.pop("format"), "wata", how.pop("update"), keep_commits=50, **how)
    fill(index, (1, 2))
    before = index.snapshot().commit
    late = [row for _ in range(3) for row in rows_of(2, late=True)]
    index.amend(table(late))
    changes = index.changes(before).read_all().drop_columns(["_at", "_commit"]).to_pylist()
    assert same_rows(changes, [{**row, "_change": 1} for row in late])


def check_odd_names(path: Path, **how: Any) -> None:
    """Columns that are called as a query might call its own values.

    They are looked up, all at once, and erased.
    """
    names = ["k0", "k1", "wanted", "Wanted_0", "wanted__1", "entries", "v0", "order"]
    schema = pa.schema([("t", pa.int64()), *((name, pa.int64()) for name in names)])
    index = _kept(path, schema, key=["k1", "wanted"], time="t", slot=10, window=3, **how)
    if index is None:
        return
    rows = [{"t": slot * 10, **dict.fromkeys(names, slot)} for slot in (1, 2, 3)]
    for row in rows:
        index.append(pa.Table.from_pylist([row], schema))
    assert same_rows(index.probe_many([(1, 1), (3, 3), (1, 3)]).to_pylist(), [rows[0], rows[2]])
    assert same_rows(index.probe_range((2, 0), (3, 3)).to_pylist(), rows[1:])
    assert index.erase([(2, 2)]).rows == 1
    assert same_rows(index.scan().read_all().to_pylist(), [rows[0], rows[2]])


def check_erased(path: Path, **how: Any) -> None:
    """Rows of erased keys are in no file."""
    index = create(path, how.pop("format"), "wata", how.pop("update"), **how)
    truth = oracle()
    for slot in range(1, 9):
        index.append(table([*rows_of(slot), {"k": 77, "t": slot * 10, "v": "-its secret-"}]))
        truth.append(rows_of(slot), slot)
    index.erase([77])
    check(index, truth)
    index.verify()
    holding = [each.name for each in (path / DATA).iterdir() if b"secret" in each.read_bytes()]
    assert not holding, f"These files hold erased rows: {holding}"


def check_turned_bits(path: Path, **how: Any) -> None:
    """A bit that has turned over anywhere is found by `verify`, or changes no answer."""
    sound, broken = path / "sound", path / "broken"
    index = create(sound, how.pop("format"), "wata", how.pop("update"), shards=1, **how)
    truth = fill(index, (1, 2, 3))
    del index
    for name in sorted(each.name for each in (sound / DATA).iterdir()):
        size = (sound / DATA / name).stat().st_size
        for place in range(0, size, max(1, size // 12)):
            _turn_a_bit(sound, broken, name, place)
            try:
                survivor = WaveIndex.open(broken)
                survivor.verify()
            except Damaged:
                continue
            check(survivor, truth)


def _turn_a_bit(sound: Path, broken: Path, name: str, place: int) -> None:
    shutil.rmtree(broken, ignore_errors=True)
    shutil.copytree(sound, broken)
    content = bytearray((broken / DATA / name).read_bytes())
    content[place] ^= 4
    (broken / DATA / name).write_bytes(content)


def check_crashes(path: Path, scheme: str, disk: str, every: int, **how: Any) -> None:
    """An append that crashes before any of its changes leaves the old window or the new one.

    With `every` of 3 it is crashed before the first of them, the fourth and so on.
    """
    origin, format_, update = path / "origin", how.pop("format"), how.pop("update")
    index = create(origin, format_, scheme, update, shards=1, **how)
    truth = fill(index, range(1, 9))
    old = truth.rows()
    del index
    truth.append(rows_of(9), 9)

    def append(index: WaveIndex) -> None:
        index.append(table(rows_of(9)))

    new, numbers = truth.rows(), EACH[::every]
    changes = crash_everywhere(origin, path / "scratch", DISKS[disk], append, old, new, numbers)
    assert changes > 7, "An append made hardly any change to the disk."
