"""The command `temporal verify`: whether a set over time is as it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wavedex.cli.output import Answer, working
from wavedex.cli.temporal.asked import SetPath, find_set
from wavedex.errors import Damaged
from wavedex.show.words import human_bytes


def verify(path: SetPath) -> Iterator[Answer]:
    """Read every byte of a set over time and check every checksum and rule.

    The exit code is 1 where it is damaged.
    """
    try:
        found = find_set(path)
        with working(f"Verifying {path}"):
            findings = found.verify()
        if findings:
            raise Damaged(findings)
    except Damaged as error:
        yield Answer({"ok": False, "findings": list(error.findings)}, "\n".join(error.findings))
        raise
    about = found.describe()
    names = ("changes", "lifespans", "alive", "pages", "bytes", "commit")
    yield Answer(
        {"ok": True, "findings": [], **{name: about[name] for name in names}},
        f"ok: {about['changes']:,} changes, {about['alive']:,} ids now, {about['pages']:,} pages, "
        f"{human_bytes(about['bytes'])}, commit {about['commit']:,}",
    )


COMMANDS: dict[Callable[..., Any], str] = {verify: "wavedex temporal verify members.wxt"}
