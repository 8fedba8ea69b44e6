"""One tree on several threads.

Large nodes are cut into pieces of rows, with a histogram for each piece. After that every thread takes the waiting node
of largest gain and splits it, which may split a few nodes too many: the tree is then read off in the order in which
one thread would have grown it, so that threads do not change it.
"""

import heapq
import threading
from typing import Any

import numpy as np

from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.trees.grow_loops import (
    Nodes,
    Sample,
    Space,
    Work,
    expand,
    expand_piece,
    fill_table,
    find_split,
    make_children,
    worth_keeping,
)
from didact.engines.trees.histogram_loops import add_totals, move_rows, subtract
from didact.engines.trees.joint_loops import count_rows
from didact.engines.trees.words_loops import decoded

LARGE = 60_000  # rows from which a node is cut into pieces


def root_histogram(sample: Sample, space: Space, nodes: Nodes, hists: Array, threads: int) -> Array:
    """Count the root into histogram 0, if histograms are kept; the words of all rows."""
    total = np.zeros(len(space.inverse), np.int64)
    if not len(hists):
        add_totals(sample.words, sample.labels, sample.order, total)
        return total
    edges = np.linspace(0, len(sample.order), threads + 1).astype(int)

    def piece(k: int) -> None:
        rows = sample.order[edges[k] : edges[k + 1]]
        count_rows(sample.joint, sample.words, sample.labels, rows, space.slots, hists[k])

    parallel_map(piece, range(threads))
    for k in range(1, threads):
        hists[0] += hists[k]
    nodes.at[0]["hist"] = 0
    return hists[0, : int(space.features[0]["n_bins"]) + 1].sum(axis=0)


class Crew:
    """The state that the threads share while a tree grows."""

    def __init__(self, *args: Any) -> None:
        sample, space, limits, criterion, nodes, hists, works = args
        self.sample: Sample = sample
        self.space: Space = space
        self.nodes: Nodes = nodes
        self.limits, self.criterion, self.hists = limits, criterion, hists
        self.works: list[Work] = works
        self.free = list(range(len(hists) - 1, 0 if nodes.at[0]["hist"] >= 0 else -1, -1))
        self.count, self.splits, self.busy = 1, 0, 0
        self.most = limits.max_leaf_nodes - 1 if limits.max_leaf_nodes else 1 << 62
        self.waiting: list[tuple[float, int]] = []
        self.changed = threading.Condition()
        find_split(0, sample, space, limits, criterion, nodes, hists, works[0])
        self.push(0)

    def push(self, node: int) -> None:
        """A new node waits if it can be split; its histogram is given back if it will be of no use."""
        nodes = self.nodes
        if nodes.at[node]["hist"] >= 0 and not worth_keeping(node, nodes):
            self.free.append(int(nodes.at[node]["hist"]))
            nodes.at[node]["hist"] = -1
        if nodes.at[node]["feature"] >= 0:
            heapq.heappush(self.waiting, (-float(nodes.at[node]["gain"]), node))

    def take(self) -> tuple[int, int, int, int]:
        """The node to split next, the numbers of its children, and a free histogram or −1."""
        node = heapq.heappop(self.waiting)[1]
        return self.claim(node)

    def claim(self, node: int) -> tuple[int, int, int, int]:
        left, right = self.count, self.count + 1
        self.count += 2
        self.splits += 1
        kept = int(self.nodes.at[node]["hist"])
        spare = self.free.pop() if kept >= 0 and self.free else -1
        if kept >= 0 and spare < 0:
            self.free.append(kept)
            self.nodes.at[node]["hist"] = -1
        return node, left, right, spare

    def split(self, task: tuple[int, int, int, int], work: Work) -> None:
        """Split a node on one thread."""
        expand(*task, self.sample, self.space, self.limits, self.criterion, self.nodes, self.hists, work)

    def split_in_pieces(self, task: tuple[int, int, int, int]) -> None:
        """Split a large node on all threads."""
        node, left, right, spare = task
        nodes, sample, space = self.nodes, self.sample, self.space
        start, stop, f = int(nodes.at[node]["start"]), int(nodes.at[node]["stop"]), int(nodes.at[node]["feature"])
        work = self.works[0]
        left_count = decoded(nodes.words[node, 1], space.how, space.inverse, work.sums, 0)
        small_is_left = 2 * left_count <= stop - start
        edges = np.linspace(start, stop, len(self.works) + 1).astype(int)
        kept = int(nodes.at[node]["hist"])

        def piece(k: int) -> Any:
            work = self.works[k]
            fill_table(node, space, nodes, work.goes_left)
            return expand_piece(edges[k], edges[k + 1], f, small_is_left, sample, space, work.hist, work)

        lefts = parallel_map(piece, range(len(self.works)))
        rights = [work.spare[:m] for work, m in zip(self.works, np.diff(edges) - lefts, strict=True)]
        at = start
        for rows in [sample.order[a : a + m] for a, m in zip(edges, lefts, strict=False)] + rights:
            move_rows(rows, sample.order[at : at + len(rows)])
            at += len(rows)
        make_children(node, left, right, start + sum(lefts), space, nodes)
        if spare >= 0:
            self.hists[spare] = self.works[0].hist
            for work in self.works[1:]:
                self.hists[spare] += work.hist
            subtract(self.hists[kept], self.hists[spare])
            small, large = (left, right) if small_is_left else (right, left)
            nodes.at[small]["hist"], nodes.at[large]["hist"] = spare, kept

        def find(k: int) -> None:
            find_split(
                (left, right)[k], sample, space, self.limits, self.criterion, nodes, self.hists, self.works[k]
            )  # fmt: skip

        parallel_map(find, range(2))

    def run(self, k: int) -> None:
        """What each thread does: split waiting nodes until no more are needed."""
        while True:
            with self.changed:
                while not self.waiting and self.busy and self.splits < self.most:
                    self.changed.wait()
                if not self.waiting or self.splits >= self.most:
                    self.changed.notify_all()
                    return
                task = self.take()
                self.busy += 1
            try:
                self.split(task, self.works[k])
            finally:
                with self.changed:
                    self.busy -= 1
                    self.push(task[1])
                    self.push(task[2])
                    self.changed.notify_all()

    def select(self) -> None:
        """Keep the splits that one thread would have made, best gain first, and make those that are missing."""
        nodes, made, turn = self.nodes, 0, 0
        queue = [(-float(nodes.at[0]["gain"]), 0, 0)] if nodes.at[0]["feature"] >= 0 else []
        while queue and made < self.most:
            node = heapq.heappop(queue)[2]
            if nodes.at[node]["left"] < 0:
                task = self.claim(node)
                self.split(task, self.works[0])
                self.push(task[1])
                self.push(task[2])
            made += 1
            for child in (int(nodes.at[node]["left"]), int(nodes.at[node]["right"])):
                turn += 1
                if nodes.at[child]["feature"] >= 0:
                    heapq.heappush(queue, (-float(nodes.at[child]["gain"]), turn, child))
        for _, _, node in queue:
            nodes.at[node]["left"] = nodes.at[node]["right"] = -1


def grow_parallel(*args: Any) -> None:
    """Grow a tree from the root, whose record and histogram are there, on as many threads as there are buffers."""
    crew = Crew(*args)
    nodes = crew.nodes
    while crew.waiting and crew.splits < crew.most:
        first = crew.waiting[0][1]
        if nodes.at[first]["stop"] - nodes.at[first]["start"] < LARGE:
            break
        task = crew.take()
        crew.split_in_pieces(task)
        crew.push(task[1])
        crew.push(task[2])
    parallel_map(crew.run, range(len(crew.works)))
    if crew.most < 1 << 62:
        crew.select()
