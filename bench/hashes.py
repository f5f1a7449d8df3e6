"""What does it take to hash a column of texts?

Beside a loop over the package `xxhash`, whose answers are the measure.
`python -m bench.hashes [--quick]`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from bench.command import options, publish, table
from bench.measure import expect
from bench.report import circumstances
from wavedex.rows.hashes import SEED
from wavedex.rows.keys import hash_strings

Result = dict[str, Any]
LENGTHS = (14, 119)
REPEATS = 7


def make_texts(rows: int, seed: int) -> pa.Array:
    """Texts of lengths that are spread evenly, of random letters."""
    random = np.random.default_rng(seed)
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(random.integers(LENGTHS[0], LENGTHS[1] + 1, rows), out=offsets[1:])
    letters = random.integers(97, 123, int(offsets[-1]), np.uint8)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(letters))


def timed(hashed: Callable[[], object]) -> float:
    begun = time.perf_counter()
    hashed()
    return time.perf_counter() - begun


def run(settings: Result) -> Result:
    """Hash the same texts both ways, in turns."""
    texts = make_texts(settings["rows"], settings["seed"])
    values = [text.encode() for text in texts.to_pylist()]

    def loop() -> npt.NDArray[np.uint64]:
        return np.array([xxhash.xxh64_intdigest(value, SEED) for value in values], np.uint64)

    expect(np.array_equal(hash_strings(texts), loop()), "the hashes are those of the package")
    pairs = [(timed(lambda: hash_strings(texts)), timed(loop)) for _ in range(REPEATS)]
    column_s, loop_s = (median(each) for each in zip(*pairs, strict=True))
    return {**circumstances(settings), "column_s": column_s, "loop_s": loop_s}


def markdown(report: Result) -> str:
    """The results as a table."""
    rows = [
        ["the column at once", f"{report['column_s'] * 1e3:.0f}"],
        ["one by one with `xxhash`", f"{report['loop_s'] * 1e3:.0f}"],
    ]
    return table([f"hash of {report['settings']['rows']:,} texts", "ms"], rows)


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("hashes", __doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="how many texts (1,000,000)")
    parser.add_argument("--seed", type=int, default=17)
    chosen = parser.parse_args(arguments)
    chosen.rows = chosen.rows or (20_000 if chosen.quick else 1_000_000)
    report = run({name: getattr(chosen, name) for name in ("rows", "seed")})
    publish(report, "hashes", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
