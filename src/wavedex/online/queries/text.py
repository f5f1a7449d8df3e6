"""Queries as text, such as "top(dest, 5)": what a file says where Python calls a class.

A query is a name and what is in parentheses: a column first, then numbers. A column whose name is
no word stands in quotes: `sum("bytes in")`. With "every 5" behind it, a query is evaluated at each
fifth basic window. Nothing of a text is ever run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from wavedex.errors import BadDefinition
from wavedex.online.queries.extremes import Maximum, Minimum
from wavedex.online.queries.frequencies import Distinct, TopK
from wavedex.online.queries.histograms import Histogram
from wavedex.online.queries.lookups import Ordered
from wavedex.online.queries.numbers import Average, Count, Sum, Variance
from wavedex.online.queries.quantiles import Median, Quantiles
from wavedex.online.queries.query import Query

_CHARS_MAX = 1_000
"""A query is no longer than that, so that nothing takes long to read."""
_EVERY = re.compile(r"(?P<query>.*\))\s*every\s+(?P<every>\d{1,9})\s*", re.DOTALL)


class _Form(NamedTuple):
    """How a query is written."""

    said: str
    """As somebody would write it."""
    make: Callable[..., Query]
    """Makes one of a column, if it has one, and numbers."""
    least: int
    """How many numbers it has at least."""
    most: int | None
    """How many it has at most; None for any."""


def _quantiles(name: str, *at: float) -> Query:
    return Quantiles(name, at) if at else Quantiles(name)


_FORMS: dict[str, _Form] = {
    "histogram": _Form("histogram(NAME)", Histogram, 0, 0),
    "distinct": _Form("distinct(NAME)", Distinct, 0, 0),
    "top": _Form("top(NAME, K)", TopK, 1, 1),
    "count": _Form("count()", Count, 0, 0),
    "sum": _Form("sum(NAME)", Sum, 0, 0),
    "average": _Form("average(NAME)", Average, 0, 0),
    "minimum": _Form("minimum(NAME)", Minimum, 0, 0),
    "maximum": _Form("maximum(NAME)", Maximum, 0, 0),
    "variance": _Form("variance(NAME)", Variance, 0, 1),
    "median": _Form("median(NAME)", Median, 0, 0),
    "quantiles": _Form("quantiles(NAME, 0.5, 0.9)", _quantiles, 0, None),
    "ordered": _Form("ordered(NAME)", Ordered, 0, 0),
}


class ContinuousQuery(NamedTuple):
    """A query, and how often it is evaluated."""

    query: Query
    every: int
    """The basic windows from one evaluation to the next."""
    column: str | None
    """The column that it is about, if there is one."""


def read_query(text: str) -> Query:
    """The query that a text says. Raises BadDefinition.

    >>> read_query("top(dest, 5)")
    TopK(name='dest', k=5)
    >>> read_query('quantiles("arr delay", 0.5, 0.9)')
    Quantiles(name='arr delay', at=(0.5, 0.9))
    """
    query, _ = _read(text)
    return query


def read_continuous(text: str) -> ContinuousQuery:
    """A query with or without "every N" behind it. Raises BadDefinition.

    >>> read_continuous("count() every 5").every
    5
    """
    found = _EVERY.fullmatch(text)
    query, column = _read(text if found is None else found["query"])
    every = 1 if found is None else int(found["every"])
    if every < 1:
        raise BadDefinition(f"{text!r}: every is a number of basic windows, from 1 on.")
    return ContinuousQuery(query, every, column)


def _read(text: str) -> tuple[Query, str | None]:
    """A query and its column."""
    call = _call_of(text)
    assert isinstance(call.func, ast.Name)
    form = _FORMS[call.func.id]
    values = [_value(text, form, each) for each in call.args]
    column = None
    if form.make is not Count:
        if not values or not isinstance(values[0], str):
            raise _refusal(text, f"write {form.said}")
        column = values[0]
    numbers = values if column is None else values[1:]
    too_many = form.most is not None and len(numbers) > form.most
    if any(isinstance(each, str) for each in numbers) or len(numbers) < form.least or too_many:
        raise _refusal(text, f"write {form.said}")
    try:
        return form.make(*values), column
    except BadDefinition as error:
        raise BadDefinition(f"{text!r}: {error}") from error


def _call_of(text: str) -> ast.Call:
    try:
        body = ast.parse(text.strip()[:_CHARS_MAX], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refusal(text, "it cannot be read") from None
    if not isinstance(body, ast.Call) or not isinstance(body.func, ast.Name) or body.keywords:
        raise _refusal(text, "it cannot be read")
    if body.func.id not in _FORMS:
        raise _refusal(text, f"there is no query {body.func.id!r}")
    return body


def _value(text: str, form: _Form, node: ast.expr) -> Any:
    """The name of a column, or a number."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and type(node.value) in (str, int, float):
        return node.value
    raise _refusal(text, f"write {form.said}, a column whose name is no word in quotes")


def _refusal(text: str, why: str) -> BadDefinition:
    known = ", ".join(form.said for form in _FORMS.values())
    return BadDefinition(f"{text[:80]!r} is no query: {why}. There are {known}.")
