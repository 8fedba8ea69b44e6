"""Clusters of words: what tables of edit distances say, functions of two strings, new words, files, bad input."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import didact
from didact.cluster import (
    DBSCAN,
    AgglomerativeClustering,
    ConnectedComponents,
    DivisiveClustering,
    KMedoids,
    dbscan,
    linkage_tree,
)
from didact.core.errors import InputError, ParameterError
from didact.core.rows import Batches
from didact.neighbors import edit_distance, edit_distances

RNG = np.random.default_rng(0)
WORDS = ["".join(RNG.choice(list("abcde"), RNG.integers(1, 8))) for _ in range(120)]
NAMES = ["anna", "hanna", "anne", "karl", "carl", "carlo"]
MODELS = [
    DBSCAN(eps=1, min_samples=4),
    DBSCAN(eps=2, min_samples=9, algorithm="ball_tree"),
    ConnectedComponents(eps=1),
    ConnectedComponents(graph="knn", n_neighbors=3),
    KMedoids(4, init="build"),
    AgglomerativeClustering(5, linkage="single"),
    AgglomerativeClustering(5, linkage="complete"),
    AgglomerativeClustering(5, linkage="average"),
    AgglomerativeClustering(5, linkage="average", connectivity=np.eye(120, k=1) + np.eye(120, k=-1)),
    DivisiveClustering(4),
]
TAKERS = [
    DBSCAN(min_samples=1),
    ConnectedComponents(),
    KMedoids(2, init="build"),
    AgglomerativeClustering(linkage="single"),
    DivisiveClustering(),
]
WITH_PREDICT = [model for model in MODELS if hasattr(model, "predict")]


def kind(model):
    return type(model).__name__


def like(model, metric, **more):
    return type(model)(**{**model.get_params(), "metric": metric, **more})


def labels(fitted):
    """The labels and what else shows the clusters; of a row its number."""
    tree = [fitted.linkage_] if hasattr(fitted, "linkage_") else []
    return [fitted.labels_, *tree, getattr(fitted, "medoid_indices_", 0), getattr(fitted, "core_sample_indices_", 0)]


def assert_same(one, other):
    for a, b in zip(labels(one), labels(other), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("costs", [{}, {"insert": 0.5, "delete": 0.5, "substitute": 0.75}, {"transpose": 1.0}])
@pytest.mark.parametrize("model", [model for model in MODELS if not isinstance(model, KMedoids)], ids=kind)
def test_words_are_clustered_as_by_the_table_of_their_distances(model, costs):
    expected = like(model, "precomputed").fit(edit_distances(WORDS, **costs))
    assert costs or 1 < len(np.unique(expected.labels_)) < 120
    assert_same(like(model, "edit", metric_params=costs).fit(WORDS), expected)


@pytest.mark.parametrize("costs", [{}, {"insert": 0.5, "delete": 0.5, "substitute": 0.75}, {"transpose": 1.0}])
def test_medoids_are_those_of_the_table(costs):
    rng = np.random.default_rng(2)
    words = [word[:i] + word[i + 1 :] for word in ("characteristic", "international", "philosopher") for i in range(9)]
    words = rng.permutation([*words, "characteristic", "international", "philosopher"])
    table = edit_distances(words, **costs)
    expected = KMedoids(3, metric="precomputed", init="build").fit(table)
    found = KMedoids(3, metric="edit", metric_params=costs, init="build").fit(words)
    assert_same(found, expected)
    assert sorted(found.cluster_centers_[:, 0]) == ["characteristic", "international", "philosopher"]
    drawn = KMedoids(3, metric="edit", metric_params=costs, random_state=0, n_init=3).fit(words)
    assert drawn.inertia_ == table[found.medoid_indices_].min(axis=0).sum() == expected.inertia_


@pytest.mark.parametrize("model", MODELS, ids=kind)
def test_a_function_gets_two_strings(model):
    def apart(a, b, swap=None):
        assert type(a) is type(b) is str
        return edit_distance(a, b, transpose=swap)

    by_function = like(model, apart, metric_params={"swap": 1.0}).fit(WORDS)
    assert_same(by_function, like(model, "edit", metric_params={"transpose": 1.0}).fit(WORDS))
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(
            by_function.predict(WORDS[:9]),
            like(model, "edit", metric_params={"transpose": 1.0}).fit(WORDS).predict(WORDS[:9]),
        )


def test_a_function_of_all_words_returns_their_table():
    model = AgglomerativeClustering(4, linkage="average", metric=lambda words: edit_distances(words)).fit(WORDS)
    assert_same(model, AgglomerativeClustering(4, linkage="average", metric="edit").fit(WORDS))


@pytest.mark.parametrize("affinity", ["edit", edit_distance], ids=["edit", "function"])
@pytest.mark.parametrize("linkage", ["single", "complete", "average"])
def test_functions_take_words(linkage, affinity):
    ours = linkage_tree(WORDS, linkage=linkage, affinity=affinity, return_distance=True)
    table = edit_distances(WORDS)
    theirs = linkage_tree(table, linkage=linkage, affinity="precomputed", return_distance=True)
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(found, expected)
    both = dbscan(WORDS, 1, min_samples=4, metric=affinity), dbscan(table, 1, min_samples=4, metric="precomputed")
    for found, expected in zip(*both, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_single_linkage_makes_no_table():
    words = [f"{i:011b}" for i in range(2000)]
    tracemalloc.start()
    tree = AgglomerativeClustering(linkage="single", metric="edit").fit(words).linkage_
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2000**2  # a table has eight times as many bytes
    assert (tree[:, 2] == 1).all()  # numbers that follow by one more bit differ in one letter
    calls = []
    AgglomerativeClustering(linkage="single", metric=lambda a, b: calls.append(1) or abs(len(a) - len(b))).fit(WORDS)
    assert len(calls) == 120 * 119 / 2


@pytest.mark.parametrize("model", WITH_PREDICT, ids=kind)
def test_new_words_get_the_label_of_the_nearest(model):
    fitted, new = like(model, "edit").fit(WORDS), ["abca", "dddddd", "", "zzzzzzzzzzzz", "bädc"]
    found = fitted.predict(new)
    if isinstance(model, KMedoids):
        assert fitted.cluster_centers_[:, 0].tolist() == [WORDS[i] for i in fitted.medoid_indices_]
        table = edit_distances(new, fitted.cluster_centers_[:, 0])
        np.testing.assert_array_equal(found, table.argmin(axis=1))
        np.testing.assert_array_equal(fitted.transform(new), table)
    else:
        table = like(model, "precomputed").fit(edit_distances(WORDS))
        np.testing.assert_array_equal(found, table.predict(edit_distances(new, WORDS)))
        assert found[3] == -1


@pytest.mark.parametrize("metric", ["edit", edit_distance], ids=["edit", "function"])
def test_weighted_words_equal_repeated_ones(metric):
    words, w = WORDS[:40], np.random.default_rng(1).integers(0, 4, 40)
    repeated = np.repeat(words, w)
    for model in (DBSCAN(eps=2, min_samples=12, metric=metric), KMedoids(3, init="build", metric=metric)):
        weighted, plain = type(model)(**model.get_params()).fit(words, sample_weight=w), model.fit(repeated)
        np.testing.assert_array_equal(np.repeat(weighted.labels_, w), plain.labels_)
    drawn = KMedoids(3, metric=metric, random_state=0)
    one, other = (drawn.fit(*data).cluster_centers_.tolist() for data in ((words, None, w), (repeated,)))
    assert one == other  # draws do not depend on the order of the rows


COLUMNS = {
    "list": list,
    "tuple": tuple,
    "nested": lambda words: [[word] for word in words],
    "U": np.array,
    "object": lambda words: np.array(words, object)[:, None],
    "series": pd.Series,
    "pandas": lambda words: pd.DataFrame({"name": words}),
    "numbered": pd.DataFrame,
    "category": lambda words: pd.DataFrame({"name": pd.Categorical(words)}),
    "polars": lambda words: pl.DataFrame({"name": words}),
    "batches": lambda words: Batches(lambda: [np.array(words[:2]), np.array(words[2:])]),
}


@pytest.mark.parametrize("metric", ["edit", edit_distance], ids=["edit", "function"])
@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_words_come_in_any_collection(column, metric):
    X = column(NAMES)
    assert KMedoids(2, init="build", metric=metric).fit(X).labels_.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    model = DBSCAN(eps=1, min_samples=2, metric=metric).fit(X)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    found = model.predict(X)
    assert (np.concatenate(list(found)) if isinstance(X, Batches) else found).tolist() == [0, 0, 0, 1, 1, 1]
    assert (list(getattr(model, "feature_names_in_", ["name"])), model.n_features_in_) == (["name"], 1)


def test_sequences_are_words():
    X = [("to", "be"), ("to", "see"), ("or", "not", "to", "be"), ("or", "not")]
    model = KMedoids(2, metric="edit", init="build").fit(X)
    assert [model.predict([word])[0] for word in X] == model.labels_.tolist()
    assert set(map(tuple, model.cluster_centers_[:, 0])) <= set(X)


@pytest.mark.parametrize("X", [WORDS, [tuple(word) for word in WORDS]], ids=["strings", "sequences"])
@pytest.mark.parametrize("model", MODELS[:8], ids=kind)
def test_models_of_words_go_into_files(model, X, tmp_path):
    fitted = like(model, "edit", metric_params={"transpose": 1}).fit(X)
    didact.save(fitted, tmp_path / "words.didact")
    again = didact.load(tmp_path / "words.didact")
    assert_same(again, fitted)
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(again.predict(X[::3]), fitted.predict(X[::3]))


@pytest.mark.parametrize("model", WITH_PREDICT, ids=kind)
def test_forged_files_are_refused(model, tmp_path):
    words, numbers = like(model, "edit").fit(WORDS), like(model, "euclidean").fit(np.arange(120.0)[:, None] / 50)
    for name in ("components_", "_known", "cluster_centers_"):
        if hasattr(words, name):
            mine, other = getattr(words, name), getattr(numbers, name)
            setattr(words, name, np.resize(other, mine.shape))
            setattr(numbers, name, np.resize(mine, other.shape))
    for forged, new in ((words, WORDS), (numbers, np.ones((3, 1)))):
        didact.save(forged, tmp_path / "forged.didact")
        with pytest.raises(InputError, match="do not fit together"):
            didact.load(tmp_path / "forged.didact").predict(new)
    noun = "_noun" if isinstance(model, KMedoids) else "_distance"
    fitted = like(model, "edit").fit(WORDS)
    setattr(fitted, noun, getattr(fitted, noun)._replace(costs=("1", 1.0, 1.0, None)))
    didact.save(fitted, tmp_path / "forged.didact")
    with pytest.raises(InputError, match="costs"):
        didact.load(tmp_path / "forged.didact")


@pytest.mark.parametrize("model", TAKERS, ids=kind)
def test_what_does_not_fit_is_said(model):
    def refuses(metric, X, message, **params):
        with pytest.raises(InputError, match=message):
            like(model, metric, **params).fit(X)

    for X in (NAMES, np.array(NAMES)[:, None], pd.DataFrame({"name": NAMES})):
        refuses("manhattan", X, "column of text.*'anna'.*'edit', or a function of two strings, takes text")
    refuses("edit", [[1.0], [2.0]], "row 0 holds 1.0")
    refuses("edit", np.array([["a", "b"], ["c", "d"]]), "one column")
    refuses("edit", sp.csr_array(np.eye(3)), "column of words")
    refuses(edit_distance, ["a", "b", None], "row 2 holds None")
    with pytest.raises(ParameterError, match=r"insert=2 and delete=1\.0"):
        like(model, "edit", metric_params={"insert": 2}).fit(NAMES)
    if hasattr(model, "predict"):
        for metric in ("edit", edit_distance):
            with pytest.raises(InputError, match="row 0 holds"):
                like(model, metric).fit(NAMES).predict([[1.0]])
        with pytest.raises(InputError, match=r"'anna'.*fitted to numbers"):
            like(model, lambda a, b: abs(a - b).sum()).fit([[1.0], [2.0]]).predict(NAMES)


@pytest.mark.parametrize("model", TAKERS, ids=kind)
def test_numbers_that_were_written_as_text_are_numbers_to_other_metrics(model):
    X = [[1.0], [2.0], [7.0], [8.5]]
    assert_same(like(model, "manhattan").fit(np.array(X).astype(str)), like(model, "manhattan").fit(X))
