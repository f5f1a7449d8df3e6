"""Carries out one shard's share of a change.

This is the function that every engine calls, on a thread or in a Spark task.
It reads the shard's present parts and the arriving rows that hash to it, writes new files under
names of its own, and returns what each sub-index is then made of.
It commits nothing and removes nothing, so running it twice, or killing it half-way, does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from wavedex.crew import run_together
from wavedex.engine.draft import Draft
from wavedex.engine.homes import settled_homes
from wavedex.engine.removal import erase_rows, hide_rows
from wavedex.engine.task import Settled, ShardTask
from wavedex.engine.workbench import Role, Workbench
from wavedex.engine.workshop import Workshop
from wavedex.engine.write_behind import synced_behind
from wavedex.log.manifest import OPEN
from wavedex.store.part import Part


def run_shard(workshop: Workshop, task: ShardTask) -> Settled:
    """Carry out one shard's share, and make its files last."""
    written: dict[str, int] = {}
    with synced_behind(workshop.files, written) as files:
        parts = _run(replace(workshop, files=files), task)
    return Settled(parts, written)


def needs_writing(workshop: Workshop, task: ShardTask) -> bool:
    """Whether a share writes anything, or only names what is there. Opens no file."""
    incoming = task.incoming
    if incoming.rows.num_rows or incoming.keys is not None or incoming.hidden or incoming.is_read:
        return True
    bench = Workbench.of(workshop, task)
    return any(
        workshop.technique.writes(draft, _for(bench, name, task))
        for name, draft in task.drafts.items()
    )


def _run(workshop: Workshop, task: ShardTask) -> dict[str, tuple[Part, ...]]:
    bench = Workbench.of(workshop, task)
    if task.incoming.hidden:
        task = hide_rows(task, bench)
        bench = replace(Workbench.of(workshop, task), stems=bench.stems)
    drafts = erase_rows(task.drafts, task.incoming, bench)
    if task.incoming.is_read:
        drafts = {name: draft.narrowed(bench.arriving) for name, draft in drafts.items()}
    return _settle(drafts, task, bench)


def _settle(
    drafts: Mapping[str, Draft], task: ShardTask, bench: Workbench
) -> dict[str, tuple[Part, ...]]:
    """The parts of every draft: disk by disk at the same time, where there are several."""
    by_home = settled_homes(task.homes, {name: draft.parts for name, draft in drafts.items()})
    technique = bench.workshop.technique

    def settle(home: str) -> dict[str, tuple[Part, ...]]:
        here = replace(bench, home=home, written={})
        return {
            name: technique.settle(drafts[name], _for(here, name, task)) for name in by_home[home]
        }

    settled = run_together([partial(settle, home) for home in by_home], len(by_home))
    return {name: parts for each in settled for name, parts in each.items()}


def _for(bench: Workbench, name: str, task: ShardTask) -> Workbench:
    """The bench for one name: what is written there serves all."""
    is_draining = name in task.draining
    role = Role.DRAINING if is_draining else Role.DELTA if name == OPEN else Role.CONSTITUENT
    return replace(bench, role=role)
