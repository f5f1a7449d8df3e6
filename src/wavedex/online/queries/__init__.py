"""Queries over windows in memory, a family a file."""

from wavedex.online.queries.changes import Changes
from wavedex.online.queries.extremes import Maximum, Minimum
from wavedex.online.queries.frequencies import Distinct, TopK
from wavedex.online.queries.histograms import Histogram
from wavedex.online.queries.joins import Join, JoinNew
from wavedex.online.queries.kept_joins import KeptJoin
from wavedex.online.queries.lookups import Between, Lookup, Ordered
from wavedex.online.queries.numbers import Average, Count, Sum, Variance
from wavedex.online.queries.quantiles import Median, Quantiles
from wavedex.online.queries.query import Explanation, Query
from wavedex.online.queries.selections import Select
from wavedex.online.queries.sets import Difference, Intersection, Union

__all__ = [
    "Average",
    "Between",
    "Changes",
    "Count",
    "Difference",
    "Distinct",
    "Explanation",
    "Histogram",
    "Intersection",
    "Join",
    "JoinNew",
    "KeptJoin",
    "Lookup",
    "Maximum",
    "Median",
    "Minimum",
    "Ordered",
    "Quantiles",
    "Query",
    "Select",
    "Sum",
    "TopK",
    "Union",
    "Variance",
]
