"""Trees in the DOT language: scikit-learn's own text where it has the tree, and readable splits where it has not."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn import tree as theirs
from sklearn.datasets import load_diabetes, load_iris

from didact.ensemble import RandomForestClassifier
from didact.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    ModelTreeRegressor,
    ObliqueTreeClassifier,
    export_graphviz,
)

X, y = load_iris(return_X_y=True)
SEVERAL = np.column_stack([y, y > 0]).astype(int)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"filled": True, "rounded": True},
        {"max_depth": 1, "filled": True},
        {"node_ids": True, "proportion": True},
        {"label": "root", "impurity": False},
        {"label": "none", "node_ids": True, "fontname": "times"},
        {"special_characters": True, "rotate": True, "leaves_parallel": True, "precision": 1},
    ],
)
def test_the_text_is_scikit_learns(params):
    models = [
        theirs.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y),
        theirs.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, SEVERAL),
        theirs.DecisionTreeRegressor(max_depth=2, random_state=0).fit(*load_diabetes(return_X_y=True)),
        theirs.DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, SEVERAL.astype(float)),
    ]
    for model in models:
        assert export_graphviz(model, **params) == theirs.export_graphviz(model, None, **params)


@pytest.mark.parametrize("classes", [True, ["a", "b", 'c "quoted"']])
def test_names_of_classes_are_scikit_learns(classes):
    model = theirs.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    params = {"class_names": classes, "feature_names": ["p", "q", "r", "s"]}
    assert export_graphviz(model, **params) == theirs.export_graphviz(model, None, **params)


def test_our_trees_of_the_same_rows_have_the_same_text():
    """On one column there is one best tree."""
    one = X[:, [2]]
    ours, other = (
        DecisionTreeClassifier(max_depth=2).fit(one, y),
        theirs.DecisionTreeClassifier(max_depth=2).fit(one, y),
    )
    assert export_graphviz(ours, filled=True) == theirs.export_graphviz(other, None, filled=True)
    ours, other = DecisionTreeRegressor(max_depth=2).fit(one, y), theirs.DecisionTreeRegressor(max_depth=2).fit(one, y)
    assert export_graphviz(ours) == theirs.export_graphviz(other, None)


def test_categories_directions_and_lines():
    table = pd.DataFrame({"sky": pd.Categorical(["sun", "rain", "fog", "sun", "rain", "fog"])})
    text = export_graphviz(DecisionTreeClassifier().fit(table, [0, 1, 1, 0, 1, 1]))
    assert 'label="sky in {fog, rain}' in text or 'label="sky = sun' in text
    assert 'headlabel="True"' in text
    text = export_graphviz(ID3Classifier().fit(table, [0, 1, 2, 0, 1, 2]))
    assert '0 [label="sky\\nentropy = 1.585\\nsamples = 6\\nvalue = [2, 2, 2]"] ;' in text
    assert all(f'[label="{name}"]' in text for name in ("sun", "rain", "fog"))
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 2))
    text = export_graphviz(ObliqueTreeClassifier(max_depth=1).fit(Z, Z[:, 0] + Z[:, 1] > 0))
    assert "·x[0]" in text
    assert "samples = 200" in text
    line = np.linspace(-1, 1, 41)
    text = export_graphviz(ModelTreeRegressor().fit(line[:, None], np.abs(line)))
    assert "y = 0.000 + 1.000·x[0]" in text


def test_files_and_refusals(tmp_path):
    model = DecisionTreeClassifier(max_depth=1).fit(X, y)
    text, stream = export_graphviz(model), io.StringIO()
    assert export_graphviz(model, stream) is None
    assert export_graphviz(model, str(tmp_path / "tree.dot")) is None
    assert stream.getvalue() == (tmp_path / "tree.dot").read_text(encoding="utf-8") == text
    with pytest.raises(ValueError, match="label must be"):
        export_graphviz(model, label="some")
    with pytest.raises(ValueError, match="several trees"):
        export_graphviz(RandomForestClassifier(2, random_state=0).fit(X, y))
    with pytest.raises(ValueError, match="feature_names"):
        export_graphviz(model, feature_names=["one"])
