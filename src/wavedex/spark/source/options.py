"""The options of the data source: which there are for what is asked, and what their text means.

Spark hands over every option as text, and its name in lower case. A name that nobody knows is
refused. An option that was passed over would give another answer than the one that was asked for.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from wavedex.errors import BadDefinition, BadKey, BadPosition
from wavedex.index.core.changes import Position, read_position
from wavedex.index.core.definition import Definition
from wavedex.pipelines.toml_tables import did_you_mean, nearest

READING = (
    "path",
    "columns",
    "key",
    "keys",
    "since",
    "until",
    "expired",
    "shorten",
    "changes",
    "server",
)
"""For the window."""
CHANGES = ("path", "changes", "since_commit", "until_commit", "server")
"""For what changed between two commits."""
FOLLOWING = (
    "path",
    "changes",
    "starting",
    "follower",
    "server",
    "checkpointlocation",
    "queryname",
)
"""For what changes, as a stream. The last two are said to Spark itself, which hands them on."""
WRITING = ("path", "kind", "now", "apply_by", "server")
"""For a batch, beside the options of `create` of the kind of index.

Those count where there is no index yet.
"""
FEEDING = (
    "path",
    "kind",
    "stream",
    "delay",
    "dead_letters",
    "takeover",
    "apply_by",
    "server",
    "checkpointlocation",
    "queryname",
)
"""For a stream, beside the same, and what Spark itself is told of it."""
READING_SET = ("path", "at", "columns")
"""For a set over time."""
WRITING_SET = ("path", "oid", "time", "op")
"""For a batch of events into a set over time."""
FEEDING_SET = (*WRITING_SET, "stream", "checkpointlocation", "queryname")
"""For a stream of events into a set over time, and what Spark itself is told of it."""
_CATALOG_OF_SPARK = {"provider", "location"}
"""What Spark adds where a table is made in its catalog."""


def check_known(options: Mapping[str, str], *known: Collection[str], what: str) -> None:
    """Raise BadDefinition for the first option that is not known."""
    names = [*dict.fromkeys(name for group in known for name in group)]
    if options.keys() >= _CATALOG_OF_SPARK:
        raise BadDefinition(
            "Spark 4.3 does not hand the options of a table in its catalog on to the data source. "
            "Use wavedex.spark.view, or create temporary view ... using wavedex."
        )
    for name in options:
        if name.lower() not in names:
            near = did_you_mean(nearest(name, names)) or f" There are {', '.join(names)}."
            raise BadDefinition(f"There is no option {name!r} for {what}.{near}")


def read_flag(options: Mapping[str, str], name: str) -> bool:
    """Whether an option says true; it says false where it is not given. Raises BadDefinition."""
    said = options.get(name, "false").strip().lower()
    if said not in ("true", "false"):
        raise BadDefinition(f"The option {name} is {said!r}. Say true or false.")
    return said == "true"


def read_commit(options: Mapping[str, str], name: str) -> Position | None:
    """A commit, by its number or by what it took of a stream. Raises BadDefinition."""
    said = options.get(name)
    try:
        return None if said is None else read_position(said)
    except BadPosition as error:
        raise BadDefinition(f"The option {name} is {said!r}. {error}") from error


def read_shorten(options: Mapping[str, str]) -> Any:
    """By how much windows are shorter: a duration, or a table of durations, written as JSON.

    Raises BadDefinition.
    """
    said = options.get("shorten")
    if said is None or not said.strip().startswith("{"):
        return said
    try:
        return json.loads(said)
    except ValueError:
        raise BadDefinition(
            f"The option shorten is {said!r}. Give a duration, or JSON such as "
            '{"left_at": "2 minutes"}.'
        ) from None


def read_keys(options: Mapping[str, str], definition: Definition) -> tuple[Any, ...] | None:
    """The keys that are asked for, None for all. Raises BadKey, BadDefinition.

    `key` is one key, as it is typed. `keys` is a list in JSON, so that a key may have any character
    in it. A key of several columns is always a list in JSON.
    """
    if "key" in options and "keys" in options:
        raise BadDefinition("Both key and keys are given. Say one of them.")
    several = len(definition.key_names) > 1
    if "key" in options:
        text = options["key"]
        return (_key(_list("key", text) if several else text, definition),)
    if "keys" in options:
        return tuple(_key(each, definition) for each in _list("keys", options["keys"]))
    return None


def _list(name: str, text: str) -> list[Any]:
    try:
        # Numbers stay the text that they are: a decimal has more digits than a float.
        values = json.loads(text, parse_int=str, parse_float=str)
    except ValueError:
        values = None
    if not isinstance(values, list):
        example = '["west", 3]' if name == "key" else '["ann", "bob"] or [["west", 3], ["east", 5]]'
        raise BadKey(f"The option {name} is {text!r}. Write a list in JSON, such as {example}.")
    return values


def _key(value: Any, definition: Definition) -> Any:
    """A key that was read from JSON, or typed as text."""
    names = definition.key_names
    values = value if isinstance(value, list) and len(names) > 1 else [value]
    if len(values) != len(names) or not all(isinstance(each, str | bool) for each in values):
        raise BadKey(
            f"{json.dumps(value)} is no key of this index. Give values for {', '.join(names)}"
            f"{' as a list' * (len(names) > 1)}, none of them null."
        )
    texts = [each if isinstance(each, str) else json.dumps(each) for each in values]
    return definition.spec.key_type.parse(texts[0] if len(names) == 1 else json.dumps(texts))
