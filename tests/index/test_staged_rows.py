"""Rows may arrive as parts that were written already, shard by shard: the answers are those of rows in memory."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from ways import WAYS

import wavedex as wx
from wavedex.engine.technique import TECHNIQUES
from wavedex.index.arriving import Arriving, arrive
from wavedex.store.arrow import empty_batch
from wavedex.testing.oracle import same_rows

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])


def rows(*slots: int) -> pa.Table:
    found = [{"k": n, "t": s * 10 + n, "v": f"{s}-{n}"} for s in slots for n in range(7)]
    return pa.Table.from_pylist(found, SCHEMA)


def stage(index: wx.WaveIndex, arriving: Arriving) -> Arriving:
    """Write the rows as one part a shard, as tasks elsewhere would."""
    batches = index._writer._engine._split(arriving.batch)
    parts = [
        index.definition.build(
            index._files,
            index.definition.spec,
            f"data/{max(arriving.summary):010d}-57a6ed-{shard}",
            batch,
            frozenset(row["t"] // 10 for row in batch.to_pylist()),
        )
        for shard, batch in enumerate(batches)
    ]
    nothing = empty_batch(index.definition.spec.schema)
    staged = tuple((part,) for part in parts)
    return replace(arriving, batch=nothing, slots=np.zeros(0, np.int64), staged=staged)


@pytest.mark.parametrize(
    ("way", "scheme"),
    [
        *itertools.product(TECHNIQUES, ["wata", "rata", "reindex+", "del"]),
        ("runs in parquet", "rata"),
        ("packed-shadow in parquet", "del"),
    ],
)
def test_staged_rows_give_the_answers_of_rows_in_memory(tmp_path, scheme, way):
    def create(name: str) -> wx.WaveIndex:
        return wx.WaveIndex.create(
            tmp_path / name, SCHEMA, key="k", time="t", slot=10, window=5, indexes=2,
            scheme=scheme, **WAYS[way],
        )  # fmt: skip

    staged, plain = create("staged"), create("plain")
    for slots in [(1,), (2,), (3, 4, 5), (6,), (7,), (8, 10), (11,), (12,)]:
        arriving = arrive(rows(*slots), staged.definition, None)
        done = staged._append(stage(staged, arriving), None)
        assert replace(done, commit=0) == replace(plain.append(rows(*slots)), commit=0)
        staged.verify()
        expected = plain.scan().read_all().to_pylist()
        assert same_rows(staged.scan().read_all().to_pylist(), expected)
        assert same_rows(staged.probe(3).to_pylist(), plain.probe(3).to_pylist())
        assert staged.sub_indexes == plain.sub_indexes
