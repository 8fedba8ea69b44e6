"""Trees as text and as a picture, for every tree of didact and for scikit-learn's."""

from typing import Any, NamedTuple

from didact.core.errors import ParameterError
from didact.core.parameters import none, whole
from didact.core.validation.entrance import entrance
from didact.engines.trees.outline import Place
from didact.tree.reading import Words, read


@entrance(max_depth=whole(0), spacing=whole(1), decimals=whole(0))
def export_text(
    decision_tree: Any,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """A tree as indented text, one line for each branch and each leaf.

    Cost: the number of nodes shown.

    Parameters
    ----------
    decision_tree : estimator
        A fitted tree of didact or scikit-learn.
    feature_names : sequence of str, optional
        Names of the features; by default those that the model was fitted with.
    class_names : sequence of str, optional
        Names of the classes, in the order of `classes_`; by default the labels. A list of these for several outputs.
    max_depth : int, default=10
        Deepest level that is shown.
    spacing : int, default=3
        Width of an indent.
    decimals : int, default=2
        Digits of numbers.
    show_weights : bool, default=False
        Whether to show the weight of each class in the leaves.

    Returns
    -------
    str
        The text.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), doi:10.1201/9781315139470.

    Examples
    --------
    >>> from didact.tree import ID3Classifier, export_text
    >>> model = ID3Classifier(categorical_features=[0]).fit([["tall"], ["short"]], ["M", "F"])
    >>> print(export_text(model, feature_names=["height"]))
    |--- height = short
    |   |--- class: F
    |--- height = tall
    |   |--- class: M
    <BLANKLINE>
    """
    outlines, words = read(decision_tree, feature_names, class_names, decimals)
    places, lines = outlines[0], []
    waiting: list[tuple[Any, int]] = [(0, 1)]  # nodes and finished lines with their levels
    while waiting:
        item, level = waiting.pop()
        indent = ("|" + " " * spacing) * (level - 1) + "|" + "-" * spacing
        if isinstance(item, str):
            lines.append(f"{indent} {item}")
        elif not places[item].branches or (level > max_depth + 1 and _depth(places, item) == 1):
            lines.append(f"{indent}{_leaf(places[item], words, show_weights)}")
        elif level > max_depth + 1:
            lines.append(f"{indent} truncated branch of depth {_depth(places, item)}")
        else:
            for condition, child in reversed(places[item].branches):
                demand = words.demand(condition, ascii_only=True).replace("> ", ">  ")
                waiting += [(child, level + 1), (f"{words.subject(condition)} {demand}", level)]
    return "\n".join(lines) + "\n"


def _depth(places: list[Place], root: int) -> int:
    """Levels of the subtree at a node; 1 for a leaf."""
    deepest, waiting = 0, [(root, 1)]
    while waiting:
        i, level = waiting.pop()
        deepest = max(deepest, level)
        waiting += [(child, level + 1) for _, child in places[i].branches]
    return deepest


def _leaf(place: Place, words: Words, show_weights: bool) -> str:
    if words.classes is None:
        return f" value: [{words.answer(place)}]" if not place.linear else f" y = {words.answer(place)}"
    shares = [row[: len(names)] for row, names in zip(place.value, words.classes, strict=True)]
    weights = ", ".join(f"[{', '.join(words.number(float(v)) for v in row * place.weight)}]" for row in shares)
    return (f" weights: {weights}" if show_weights else "") + f" class: {words.answer(place)}"


@entrance(max_depth=[whole(0), none], precision=whole(0))
def plot_tree(
    decision_tree: Any,
    *,
    max_depth: int | None = None,
    feature_names: Any = None,
    class_names: Any = None,
    label: str = "all",
    filled: bool = True,
    impurity: bool = False,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = True,
    precision: int = 4,
    ax: Any = None,
    fontsize: float | None = None,
) -> Any:
    """A picture of a tree: questions in the boxes, answers in colour at the leaves, conditions on the branches.

    A bar in each box shows the shares of the classes. Cost: the number of nodes drawn.

    Parameters
    ----------
    decision_tree : estimator
        A fitted tree of didact or scikit-learn.
    max_depth : int, optional
        Deepest level that is drawn; by default all.
    feature_names, class_names : sequence of str, optional
        Names; by default those that the model knows. Classes of several outputs are a list of lists.
    label : {"all", "root", "none"}, default="all"
        Where it says what a number is: in all boxes, in the first or in none.
    filled : bool, default=True
        Whether to colour the boxes; those of several outputs of classes have no colours.
    impurity : bool, default=False
        Whether to write the impurity of each node.
    node_ids : bool, default=False
        Whether to write the number of each node.
    proportion : bool, default=False
        Whether to write shares of the training weight and of the classes in place of counts.
    rounded : bool, default=True
        Whether the corners of the boxes are round.
    precision : int, default=4
        Significant digits of numbers.
    ax : matplotlib Axes, optional
        Where to draw; by default the current axes of pyplot, which are cleared.
    fontsize : float, optional
        Size of the text; by default what the boxes have room for.

    Returns
    -------
    list of matplotlib Text
        The texts of the picture, whose ``figure`` is that of all.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), doi:10.1201/9781315139470.

    Examples
    --------
    >>> from didact.tree import ID3Classifier, plot_tree
    >>> model = ID3Classifier(categorical_features=[0]).fit([["tall"], ["short"]], ["M", "F"])
    >>> texts = plot_tree(model, feature_names=["height"])
    """
    from didact.plot.tree import tree

    if label not in ("all", "root", "none"):
        raise ParameterError(f"label must be 'all', 'root' or 'none'; got {label!r}.")
    outlines, words = read(decision_tree, feature_names, class_names, precision)
    order, places = _to_depth(outlines[0], max_depth)
    numbers = [float(p.value[0, 0]) for p in places] if words.classes is None else [0.0]
    look = _Look(places[0].weight, (min(numbers), max(numbers)), impurity, proportion)
    boxes = [
        _box(place, _Short(*words), look, label == "all" or (label == "root" and place is places[0]))
        for place in places
    ]
    if node_ids:
        boxes = [box._replace(title=f"#{i} {box.title}") for i, box in zip(order, boxes, strict=True)]
    one = words.classes is not None and len(words.classes) == 1
    return tree(boxes, words.classes[0] if one and words.classes else (), ax, fontsize, filled, rounded)


def _to_depth(places: list[Place], max_depth: int | None) -> tuple[list[int], list[Place]]:
    """The numbers of the nodes down to a level, and these nodes, renumbered, parents first."""
    order, level, waiting = [], {0: 0}, [0]
    while waiting:
        i = waiting.pop()
        order.append(i)
        if max_depth is None or level[i] < max_depth:
            level.update({child: level[i] + 1 for _, child in places[i].branches})
            waiting += [child for _, child in reversed(places[i].branches)]
    number = {old: new for new, old in enumerate(order)}
    return order, [
        places[i]._replace(branches=tuple((c, number[child]) for c, child in places[i].branches if child in number))
        for i in order
    ]


class _Look(NamedTuple):
    """What all boxes share: the weight of all rows, the range of the answers, and what is written."""

    total: float
    span: tuple[float, float]
    impurity: bool
    proportion: bool


def _box(place: Place, words: Words, look: _Look, named: bool) -> Any:
    """A node in words and colours; `named`: with the names of its numbers."""
    from didact.plot.tree import Box

    one = words.classes is not None and len(words.classes) == 1
    amount = f"{100 * place.weight / look.total:.3g} %" if look.proportion else f"{place.weight:,.6g}"
    note = f"n = {amount}" if named else amount
    if words.classes is None and place.branches:
        note = f"{'mean ' if named else ''}{words.answer(place)}, {note}"
    if one and not place.branches:
        best = float(place.value[0].max())
        note = f"{100 * best:.3g} % of {amount}" if look.proportion else f"{best * place.weight:,.6g} of {amount}"
    if look.impurity:
        note += f", {'impurity ' if named else ''}{words.number(place.impurity)}"
    title = words.subject(place.branches[0][0]) if place.branches else words.answer(place)
    low, high = look.span
    level = (float(place.value[0, 0]) - low) / ((high - low) or 1.0) if words.classes is None else 0.0
    labels = tuple(_bare(words.demand(condition)) for condition, _ in place.branches)
    shares = tuple(place.value[0].tolist()) if one else None
    return Box(
        title=title,
        note=note,
        shares=shares,
        level=level,
        children=tuple(child for _, child in place.branches),
        labels=labels,
    )


class _Short(Words):
    """Words with significant digits in place of decimals."""

    __slots__ = ()

    def number(self, x: float) -> str:
        """A number with some significant digits."""
        return f"{x:.{self.decimals}g}"


def _bare(demand: str) -> str:
    """A category's name without the equals sign, a set without braces: there is a line to it."""
    if demand.startswith("in {"):
        return demand[4:-1]
    return demand.removeprefix("= ")
