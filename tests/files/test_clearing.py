"""What was staged is removed where no commit names it, unless one that does may still appear."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from kit.remote_places import Place, place_of
from kit.remote_rows import answers, filled, oracle_of, rows_of, table
from wavedex.errors import CommitUncertain, SlotConflict
from wavedex.index.core.staged import Staged, clearing, gather, stage
from wavedex.index.wave.append import append
from wavedex.testing.oracle import same_rows

STEM = "data/0000000099-57a6ed-1"


@pytest.fixture(params=["local", "subtree"])
def either(request, tmp_path) -> Place:
    """A place with a lock, and one without."""
    return place_of(request, tmp_path, request.param)


@pytest.fixture
def index(either):
    return filled(either, either.new(), 1, 2, update="runs", shards=1)


def stage_rows(index) -> Staged:
    return stage(index.storage, index.definition, table(rows_of(3)), None, STEM)


def staged_names(index) -> list[str]:
    return [name for name in index.storage.names_in("data") if name.startswith(STEM)]


def clear_after(index, error: BaseException | None) -> None:
    """Stage rows that no commit comes to name.

    Let something be raised, or nothing, before that is known.
    """
    with clearing(index.storage, lambda: staged_names(index), index.manifest.commit + 1):
        stage_rows(index)
        assert staged_names(index)
        if error is not None:
            raise error


@pytest.mark.parametrize("error", [SlotConflict("It was refused."), ValueError(), None])
def test_what_nobody_will_name_is_removed(index, error):
    with nullcontext() if error is None else pytest.raises(type(error)):
        clear_after(index, error)
    assert not staged_names(index)
    index.verify()


def test_what_an_uncertain_commit_may_name_stays(index):
    with pytest.raises(CommitUncertain):
        clear_after(index, CommitUncertain("Nobody knows."))
    assert staged_names(index)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_leaves_what_was_staged_only_where_there_is_no_lock(index, interrupt):
    """Without one, the commit may be on its way to the store.

    It may arrive after anybody has looked for it.
    """
    with pytest.raises(interrupt):
        clear_after(index, interrupt())
    assert bool(staged_names(index)) is not index.storage.is_local


@pytest.mark.parametrize("error", [None, ValueError(), KeyboardInterrupt(), CommitUncertain("?")])
def test_what_a_commit_names_stays_whatever_is_raised_after_it(index, error):
    def bring(manifest):
        return nullcontext(gather(index.definition, [stage_rows(index)]))

    before = index.manifest.commit
    with nullcontext() if error is None else pytest.raises(type(error)):  # noqa: SIM117
        with clearing(index.storage, lambda: staged_names(index), before + 1):
            append(index.writer, bring, None)
            if error is not None:
                raise error
    index.verify()
    assert same_rows(answers(index), oracle_of(1, 2, 3).rows())
