"""Trees as text and as a picture, for every tree of didact and for scikit-learn's."""

from typing import Any

from didact.engines.trees.outline import Place
from didact.tree.reading import Words, read


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
        Names of the classes, in the order of `classes_`; by default the labels.
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
    weights = ", ".join(words.number(float(v)) for v in place.value[0] * place.weight)
    return (f" weights: [{weights}]" if show_weights else "") + f" class: {words.answer(place)}"


def plot_tree(
    decision_tree: Any,
    *,
    max_depth: int | None = None,
    feature_names: Any = None,
    class_names: Any = None,
    filled: bool = True,
    impurity: bool = False,
    proportion: bool = False,
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
        Names; by default those that the model knows.
    filled : bool, default=True
        Whether to colour the boxes.
    impurity : bool, default=False
        Whether to write the impurity of each node.
    proportion : bool, default=False
        Whether to write shares of the training weight and of the classes in place of counts.
    precision : int, default=4
        Significant digits of numbers.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    fontsize : float, optional
        Size of the text.

    Returns
    -------
    matplotlib Figure
        The picture (scikit-learn's function returns the list of its texts).

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), doi:10.1201/9781315139470.

    Examples
    --------
    >>> from didact.tree import ID3Classifier, plot_tree
    >>> model = ID3Classifier(categorical_features=[0]).fit([["tall"], ["short"]], ["M", "F"])
    >>> figure = plot_tree(model, feature_names=["height"])
    """
    from didact.plot.tree import tree

    outlines, words = read(decision_tree, feature_names, class_names, 2)
    places = _to_depth(outlines[0], max_depth)
    numbers = [float(p.value[0, 0]) for p in places] if words.classes is None else [0.0]
    span = min(numbers), max(numbers)
    boxes = [_box(place, words, places[0], span, impurity, proportion, precision) for place in places]
    return tree(boxes, words.classes or (), ax, fontsize or 8.5, filled)


def _to_depth(places: list[Place], max_depth: int | None) -> list[Place]:
    """The nodes down to a level, renumbered, parents first."""
    order, level, waiting = [], {0: 0}, [0]
    while waiting:
        i = waiting.pop()
        order.append(i)
        if max_depth is None or level[i] < max_depth:
            level.update({child: level[i] + 1 for _, child in places[i].branches})
            waiting += [child for _, child in reversed(places[i].branches)]
    number = {old: new for new, old in enumerate(order)}
    return [
        places[i]._replace(branches=tuple((c, number[child]) for c, child in places[i].branches if child in number))
        for i in order
    ]


def _box(place: Place, words: Words, root: Place, span: Any, impurity: bool, proportion: bool, precision: int) -> Any:
    """A node in words and colours."""
    from didact.plot.tree import Box

    short = _Short(*words[:3], precision)
    amount = f"{100 * place.weight / root.weight:.3g} %" if proportion else f"{place.weight:,.6g}"
    note = f"n = {amount}"
    if words.classes is None and place.branches:
        note = f"mean {short.answer(place)}, {note}"
    if words.classes is not None and not place.branches:
        best = float(place.value[0].max())
        note = f"{100 * best:.3g} % of {amount}" if proportion else f"{best * place.weight:,.6g} of {amount}"
    if impurity:
        note += f", impurity {place.impurity:.{precision}g}"
    title = short.answer(place)
    if place.branches:
        title = short.subject(place.branches[0][0])
    level = (float(place.value[0, 0]) - span[0]) / ((span[1] - span[0]) or 1.0) if words.classes is None else 0.0
    shares = None if words.classes is None else tuple(place.value[0].tolist())
    labels = tuple(_bare(short.demand(condition)) for condition, _ in place.branches)
    return Box(title, note, shares, level, tuple(child for _, child in place.branches), labels)


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
