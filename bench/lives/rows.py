"""Rows of about a thousand bytes that live differently long, and the right answers.

They are made slot by slot. One row is born at every instant, the papers' time unit, so a row is
known by its birth. Its key is drawn evenly, its lifetime evenly from one instant up to the window.
Its text is a function of its birth, so that answers can be compared letter by letter though no text
is kept. The answers come from NumPy and know nothing of an index.

In the counted form a row lives as long by positions: one that is to end at an instant has the
position that leaves a window of so many rows then, so that counted methods keep the same rows as
the others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.measure import expect

I64 = npt.NDArray[np.int64]

TEXT_BYTES = 976
"""With three numbers of eight bytes it makes a row of a thousand."""
LETTERS_BYTES = 1_000_003
"""Texts are cut from so many letters, a prime number.

Texts of two births are the same only if these are so far apart.
"""
STEP = 7_919
SUMMED_ROWS = 10_000
SCHEMA = pa.schema(
    [("key", pa.int64()), ("born", pa.int64()), ("until", pa.int64()), ("text", pa.string())]
)
POSITION = "position"
COUNTED_SCHEMA = SCHEMA.append(pa.field(POSITION, pa.int64()))


class Lives:
    """Rows of slots 1, 2, ... of `width` instants each, with lifetimes of up to `slots` of them."""

    def __init__(self, keys: int, slots: int, width: int, seed: int, counted: bool = False) -> None:
        self.slots, self.width, self.counted = slots, width, counted
        self._keys, self._seed = keys, seed
        random = np.random.default_rng([seed, 0])
        letters = random.integers(ord("a"), ord("z") + 1, LETTERS_BYTES + TEXT_BYTES, np.uint8)
        self._texts = np.lib.stride_tricks.sliding_window_view(letters, TEXT_BYTES)
        self._made: list[tuple[I64, I64, I64]] = []

    @property
    def window(self) -> int:
        """The bound on lifetimes, in instants."""
        return self.slots * self.width

    @property
    def bytes_a_row(self) -> int:
        return TEXT_BYTES + 8 * (len(self.schema) - 1)

    @property
    def schema(self) -> pa.Schema:
        return COUNTED_SCHEMA if self.counted else SCHEMA

    def slot(self, number: int) -> pa.Table:
        """Make the rows of a slot, and note the answers that they add to.

        REQUIRES: slots are made in order, from 1.
        """
        assert number == len(self._made) + 1
        random = np.random.default_rng([self._seed, 1, number])
        born = np.arange((number - 1) * self.width, number * self.width) + 1
        keys = random.integers(0, self._keys, self.width)
        until = born + random.integers(1, self.window + 1, self.width)
        self._made.append((keys, born, until))
        return self._table(keys, born, until)

    def live(self, now: int) -> tuple[I64, I64, I64]:
        """Keys, births and ends of the rows that live at an instant."""
        keys, born, until = (np.concatenate(column) for column in zip(*self._made, strict=True))
        lives = (born <= now) & (until > now)
        return keys[lives], born[lives], until[lives]

    def answers(self, now: int) -> LiveAnswers:
        return LiveAnswers(self, *self.live(now))

    def draw(self, count: int, number: int) -> list[int]:
        """Keys to probe for."""
        random = np.random.default_rng([self._seed, 2, number])
        return random.integers(0, self._keys, count).tolist()

    def texts(self, born: I64) -> npt.NDArray[np.uint8]:
        """The text of each birth, a row of letters each."""
        return self._texts[born * STEP % LETTERS_BYTES]

    def _table(self, keys: I64, born: I64, until: I64) -> pa.Table:
        letters = np.ascontiguousarray(self.texts(born)).reshape(-1)
        offsets = np.arange(len(born) + 1, dtype=np.int64) * TEXT_BYTES
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
        text = pa.Array.from_buffers(pa.large_string(), len(born), buffers)
        columns = [keys, born, until, text.cast(pa.string())]
        if self.counted:
            columns.append(until - self.window)
        return pa.table(columns, schema=self.schema)


class LiveAnswers:
    """What the right answers are at one instant."""

    def __init__(self, lives: Lives, keys: I64, born: I64, until: I64) -> None:
        self._lives = lives
        order = np.argsort(keys, kind="stable")
        self.keys, self.born, self.until = keys[order], born[order], until[order]

    def counts(self, keys: list[int]) -> list[int]:
        """How many rows each key has."""
        found = np.searchsorted(self.keys, keys, "right") - np.searchsorted(self.keys, keys)
        return found.tolist()

    def check_key(self, key: int, found: pa.Table) -> None:
        """Compare the rows of one key one by one. Raises WrongAnswer."""
        start, stop = np.searchsorted(self.keys, [key, key + 1]).tolist()
        right = self._lives._table(
            self.keys[start:stop], self.born[start:stop], self.until[start:stop]
        )
        expect(found.sort_by("born").equals(right), "probe")

    @property
    def sums(self) -> tuple[int, int, int]:
        """What reading every byte comes to: see `read_all`."""
        letters = 0
        for start in range(0, len(self.born), SUMMED_ROWS):
            words = self._lives.texts(self.born[start : start + SUMMED_ROWS]).view(np.uint64)
            letters += int(words.sum(dtype=np.uint64))
        return len(self.born), int(self.born.sum() + self.until.sum()), letters % 2**64


def read_all(batches: pa.RecordBatchReader) -> tuple[int, int, int]:
    """Read every byte of a scan.

    Gives the number of rows, the sum of births and ends, and that of the letters in words of eight.
    """
    rows, times, letters = 0, 0, 0
    for batch in batches:
        if not batch.num_rows:
            continue
        rows += batch.num_rows
        times += sum(int(batch[name].to_numpy().sum()) for name in ("born", "until"))
        text = batch["text"]
        offsets = np.frombuffer(text.buffers()[1], np.int32)[text.offset :]
        size = int(offsets[batch.num_rows] - offsets[0])
        words = np.frombuffer(text.buffers()[2], np.uint64, size // 8, int(offsets[0]))
        letters += int(words.sum(dtype=np.uint64))
    return rows, times, letters % 2**64
