"""Partial results, one a basic window, which the next answers are merged of (003, Section 4.2).

The newest basic window is looked at once, when it is complete; what leaves is dropped. Nothing is
subtracted, so nothing drifts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from wavedex.online.contents import BasicWindow, Slide

if TYPE_CHECKING:
    from wavedex.online.window import Window


class Partials:
    """The partial results of an attribute, as a watcher keeps them."""

    def __init__(self, window: Window, name: str, part: Callable[[pa.Array], Any]) -> None:
        self._window, self._name, self._part = window, name, part
        self.parts: deque[Any] = deque(maxlen=window.contents.circle.maxlen)
        """Those of the basic windows that can be seen, the oldest first."""
        for basic in window.basics():
            self._add(basic)
        self._newest = window.complete
        window.watch(self)

    def slid(self, slide: Slide) -> None:
        # Whoever starts while watchers are told has taken this one in already.
        if self._newest is None or slide.came.number > self._newest:
            self._newest = slide.came.number
            self._add(slide.came)

    def close(self) -> None:
        """Keep them no more."""
        self._window.unwatch(self)

    def _add(self, basic: BasicWindow) -> None:
        rows = self._window.contents.span(basic.first, basic.stop, [self._name])
        self.parts.append(self._part(rows.column(0)))
