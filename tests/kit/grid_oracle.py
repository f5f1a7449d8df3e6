"""What a grid must hold, worked out from pairs of births and deaths.

It imports nothing of what it judges. A `Box` takes the printed names of operations for what they
are documented to do, to pairs (b, e): one row of data that was inserted in slot b and expires in
slot e.
"""

from __future__ import annotations

Pair = tuple[int, int]


def pairs_of(births, window):
    """One row of data for each lifetime that a row may have, for each of some births."""
    return {(b, e) for b in births for e in range(b + 1, b + window + 1)}


def live_of(pairs, slot):
    return {(b, e) for b, e in pairs if b <= slot < e}


def placed(state, columns, pairs):
    """The cells in which each pair may be: its births are the row's, its deaths are the cell's."""
    found = {pair: [] for pair in pairs}
    for at, (name, deaths) in enumerate(state.indexes.items()):
        births = list(state.births.values())[at // columns]
        for b, e in pairs:
            if b in births and e in deaths:
                found[b, e].append(name)
    return found


class Box:
    """The pairs in each cell, by what the operations say."""

    def __init__(self):
        self.cells = {}

    def run(self, operations, arriving, slot):
        for operation in operations:
            kind, target = type(operation).__name__, operation.target
            held = self.cells.get(target, set())
            if kind == "Build":
                assert not operation.slots
                self.cells[target] = set()
            elif kind == "Delete":
                self.cells[target] = {pair for pair in held if pair[1] not in operation.slots}
            elif kind == "Examine":
                over = {pair for pair in held if pair[1] in operation.slots and pair[1] <= slot}
                self.cells[target] = held - over
            else:
                assert kind == "Insert"
                taken = {(b, e) for b, e in arriving if b in operation.births}
                self.cells[target] = held | {pair for pair in taken if pair[1] in operation.slots}

    @property
    def pairs(self):
        found = [pair for cell in self.cells.values() for pair in cell]
        assert len(found) == len(set(found)), "a pair is in two cells"
        return set(found)

    def live(self, slot):
        """The cells' pairs that are not over."""
        return {name: live_of(pairs, slot) for name, pairs in self.cells.items()}
