"""Which temporaries stand ready while a cluster expires? A ladder (Sections 4.2 and 4.3).

REINDEX++ and RATA* replace a constituent, once a slot, by a temporary that lacks its oldest slot.
Over the slots c, b, a of a cluster, newest first, the rungs are {c}, {b, c}, {a, b, c}, each a copy
of the one below plus one older slot (`Initialize` in Figures 15 and 17). They are made in one of
two ways:

- all at once, when the ladder before them is used up (`hand_over` with nothing grown ahead), as the
  figures have it;
- one rung a slot (`grow_next`), under names U0, U1, ..., while the cluster before still expires;
  `hand_over` then only renames. Where the cluster is itself still being filled (the only other one
  is the one that expires), its rungs are fed from below: the new slot is added to each and begins
  another.

A rung is named by a letter and a number; the letter T is for the ladder in use. Nothing here knows
what the scheme does with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from wavedex.plan.operations import Add, Build, Copy, Operation, Rename
from wavedex.plan.state import WaveState


def rungs(state: WaveState, letter: str) -> list[str]:
    """Return the names of the rungs of ladder `letter`, by number."""
    return [name for name in state.temps if name.startswith(letter)]


def rung_slots(rungs: int) -> int:
    """Return how many slots are handled to raise this many rungs, at once or one by one."""
    return rungs * (rungs + 1) // 2


def hand_over(state: WaveState, begin: int, first: int) -> list[Operation]:
    """Plan the ladder T for the cluster whose oldest slot is `begin`.

    Its smallest rung gets the number `first`. Where rungs were grown ahead, the last one is added
    and all are renamed; else all are built.

    REQUIRES: no rung named T is left.
    ENSURES: a ladder that grew a rung a slot lacks at most one, since the sizes of clusters differ
    by at most one.
    """
    slots = _slots_after(state, begin)
    names = [f"T{first + pos}" for pos in range(len(slots))]
    if not rungs(state, "U"):
        return _climb(slots, names, 0)
    growth = grow_next(state, begin)
    grown = state.after(state.newest, growth)
    by_size = sorted(rungs(grown, "U"), key=lambda name: len(grown.temps[name]))
    return [*growth, *(Rename(old, new) for old, new in zip(by_size, names, strict=True))]


def grow_next(state: WaveState, begin: int) -> list[Operation]:
    """Plan one more rung for the cluster whose oldest slot is `begin`: the next to expire.

    ENSURES: names at most one slot beside the newest.
    """
    slots = _slots_after(state, begin)
    grown = rungs(state, "U")
    names = [*grown, f"U{len(grown)}"]
    if state.newest in slots:  # the cluster is still being filled
        new = frozenset({state.newest})
        return [*(Add(new, name) for name in grown), Build(new, names[-1])]
    return _climb(slots[: len(names)], names, len(grown))


def _slots_after(state: WaveState, begin: int) -> list[int]:
    """Return the slots of a cluster but its oldest, `begin`, the newest first."""
    cluster = state.indexes[state.holder(begin)]
    return sorted((slot for slot in cluster if slot > begin), reverse=True)


def _climb(slots: Sequence[int], names: Sequence[str], done: int) -> list[Operation]:
    """Plan the rungs from number `done` on; rung number i holds the first i + 1 of `slots`."""
    plan: list[Operation] = []
    for pos in range(done, len(slots)):
        slot = frozenset({slots[pos]})
        if pos == 0:
            plan.append(Build(slot, names[0]))
        else:
            plan += [Copy(names[pos - 1], names[pos]), Add(slot, names[pos])]
    return plan
