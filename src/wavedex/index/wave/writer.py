"""What slots that arrive mean to a wave index: the plan that its scheme makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wavedex.files.names import ledger_stem
from wavedex.index.core.writer import Writer, add_counts
from wavedex.index.wave.definition import WaveDefinition, state_of
from wavedex.log.ledger import Ledger
from wavedex.log.manifest import OPEN, Manifest
from wavedex.plan import Delete, Drop, Plan, WaveState, plan_fold, without
from wavedex.plan.slot_set import slots_of


class WaveWriter(Writer[WaveDefinition]):
    """A writer that plans for new slots."""

    def plan(
        self, manifest: Manifest, slots: Sequence[int], arrived: Mapping[int, int]
    ) -> tuple[Plan, WaveState]:
        """The plan for new slots, with which those of the delta that they pass are sealed.

        `arrived` are the rows that come for them now, beside those that the delta has already.
        """
        waiting = {slot: manifest.ledger.total(slots_of([slot])) for slot in manifest.open_slots}
        plan, state = self.plan_slots(state_of(manifest), slots, add_counts(waiting, arrived))
        sealed = frozenset(slot for slot in manifest.open_slots if slot <= state.newest)
        taken = [Delete(sealed, OPEN)] if sealed else []
        away = manifest.away
        transition = (*without(plan.transition, away), *taken)
        return Plan(transition, without(plan.preparation, away)), state

    def _noted(self, following: Manifest, ledger: Ledger, token: str) -> Ledger:
        """The lines of the slots that are in a sub-index."""
        held = following.held_slots
        state = state_of(following)
        if state is not None:
            oldest = state.newest - self.definition.window + 1
            live = {slot: each for slot, each in ledger.delivered.items() if slot >= oldest}
            ledger = replace(ledger, delivered=live)
        stem = ledger_stem(following.commit, token)
        return ledger.kept(held).spilled(self._files, stem, held)

    def grown(self, manifest: Manifest, arrived: Mapping[int, int]) -> WaveState | None:
        """The state once more rows have come for slots of the window.

        Rows of open slots are weighed when those are sealed.
        """
        state = state_of(manifest)
        if state is None or not self.definition.scheme.weighs:
            return state
        weighed = {slot for slot in arrived if slot <= state.newest} - manifest.away
        return state.grown({slot: arrived[slot] for slot in weighed})

    def plan_slots(
        self, state: WaveState | None, slots: Sequence[int], sizes: Mapping[int, int]
    ) -> tuple[Plan, WaveState]:
        """Start for a full window on an empty index, a fold of transitions otherwise."""
        scheme, window = self.definition.scheme, self.definition.window
        if state is not None and slots[0] - state.newest - 1 < window:
            return plan_fold(scheme, state, range(state.newest + 1, slots[-1] + 1), sizes)
        gone = [Drop(name) for name in (state.temps if state is not None else ())]
        if slots[-1] - slots[0] + 1 >= window and not scheme.weighs:
            start, last = scheme.start(slots[-1])
            return Plan((*gone, *start.transition), start.preparation), last
        start, empty = scheme.start(slots[0] - 1)
        fold, last = plan_fold(scheme, empty, range(slots[0], slots[-1] + 1), sizes)
        first = (*gone, *start.transition, *start.preparation, *fold.transition)
        return Plan(first, fold.preparation), last
