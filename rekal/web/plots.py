"""Drawings that need no script: bars over days, and a graph of names laid out by forces."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

_ROUNDS = 120
_MARGIN = 60.0


class BarRect(msgspec.Struct, frozen=True):
    """A rectangle of a plot, in its own units; ``kind`` is the name of its figures."""

    x: float
    y: float
    width: float
    height: float
    kind: str


class BarPlot(msgspec.Struct, frozen=True):
    """Bars in a box of ``width`` by ``height``; ``most`` is the figure at its top.

    ``columns`` are the figures, a list for each of ``names``, and in each one for each of ``labels``.
    """

    width: float
    height: float
    most: int
    bars: list[BarRect]
    labels: Sequence[str]
    names: Sequence[str]
    columns: Sequence[Sequence[int]]


class NodePlace(msgspec.Struct, frozen=True):
    """A node of a drawn graph."""

    name: str
    x: float
    y: float
    radius: float


class EdgeLine(msgspec.Struct, frozen=True):
    """A line between two nodes. ``ended``: it held until a time that is over."""

    x1: float
    y1: float
    x2: float
    y2: float
    words: str
    ended: bool


class DrawnGraph(msgspec.Struct, frozen=True):
    """Nodes and lines in a box of ``width`` by ``height``."""

    width: float
    height: float
    nodes: list[NodePlace]
    edges: list[EdgeLine]


def plot_bars(labels: Sequence[str], series: Sequence[tuple[str, Sequence[int]]], height: float = 120) -> BarPlot:
    """Stack the figures of each label: ``series`` are kinds with a figure for each label."""
    totals = [sum(values[at] for _, values in series) for at in range(len(labels))]
    most = max(totals, default=0)
    width, gap = 800.0, 1.0
    step = width / max(1, len(labels))
    bars = []
    for at in range(len(labels)):
        base = height
        for kind, values in series:
            tall = height * values[at] / most if most else 0.0
            if tall:
                base -= tall
                bars.append(BarRect(at * step, base, min(24.0, max(0.5, step - gap)), tall, kind))
    columns = [values for _, values in series]
    return BarPlot(width, height, most, bars, labels, [name for name, _ in series], columns)


def lay_out_graph(
    names: Sequence[str], relations: Sequence[tuple[str, str, str, bool]], weights: Sequence[int]
) -> DrawnGraph:
    """Place names so that related ones are near each other; the same names always come to the same places.

    ``relations`` are source, target, words and ended; those to a name that is not drawn are left out.
    """
    number = {name: at for at, name in enumerate(names)}
    pairs = [(number[a], number[b], words, ended) for a, b, words, ended in relations if a in number and b in number]
    height = float(min(900, 240 + 14 * len(names)))
    places = _settle(len(names), np.array([(a, b) for a, b, _, _ in pairs], np.int64).reshape(-1, 2), 800.0, height)
    nodes = [
        NodePlace(name, round(float(x), 1), round(float(y), 1), 5.0 + min(7.0, math.sqrt(weight)))
        for name, (x, y), weight in zip(names, places, weights, strict=True)
    ]
    edges = [EdgeLine(nodes[a].x, nodes[a].y, nodes[b].x, nodes[b].y, words, ended) for a, b, words, ended in pairs]
    return DrawnGraph(800.0, height, nodes, edges)


def _settle(count: int, pairs: NDArray[np.int64], width: float, height: float) -> NDArray[np.float64]:
    """Return places after Fruchterman and Reingold: all push each other away, related ones draw each other."""
    angle = np.arange(count) * 2.399963  # the golden angle: a start without two at one place
    spread = np.sqrt((np.arange(count) + 0.5) / max(1, count))
    at = np.stack([np.cos(angle) * spread, np.sin(angle) * spread], axis=1) * 0.5
    ideal = 0.9 / math.sqrt(max(1, count))
    for turn in range(_ROUNDS if count > 1 else 0):
        apart = at[:, None, :] - at[None, :, :]
        distance = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-3)
        force = (apart * (ideal**2 / distance**2)[:, :, None]).sum(axis=1)
        if len(pairs):
            drawn = at[pairs[:, 0]] - at[pairs[:, 1]]
            pull = drawn * (np.sqrt((drawn**2).sum(axis=1)) / ideal)[:, None]
            np.subtract.at(force, pairs[:, 0], pull)
            np.add.at(force, pairs[:, 1], pull)
        force -= at * 0.6  # towards the middle: parts without relations stay in sight
        length = np.maximum(np.sqrt((force**2).sum(axis=1)), 1e-9)
        at = at + force / length[:, None] * np.minimum(length, 0.12 * (1 - turn / _ROUNDS))[:, None]
    low, high = at.min(axis=0, initial=0.0), at.max(axis=0, initial=0.0)
    span = np.maximum(high - low, 1e-6)
    room = np.array([width - 2 * _MARGIN, height - _MARGIN])
    placed: NDArray[np.float64] = (at - low) / span * room + np.array([_MARGIN, _MARGIN / 2])
    return placed if count > 1 else np.full((count, 2), (width / 2, height / 2))
