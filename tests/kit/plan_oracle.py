"""What the schemes must hold after each slot, worked out from the slot's number alone.

Imports nothing of the library. Slots are numbered from 1 and Start is slot W, as in the paper.
Nothing here steps from one state to the next: the constituents of DEL and its kin follow from a
slot taking the place of the one W before it, those of the throw-away waves from the sizes of
successive clusters being c1, ..., c(n-1), c1, ... for ever. `replay` performs printed operations on
a plain dictionary.
"""

import re

Sets = dict[str, set[int]]


def split(total: int, parts: int) -> list[int]:
    return [total // parts + (1 if part < total % parts else 0) for part in range(parts)]


def numbered(letter: str, sets: list[set[int]], first: int = 0) -> Sets:
    return {f"{letter}{first + pos}": slots for pos, slots in enumerate(sets)}


def suffixes(slots: list[int], count: int) -> list[set[int]]:
    """The last 0, 1, ..., count - 1 of `slots`."""
    return [set(slots[len(slots) - size :]) for size in range(count)]


def constituents(name: str, window: int, indexes: int, newest: int) -> Sets:
    live = range(newest - window + 1, newest + 1)
    if name in ("wata", "rata"):
        found = {f"I{number}": set() for number in range(1, indexes + 1)}
        for index, begin, size in wave_clusters(window, indexes, newest):
            slots = set(range(begin, min(begin + size, newest + 1)))
            found[index] = slots & set(live) if name == "rata" else slots
        return found
    places = [number + 1 for number, size in enumerate(split(window, indexes)) for _ in range(size)]
    found = {f"I{number}": set() for number in range(1, indexes + 1)}
    for slot in live:
        found[f"I{places[(slot - 1) % window]}"].add(slot)
    return found


def wave_clusters(window: int, indexes: int, newest: int) -> list[tuple[str, int, int]]:
    """Name, first slot and full size of each cluster that has a live slot, the oldest first."""
    sizes, found, begin, number = split(window - 1, indexes - 1), [], 1, 0
    while begin <= newest:
        size = sizes[number % (indexes - 1)]
        if begin + size > newest - window + 1:
            found.append((f"I{number % indexes + 1}", begin, size))
        begin, number = begin + size, number + 1
    return found


def temporaries(name: str, window: int, indexes: int, newest: int, **options: bool) -> Sets:
    if name == "del" and options.get("ahead"):
        oldest = newest - window + 1
        (cluster,) = (
            s for s in constituents(name, window, indexes, newest).values() if oldest in s
        )
        return {"T0": cluster - {oldest}}
    if name in ("reindex+", "reindex++"):
        return reindex_temporaries(name, window, indexes, newest, bool(options.get("spread")))
    if name == "rata":
        return rata_temporaries(window, indexes, newest, bool(options.get("spread")))
    return {}


def reindex_temporaries(name: str, window: int, indexes: int, newest: int, spread: bool) -> Sets:
    sizes = split(window, indexes)
    place, number = (newest - 1) % window, 0
    while place >= sizes[number]:
        place -= sizes[number]
        number += 1
    size, filled = sizes[number], place + 1
    new = set(range(newest - filled + 1, newest + 1))
    if name == "reindex+":
        return {"Temp": new} if filled < size else {}
    old = list(range(newest - window + 1, newest - window + 1 + size - filled))
    following = sizes[(number + 1) % indexes]
    begin = newest - window + 1 + len(old)
    coming = list(range(begin, begin + following))
    if not old:
        return numbered("T", suffixes(coming, following))
    rungs = suffixes(old, len(old))
    if not spread:
        rungs[-1] |= new
        return numbered("T", rungs)
    if indexes == 1:
        ahead = [set(range(start, newest + 1)) for start in range(begin + 1, newest + 1)]
    else:
        ahead = suffixes(coming, following)[1 : filled + 1]
    return numbered("T", [rung | new for rung in rungs]) | numbered("U", ahead)


def rata_temporaries(window: int, indexes: int, newest: int, spread: bool) -> Sets:
    clusters = wave_clusters(window, indexes, newest)
    (_, begin, size), (_, coming, following) = clusters[:2]
    old = list(range(max(begin, newest - window + 1), begin + size))
    rungs = numbered("T", suffixes(old, len(old))[1:])
    if not spread:
        return rungs
    if indexes == 2:
        ahead = [set(range(start, newest + 1)) for start in range(coming + 1, newest + 1)]
        return rungs | numbered("U", ahead)
    waited = size - len(old) + (1 if size == 1 else 0)
    slots = list(range(coming, coming + following))
    return rungs | numbered("U", suffixes(slots, following)[1 : waited + 1])


def named_slots(text: str) -> set[int]:
    return {int(slot) for slot in re.findall(r"-?\d+", re.search(r"\{(.*)\}", text).group(1))}


def replay(layout: Sets, texts: list[str]) -> Sets:
    """Perform printed operations, each checked to make sense."""
    held = {name: set(slots) for name, slots in layout.items()}
    for text in texts:
        if found := re.fullmatch(r"build\(\{[-\d, ]*\}\) -> (\w+)", text):
            held[found[1]] = named_slots(text)
        elif found := re.fullmatch(r"(add|delete)\(\{[-\d, ]*\}, (\w+)\)", text):
            slots, target = named_slots(text), held[found[2]]
            assert slots, text
            assert not slots & target if found[1] == "add" else slots <= target, text
            held[found[2]] = target ^ slots
        elif found := re.fullmatch(r"copy\((\w+), (\w+)\)", text):
            held[found[2]] = set(held[found[1]])
        elif found := re.fullmatch(r"rename\((\w+), (\w+)\)", text):
            held[found[2]] = held.pop(found[1])
        elif found := re.fullmatch(r"drop\((\w+)\)", text):
            del held[found[1]]
        else:
            raise AssertionError(f"not an operation: {text}")
    return held


def thriftiest_length(window: int, indexes: int) -> int:
    """The least maximum length of any algorithm of Appendix B's family F, by exhaustive search.

    A state is what each index holds: the ages of its live days and the number of its expired ones.
    Each day every algorithm may add the new day to any index; an index without a live day is
    dropped at once, which never makes things worse. A length is enough if some split of the first W
    days can be carried on for ever within it.
    """
    length = window
    while not _can_last(window, indexes, length):
        length += 1
    return length


def _can_last(window: int, indexes: int, length: int) -> bool:
    starts = {_canonical([(b, 0) for b in blocks]) for blocks in _splits(window, indexes)}
    edges: dict[tuple, set[tuple]] = {}
    todo = list(starts)
    while todo:
        state = todo.pop()
        if state not in edges:
            edges[state] = set(_next_states(state, window, length))
            todo += edges[state]
    # Strike out the states that lead nowhere, until none is left that does.
    before: dict[tuple, list[tuple]] = {state: [] for state in edges}
    for state, following in edges.items():
        for after in following:
            before[after].append(state)
    degree = {state: len(following) for state, following in edges.items()}
    dead = [state for state, count in degree.items() if count == 0]
    struck = set(dead)
    while dead:
        for state in before[dead.pop()]:
            degree[state] -= 1
            if degree[state] == 0:
                dead.append(state)
                struck.add(state)
    return bool(starts - struck)


def _splits(window: int, indexes: int) -> list[list[tuple[int, ...]]]:
    """All ways to put the ages 0 to W - 1 into n indexes, some of which may stay empty."""
    found: list[list[tuple[int, ...]]] = [[]]
    for age in range(window):
        grown = []
        for blocks in found:
            for pos in range(len(blocks)):
                grown.append([(*b, age) if p == pos else b for p, b in enumerate(blocks)])
            if len(blocks) < indexes:
                grown.append([*blocks, (age,)])
        found = grown
    return [[*blocks, *[()] * (indexes - len(blocks))] for blocks in found]


def _canonical(state: list[tuple[tuple[int, ...], int]]) -> tuple:
    return tuple(sorted((tuple(sorted(ages)), wasted) for ages, wasted in state))


def _next_states(state: tuple, window: int, length: int) -> list[tuple]:
    aged = []
    for ages, wasted in state:
        live = tuple(age + 1 for age in ages if age + 1 < window)
        aged.append((live, wasted + len(ages) - len(live)) if live else ((), 0))
    if window + sum(wasted for _, wasted in aged) > length:
        return []
    return [
        _canonical([(((0, *a), w) if p == pos else (a, w)) for p, (a, w) in enumerate(aged)])
        for pos in range(len(aged))
    ]
