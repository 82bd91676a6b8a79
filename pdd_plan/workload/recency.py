"""Which block was touched last, and how many were touched since."""

from __future__ import annotations

from bisect import bisect_right


class Recency:
    """Fenwick tree over slots, in order of touch, of blocks whose latest touch is that slot."""

    def __init__(self, slots: int) -> None:
        self.size = slots
        self.tree = [0] * (slots + 1)
        self.total = 0

    def add(self, slot: int, blocks: int) -> None:
        """Count blocks, or a negative number of them, to a slot."""
        tree, size, k = self.tree, self.size, slot + 1
        self.total += blocks
        while k <= size:
            tree[k] += blocks
            k += k & -k

    def after(self, slot: int) -> int:
        """Return the blocks whose latest touch came after the slot."""
        tree, k, before = self.tree, slot + 1, 0
        while k:
            before += tree[k]
            k &= k - 1
        return self.total - before


class IdSpace:
    """Interval map of one id space: which slot last touched each id."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.stops: list[int] = []
        self.slots: list[int] = []

    def touch(self, start: int, stop: int, slot: int, recency: Recency) -> None:
        """Give [start, stop) to the slot."""
        starts, stops, slots = self.starts, self.stops, self.slots
        low = bisect_right(starts, start) - 1
        if low < 0 or stops[low] <= start:
            low += 1
        new = [(start, stop, slot)]
        high = low
        while high < len(starts) and starts[high] < stop:
            old_start, old_stop, old_slot = starts[high], stops[high], slots[high]
            recency.add(old_slot, max(old_start, start) - min(old_stop, stop))
            if old_start < start:
                new.insert(0, (old_start, start, old_slot))
            if old_stop > stop:
                new.append((stop, old_stop, old_slot))
            high += 1
        starts[low:high] = [piece[0] for piece in new]
        stops[low:high] = [piece[1] for piece in new]
        slots[low:high] = [piece[2] for piece in new]
        recency.add(slot, stop - start)

    def earlier_in_slot(self, index: int, first_id: int) -> int:
        """Return the blocks of the interval's slot that lie before the interval."""
        slot, blocks = self.slots[index], 0
        index -= 1
        while index >= 0 and self.starts[index] >= first_id:
            if self.slots[index] == slot:
                blocks += self.stops[index] - self.starts[index]
            index -= 1
        return blocks
