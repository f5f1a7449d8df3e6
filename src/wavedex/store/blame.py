"""An answer failed: whether that is the fault of the files.

Damaged bytes make Arrow and NumPy fail in any way, and so do mistakes. If an answer of a shard
raises an error that has no name of ours, the files of its part are checked. If they are not what
was written, the error becomes Damaged, which says what is wrong with which file. If they are, the
error is raised as it came: neither a user's mistake nor one of ours is ever taken for damage.
Nothing is read for this unless an answer has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar, cast

from wavedex.errors import Damaged, WavedexError

if TYPE_CHECKING:
    from wavedex.store.shard import Shard

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


def blame(shard: Shard, error: Exception) -> Exception:
    """What to raise where an answer failed.

    COST: if the error has no name of ours, all bytes of the part are read.
    """
    if isinstance(error, WavedexError | FileNotFoundError):
        return error
    try:
        findings = shard.source_findings()
    except FileNotFoundError:  # The part was vacuumed meanwhile: nobody can tell any more.
        return error
    return Damaged(findings) if findings else error


def raise_blamed(shard: Shard, error: Exception) -> NoReturn:
    """Raise what an answer of a shard failed with, by its right name."""
    found = blame(shard, error)
    raise found from (error if found is not error else error.__cause__)


def _guard(method: Callable[P, T]) -> Callable[P, T]:
    @wraps(method)
    def answer(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except Exception as error:
            raise_blamed(cast("Shard", args[0]), error)

    return answer


def _guard_stream(
    method: Callable[P, Generator[T, None, R]],
) -> Callable[P, Generator[T, None, R]]:
    @wraps(method)
    def answer(*args: P.args, **kwargs: P.kwargs) -> Generator[T, None, R]:
        try:
            return (yield from method(*args, **kwargs))
        except Exception as error:
            raise_blamed(cast("Shard", args[0]), error)

    return answer


GUARDS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("probe_many", "probe_range", "scan", "piece", "words_of"), _guard),
    **dict.fromkeys(("stream", "seek"), _guard_stream),
}
"""What is put around the answers of every shard, by their names.

Whoever probes for one key sees to it itself, to save the call.
"""


def unguarded(method: Callable[P, T]) -> Callable[P, T]:
    """An answer as its store gives it."""
    bound = cast(MethodType, method)
    return partial(bound.__func__.__wrapped__, bound.__self__)  # type: ignore[attr-defined]
