"""Plain models of the indexes of a window in memory: how many values a search looks at.

They know sorted lists and a recursive tree, and nothing of nodes, links or kernels.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort


class SortedModel:
    """Sorted buckets. A search looks at all smaller values and at the next, if there is one."""

    def __init__(self, buckets=1):
        self.buckets = [[] for _ in range(buckets)]

    def bucket(self, value):
        return self.buckets[value % len(self.buckets)]

    def finds(self, value):
        bucket = self.bucket(value)
        return min(bisect_left(bucket, value) + 1, len(bucket))

    def put(self, value):
        insort(self.bucket(value), value)

    def remove(self, value):
        self.bucket(value).remove(value)

    def looks_between(self, low, high):
        return sum(min(bisect_right(each, high) + 1, len(each)) for each in self.buckets)

    def rename(self, names):
        values = [value for each in self.buckets for value in each]
        self.__init__(len(self.buckets))
        for value in values:
            self.put(names[value])


class NewestFirstModel(SortedModel):
    """Buckets with the newest value first. A search looks at all that came later."""

    def finds(self, value):
        bucket = self.bucket(value)
        return bucket.index(value) + 1 if value in bucket else len(bucket)

    def put(self, value):
        self.bucket(value).insert(0, value)

    def looks_between(self, low, high):
        return sum(map(len, self.buckets))

    def rename(self, names):
        values = [value for each in self.buckets for value in each]
        self.__init__(len(self.buckets))
        for value in reversed(values):
            self.put(names[value])


def height(tree):
    return 0 if tree is None else 1 + max(height(tree[0]), height(tree[2]))


def balanced(left, value, right):
    """A tree of two that differ by two in height at most."""
    if height(left) > height(right) + 1:
        if height(left[0]) < height(left[2]):
            inner = left[2]
            left = ((left[0], left[1], inner[0]), inner[1], inner[2])
        return left[0], left[1], (left[2], value, right)
    if height(right) > height(left) + 1:
        if height(right[2]) < height(right[0]):
            inner = right[0]
            right = (inner[0], inner[1], (inner[2], right[1], right[2]))
        return (left, value, right[0]), right[1], right[2]
    return left, value, right


def with_value(tree, value):
    if tree is None:
        return None, value, None
    left, root, right = tree
    if value < root:
        return balanced(with_value(left, value), root, right)
    return balanced(left, root, with_value(right, value))


def without_value(tree, value):
    left, root, right = tree
    if value < root:
        return balanced(without_value(left, value), root, right)
    if value > root:
        return balanced(left, root, without_value(right, value))
    if left is None or right is None:
        return left or right
    heir = right
    while heir[0] is not None:
        heir = heir[0]
    return balanced(left, heir[1], without_value(right, heir[1]))


class TreeModel:
    """A tree of tuples. A search looks at one value on each level."""

    def __init__(self):
        self.tree = None

    def finds(self, value):
        tree, depth = self.tree, 0
        while tree is not None:
            depth += 1
            if tree[1] == value:
                break
            tree = tree[0] if value < tree[1] else tree[2]
        return depth

    def put(self, value):
        self.tree = with_value(self.tree, value)

    def remove(self, value):
        self.tree = without_value(self.tree, value)

    def looks_between(self, low, high):
        def looks(tree):
            if tree is None:
                return 0
            return (
                1
                + (looks(tree[0]) if low < tree[1] else 0)
                + (looks(tree[2]) if tree[1] < high else 0)
            )

        return looks(self.tree)

    def rename(self, names):
        def renamed(tree):
            return tree and (renamed(tree[0]), names[tree[1]], renamed(tree[2]))

        self.tree = renamed(self.tree)
