"""Rows may arrive as parts that were written already, shard by shard.

The answers are those of rows in memory.
"""

from __future__ import annotations

import itertools
import json
from contextlib import nullcontext
from dataclasses import replace

import pyarrow as pa
import pytest

import wavedex as wx
from kit.ways import WAYS
from wavedex.engine.techniques import TECHNIQUES
from wavedex.index.core.staged import Staged, gather, stage
from wavedex.index.wave.append import append
from wavedex.testing.oracle import same_rows

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])


def rows(*slots: int) -> pa.Table:
    found = [{"k": n, "t": s * 10 + n, "v": f"{s}-{n}"} for s in slots for n in range(7)]
    return pa.Table.from_pylist(found, SCHEMA)


def bring(index: wx.WaveIndex, table: pa.Table, attempt: str):
    """Stage the rows as two tasks elsewhere would, each of which has rows of every shard."""
    middle = table.num_rows // 2
    tables = [table.slice(0, middle), table.slice(middle)]
    sent = [
        stage(index._files, index.definition, rows, None, f"data/{attempt}-57a6ed-{task}")
        for task, rows in enumerate(tables)
    ]
    received = [Staged.from_json(json.loads(json.dumps(message.to_json()))) for message in sent]
    return lambda manifest: nullcontext(gather(index.definition, received))


@pytest.mark.slow
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
        brought = bring(staged, rows(*slots), f"{slots[0]:010d}")
        done = append(staged._writer, brought, None)
        assert replace(done, commit=0) == replace(plain.append(rows(*slots)), commit=0)
        staged.verify()
        expected = plain.scan().read_all().to_pylist()
        assert same_rows(staged.scan().read_all().to_pylist(), expected)
        assert same_rows(staged.probe(3).to_pylist(), plain.probe(3).to_pylist())
        assert staged.sub_indexes == plain.sub_indexes
