"""Draw a day of departures, by the example that follows them (examples/departures.py).

`python docs/draw_departures.py` writes `docs/pictures/departures.svg`. A test runs the same
function and compares. The same bytes each time.
"""

from __future__ import annotations

import datetime as dt
import runpy
from pathlib import Path

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
DAYS = 2
"""The last of these is drawn."""


def pictures() -> dict[str, str]:
    """Every picture by the name of its file."""
    example = runpy.run_path(str(DOCS.parent / "examples" / "departures.py"))
    window = example["Window"](example["SCHEMA"], **example["SETTINGS"])
    day = example["Day"](dt.date(2013, 1, DAYS))
    for news in example["follow"](window, example["read_flights"](DAYS)):
        for answer in news:
            day.note(answer)
    return {"departures.svg": day.svg()}


def main() -> None:
    """Write the picture."""
    for name, svg in pictures().items():
        (PICTURES / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
