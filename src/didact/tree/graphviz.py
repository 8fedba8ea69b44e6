"""Trees in the DOT language of Graphviz, laid out as scikit-learn's, for every tree of didact and of scikit-learn."""

from colorsys import hsv_to_rgb
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import ParameterError
from didact.core.parameters import none, whole
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.trees.outline import Among, Interval, Place
from didact.tree.reading import Words, read


class _Marks(NamedTuple):
    """How a label is written: as plain text, or as HTML with special characters."""

    number: str
    subscript: tuple[str, str]
    at_most: str
    newline: str
    quotes: tuple[str, str]

    def safe(self, text: str) -> str:
        """Text that does not end the label."""
        return escape(text) if self.quotes[0] == "<" else text.replace('"', r"\"")


PLAIN = _Marks(number="#", subscript=("[", "]"), at_most="<=", newline="\\n", quotes=('"', '"'))
HTML = _Marks(number="&#35;", subscript=("<SUB>", "</SUB>"), at_most="&le;", newline="<br/>", quotes=("<", ">"))


class _Look(NamedTuple):
    """What the labels of all nodes share."""

    marks: _Marks
    label: str
    impurity: str  # its name; empty: not shown
    node_ids: bool
    proportion: bool
    precision: int
    classes: bool  # whether the most frequent class is named


@entrance(max_depth=[whole(0), none], precision=whole(0))
def export_graphviz(
    decision_tree: Any, out_file: Any = None, *, max_depth: int | None = None, feature_names: Any = None,
    class_names: Any = None, label: str = "all", filled: bool = False, leaves_parallel: bool = False,
    impurity: bool = True, node_ids: bool = False, proportion: bool = False, rotate: bool = False,
    rounded: bool = False, special_characters: bool = False, precision: int = 3, fontname: str = "helvetica",
) -> str | None:  # fmt: skip
    r"""A tree in the DOT language, from which Graphviz draws pictures: ``dot -Tpng tree.dot -o tree.png``.

    Cost: the number of nodes shown.

    Parameters
    ----------
    decision_tree : estimator
        A fitted tree of didact or scikit-learn.
    out_file : str, path or file object, optional
        Where to write; by default the text is returned.
    max_depth : int, optional
        Deepest level that is shown; by default all.
    feature_names : sequence of str, optional
        Names of the features; by default those that the model was fitted with, or x[0], x[1], …
    class_names : sequence of str or True, optional
        Names of the classes, in the order of `classes_`, to show the most frequent class; True: y[0], y[1], …
    label : {"all", "root", "none"}, default="all"
        Where it says what a number is: at all nodes, at the first or nowhere.
    filled : bool, default=False
        Whether to colour nodes by class, by value, or (several outputs) by impurity.
    leaves_parallel : bool, default=False
        Whether to draw all leaves at the bottom.
    impurity : bool, default=True
        Whether to show the impurity.
    node_ids : bool, default=False
        Whether to show the number of each node.
    proportion : bool, default=False
        Whether to show shares in place of numbers of rows.
    rotate : bool, default=False
        Whether the tree grows from left to right.
    rounded : bool, default=False
        Whether boxes have round corners.
    special_characters : bool, default=False
        Whether labels are HTML with special characters, which PostScript does not know.
    precision : int, default=3
        Digits of numbers behind the point.
    fontname : str, default="helvetica"
        The font.

    Returns
    -------
    str or None
        The text, unless it was written to `out_file`.

    Notes
    -----
    The text is scikit-learn's for trees with tests ``x <= t``. A set of categories stands in its node; the branches of
    an n-way split are labelled; a leaf with a linear model shows that.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), doi:10.1201/9781315139470.

    Examples
    --------
    >>> from didact.tree import DecisionTreeClassifier, export_graphviz
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    >>> print(export_graphviz(model, feature_names=["dose"], impurity=False))
    digraph Tree {
    node [shape=box, fontname="helvetica"] ;
    edge [fontname="helvetica"] ;
    0 [label="dose <= 1.5\nsamples = 2\nvalue = [1, 1]"] ;
    1 [label="samples = 1\nvalue = [1, 0]"] ;
    0 -> 1 [labeldistance=2.5, labelangle=45, headlabel="True"] ;
    2 [label="samples = 1\nvalue = [0, 1]"] ;
    0 -> 2 [labeldistance=2.5, labelangle=-45, headlabel="False"] ;
    }
    """
    if label not in ("all", "root", "none"):
        raise ParameterError(f"label must be 'all', 'root' or 'none'; got {label!r}.")
    marks = HTML if special_characters else PLAIN
    places, words = _read(decision_tree, feature_names, class_names, precision, marks)
    name = str(getattr(decision_tree, "criterion", "entropy" if words.classes else "squared_error"))
    look = _Look(
        marks=marks,
        label=label,
        impurity=name if impurity else "",
        node_ids=node_ids,
        proportion=proportion,
        precision=precision,
        classes=class_names is not None and class_names is not False,
    )
    counts = _samples(decision_tree.tree_, places)
    shades = _shades(places, words) if filled else None
    lines = _head(filled, rounded, leaves_parallel, rotate, fontname)
    ranks: dict[str, list[str]] = {"leaves": []}
    waiting: list[tuple[int, int, int, str]] = [(0, -1, 0, "")]  # node, parent, depth, attributes of the edge
    while waiting:
        i, parent, depth, edge = waiting.pop()
        cut = max_depth is not None and depth > max_depth
        text = '"(...)"' if cut else _label(i, places, counts, words, look)
        colour = "" if shades is None else f', fillcolor="{"#C0C0C0" if cut else shades[i]}"'
        lines.append(f"{i} [label={text}{colour}] ;")
        if parent >= 0:
            lines.append(f"{parent} -> {i}{'' if cut else edge} ;")
        branches = () if cut else places[i].branches
        ranks.setdefault(str(depth) if branches else "leaves", []).append(str(i))
        edges = _edges(i, places[i], words, rotate)
        waiting += [(child, i, depth + 1, e) for (_, child), e in zip(branches, edges, strict=False)][::-1]
    if leaves_parallel:
        lines += [f"{{rank=same ; {'; '.join(ranks[rank])}}} ;" for rank in sorted(ranks)]
    return _written("\n".join([*lines, "}"]), out_file)


def _written(text: str, out_file: Any) -> str | None:
    """The text, or None once it is in a file."""
    if out_file is None:
        return text
    if hasattr(out_file, "write"):
        out_file.write(text)
    else:
        Path(out_file).write_text(text, encoding="utf-8")
    return None


def _read(model: Any, features: Any, classes: Any, precision: int, marks: _Marks) -> tuple[list[Place], Words]:
    """The nodes of a tree, and names that are safe in labels."""
    if not hasattr(model, "tree_") and hasattr(model, "estimators_"):
        raise ParameterError(f"{type(model).__name__} holds several trees: pass one of its estimators_.")
    outlines, words = read(model, features, None if classes is True else classes, precision)
    before, after = marks.subscript
    names = tuple(marks.safe(name) for name in words.features)
    if features is None and not hasattr(model, "feature_names_in_"):
        names = tuple(f"x{before}{j}{after}" for j in range(len(names)))
    known = words.classes
    if known is not None:
        known = tuple(
            tuple(f"y{before}{k}{after}" if classes is True else marks.safe(c) for k, c in enumerate(group))
            for group in known
        )
    return outlines[0], words._replace(features=names, classes=known)


def _samples(tree: Any, places: list[Place]) -> list[Any]:
    """The rows in each node; the cases, where a tree counts these."""
    counts = getattr(getattr(tree, "tree", tree), "n_node_samples", None)
    if counts is not None:
        return list(np.asarray(counts).tolist())
    return [round(place.weight, 6) if place.weight % 1 else int(place.weight) for place in places]


def _head(filled: bool, rounded: bool, leaves_parallel: bool, rotate: bool, fontname: str) -> list[str]:
    style = ", ".join(["filled"] * filled + ["rounded"] * rounded)
    style = f', style="{style}", color="black"' if style else ""
    return [
        "digraph Tree {",
        f'node [shape=box{style}, fontname="{fontname}"] ;',
        *["graph [ranksep=equally, splines=polyline] ;"] * leaves_parallel,
        f'edge [fontname="{fontname}"] ;',
        *["rankdir=LR ;"] * rotate,
    ]


def _asks(place: Place) -> bool:
    """Whether a node asks a question with two answers, true on its first branch."""
    conditions: list[Any] = [condition for condition, _ in place.branches]
    first, *others = conditions
    return len(others) == 1 and (not isinstance(first, Among) or first.others != others[0].others)


def _edges(i: int, place: Place, words: Words, rotate: bool) -> list[str]:
    """What the lines to the children say: true or false below the root, the categories of an n-way split."""
    if not place.branches:
        return []
    if not _asks(place):
        demands = (words.demand(condition).removeprefix("= ") for condition, _ in place.branches)
        return [f' [label="{PLAIN.safe(demand)}"]' for demand in demands]
    angle = -45 if rotate else 45
    said = (("True", angle), ("False", -angle))
    return [f' [labeldistance=2.5, labelangle={a}, headlabel="{text}"]' if i == 0 else "" for text, a in said]


def _label(i: int, places: list[Place], counts: list[Any], words: Words, look: _Look) -> str:
    """The label of a node: its test, impurity, rows, value and class."""
    place, marks = places[i], look.marks
    named = look.label == "all" or (look.label == "root" and i == 0)
    lines = [("node " * named) + f"{marks.number}{i}"] if look.node_ids else []
    if place.branches:
        lines.append(_test(place, words, look))
    if look.impurity:
        lines.append(f"{look.impurity} = " * named + str(round(float(place.impurity), look.precision)))
    amount = f"{round(100.0 * counts[i] / counts[0], 1)}%" if look.proportion else str(counts[i])
    lines.append("samples = " * named + amount)
    if place.linear:
        lines.append("y = " * named + words.answer(place))
    else:
        lines.append("value = " * named + _value(place, words, look))
    if look.classes and words.classes is not None and len(words.classes) == 1:
        lines.append("class = " * named + words.classes[0][int(place.value[0].argmax())])
    return marks.quotes[0] + marks.newline.join(lines) + marks.quotes[1]


def _test(place: Place, words: Words, look: _Look) -> str:
    condition = place.branches[0][0]
    subject = words.subject(condition)
    if not _asks(place):
        return subject
    if isinstance(condition, Interval) and np.isfinite(condition.high):
        return f"{subject} {look.marks.at_most} {round(condition.high, look.precision)}"
    return f"{subject} {look.marks.safe(words.demand(condition))}"


def _value(place: Place, words: Words, look: _Look) -> str:
    """The weights or shares of the classes, or the value, of each output."""
    value = np.asarray(place.value, np.float64)
    if words.classes is not None and not look.proportion:
        value = value * place.weight
        whole = np.rint(value)
        value = whole.astype(int) if np.allclose(value, whole, rtol=1e-9, atol=1e-9) else value
    value = value if value.dtype.kind == "i" else np.around(value, look.precision)
    rows = [", ".join(str(v) for v in row) for row in value.tolist()]
    if len(rows) == 1:
        return rows[0] if words.classes is None else f"[{rows[0]}]"
    return "[" + look.marks.newline.join(f"[{row}]" for row in rows) + "]"


def _shades(places: list[Place], words: Words) -> list[str]:
    """A colour for each node: that of its class, or of its value or purity; white says nothing."""
    classes = 1 if words.classes is None else len(words.classes[0])
    hues = [np.array(hsv_to_rgb(((25 + 360 * k / classes) % 360) / 360, 0.75, 0.9)) * 255 for k in range(classes)]
    one = len(places[0].value) == 1
    if one and words.classes is not None:
        found = []
        for place in places:
            second, first = np.sort(np.append(place.value[0], 0.0))[-2:] if classes > 1 else (0.0, 0.0)
            found.append(_mixed(hues[int(place.value[0].argmax())], (first - second) / (1 - second)))
        return found
    levels = np.array([float(p.value[0, 0]) if one else -float(p.impurity) for p in places])
    span = float(np.ptp(levels))
    return [_mixed(hues[0], (level - levels.min()) / span if span else 0.0) for level in levels]


def _mixed(colour: Array, strength: float) -> str:
    """A colour, mixed with white."""
    return "#" + "".join(f"{round(float(strength * int(c) + (1 - strength) * 255)):02x}" for c in colour)
