"""Texts as numbers in their order: each has a label between those of its neighbours.

A new text gets a label half-way between the texts before and after it. Where there is no room left
between two, all get new labels, evenly spread, and whoever holds labels is told. A text that is in
no index any more is forgotten.

COST: a distinct text of a batch costs a look into a dictionary; a new one a place in a sorted list
besides.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import SchemaMismatch
from wavedex.online.values import I64, Bools, Rekey, Values
from wavedex.rows.arrow import from_values, to_arrow

STEP = 1 << 32
"""How far apart labels lie at first. Between two, 32 texts find a place even if they come in the
worst order; at the end, 2**30 do."""
_LEAST, _MOST = -(2**62), 2**62


class Words(Values):
    """The texts that are in the indexes of one attribute."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self._plain = kind.value_type if pt.is_dictionary(kind) else kind
        self._words: list[Any] = []
        self._labels: list[int] = []
        self._label_of: dict[Any, int] = {}
        self._word_of: dict[int, Any] = {}
        self._watchers: list[Rekey] = []

    has_checks: ClassVar[bool] = True

    def check(self, column: pa.Array) -> None:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise SchemaMismatch(
                f"A column of type {self.kind} has what is no text: {error}. Declare it as binary, "
                "or decode it before."
            ) from error

    def encode(self, column: pa.Array) -> tuple[I64, Bools | None]:
        if pt.is_dictionary(column.type) and column.dictionary.null_count:
            column = column.dictionary_decode()
        return super().encode(column)

    def _encode(self, column: pa.Array) -> I64:
        return self._labelled(column, self._label)

    def _asked(self, column: pa.Array) -> I64:
        known = [self._label_of[word] for word in column.to_pylist() if word in self._label_of]
        return np.array(known, np.int64)

    def _decode(self, keys: I64) -> pa.Array:
        distinct, places = np.unique(keys, return_inverse=True)
        words = from_values([self._word_of[key] for key in distinct.tolist()], self._plain)
        found = words.take(to_arrow(places))
        return found if found.type == self.kind else found.cast(self.kind)

    def bound(self, value: object, *, after: bool) -> int:
        word = self.as_asked([value])[0].as_py()
        place = bisect_left(self._words, word)
        if place < len(self._words) and self._words[place] == word:
            return self._labels[place]
        if after:
            return self._labels[place - 1] if place else _LEAST - 1
        return self._labels[place] if place < len(self._words) else _MOST + 1

    def known(self) -> I64:
        return np.array(self._labels, np.int64)

    def forget(self, keys: I64) -> None:
        for key in keys.tolist():
            word = self._word_of.pop(key)
            del self._label_of[word]
            place = bisect_left(self._words, word)
            del self._words[place], self._labels[place]

    def watch(self, rekey: Rekey) -> None:
        self._watchers.append(rekey)

    def _labelled(self, column: pa.Array, label: Any) -> I64:
        coded = column if pt.is_dictionary(column.type) else column.dictionary_encode()
        used = coded.dictionary.to_pylist()
        indices = np.asarray(coded.indices.cast(pa.int64()).to_numpy())
        if pt.is_dictionary(column.type):
            # A dictionary may have words that no row has.
            present = np.unique(indices)
            for place in present.tolist():
                label(used[place])
            return np.array([self._label_of.get(word, 0) for word in used], np.int64)[indices]
        # First all: a new one may give other labels to those before.
        for word in used:
            label(word)
        return np.array([self._label_of[word] for word in used], np.int64)[indices]

    def _label(self, word: Any) -> None:
        """See that a text has a label."""
        if word in self._label_of:
            return
        place = bisect_left(self._words, word)
        label = self._between(place)
        if label is None:
            self._spread()
            label = self._between(place)
            assert label is not None
        self._words.insert(place, word)
        self._labels.insert(place, label)
        self._label_of[word] = label
        self._word_of[label] = word

    def _between(self, place: int) -> int | None:
        """A label for a text at a place among the others; None where there is no room."""
        labels: Sequence[int] = self._labels
        if not labels:
            return 0
        if place == len(labels):
            label = labels[-1] + STEP
            return label if label <= _MOST else None
        if place == 0:
            label = labels[0] - STEP
            return label if label >= _LEAST else None
        label = (labels[place - 1] + labels[place]) // 2
        return label if label != labels[place - 1] else None

    def _spread(self) -> None:
        """Give all texts new labels, and say so."""
        old, count = self._labels, len(self._labels)
        self._labels = [(place - count // 2) * STEP for place in range(count)]
        self._label_of = dict(zip(self._words, self._labels, strict=True))
        self._word_of = dict(zip(self._labels, self._words, strict=True))
        for tell in self._watchers:
            tell(np.array(old, np.int64), np.array(self._labels, np.int64))
