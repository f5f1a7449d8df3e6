"""The methods that there are, by the names that users give. Each is loaded when it is first wanted.

They load Numba, where it is installed, and `import wavedex` must not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from wavedex.errors import BadDefinition
from wavedex.temporal.layout import Layout
from wavedex.temporal.methods.contract import Method


def _pph_s() -> type[Method]:
    from wavedex.temporal.methods.pph_set import PphSet

    return PphSet


def _pph_l() -> type[Method]:
    from wavedex.temporal.methods.pph_list import PphList

    return PphList


def _alh() -> type[Method]:
    from wavedex.temporal.methods.alh_set import AlhSet

    return AlhSet


def _mvbt() -> type[Method]:
    from wavedex.temporal.methods.mvbt_set import Mvbt

    return Mvbt


def _r_interval() -> type[Method]:
    from wavedex.temporal.methods.rstar_set import RInterval

    return RInterval


def _r_point() -> type[Method]:
    from wavedex.temporal.methods.rstar_set import RPoint

    return RPoint


def _snapshot() -> type[Method]:
    from wavedex.temporal.methods.snapshot_set import SnapshotSet

    return SnapshotSet


METHODS = {
    "pph-s": _pph_s,
    "pph-l": _pph_l,
    "alh": _alh,
    "mvbt": _mvbt,
    "r-interval": _r_interval,
    "r-point": _r_point,
    "snapshot": _snapshot,
}
DEFAULT = "pph-s"


def method_class(name: str) -> type[Method]:
    """The method of a name. Raises BadDefinition."""
    if name not in METHODS:
        raise BadDefinition(f"method={name!r} is not known. There are: {', '.join(METHODS)}.")
    return METHODS[name]()


def settings_of(name: str, given: Mapping[str, Any]) -> Any:
    """What was set of a method, completed by its defaults. Raises BadDefinition."""
    _check_known(name, given)
    try:
        return method_class(name).settings(**given)
    except TypeError as error:
        raise BadDefinition(f"{error}. Give numbers where {name!r} takes numbers.") from error


def _check_known(name: str, given: Iterable[str]) -> None:
    known = [each.name for each in fields(method_class(name).settings)]
    unknown = [each for each in given if each not in known]
    if unknown:
        raise BadDefinition(
            f"{unknown[0]!r} is nothing that can be set of method {name!r}. There are: "
            f"{', '.join(known)}."
        )


def parse_settings(name: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """What a person typed of what can be set of a method. Raises BadDefinition.

    >>> parse_settings("pph-s", {"usefulness": "0.5", "buckets": "4", "trees": "disk"})
    {'usefulness': 0.5, 'buckets': 4, 'trees': 'disk'}
    """
    _check_known(name, texts)
    kinds: dict[str, Any] = {
        each.name: type(each.default) for each in fields(method_class(name).settings)
    }
    found: dict[str, Any] = {}
    for each, text in texts.items():
        try:
            found[each] = kinds[each](text)
        except ValueError:
            raise BadDefinition(f"{each}={text!r} is no number, and {name!r} takes one.") from None
    return found


def make_method(name: str, layout: Layout, settings: Any) -> Method:
    """An empty set, kept by a method."""
    return method_class(name)(layout, settings)
