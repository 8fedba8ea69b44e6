"""Texts as sparse weights of words: linear models, neighbours, naive Bayes, a search, topics."""

import numpy as np
from sklearn import metrics
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import NMF, LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import (
    LogisticRegression,
    PassiveAggressiveClassifier,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import ComplementNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC
from sklearn.utils.extmath import density

rng = np.random.RandomState(0)
words = np.array([f"w{i}" for i in range(800)])
topics = rng.dirichlet(np.full(800, 0.1), size=3)
labels = rng.randint(3, size=900)
texts = [" ".join(rng.choice(words, 30, p=0.35 * topics[k] + 0.65 / 800)) for k in labels]
train, test, y_train, y_test = train_test_split(texts, labels, random_state=0)
vectorizer = TfidfVectorizer(sublinear_tf=True, max_df=0.5, min_df=2, stop_words="english")
X_train, X_test = vectorizer.fit_transform(train), vectorizer.transform(test)
print("shape", X_train.shape[1], len(ENGLISH_STOP_WORDS))
for model in [
    LogisticRegression(C=5, max_iter=1000),
    RidgeClassifier(alpha=1.0, solver="sparse_cg"),
    KNeighborsClassifier(n_neighbors=30),
    LinearSVC(C=0.1, dual=False, tol=1e-6),
    ComplementNB(alpha=0.1),
    NearestCentroid(),
    SGDClassifier(loss="log_loss", alpha=1e-4, max_iter=50, random_state=0),
    Perceptron(max_iter=50, random_state=0),
    PassiveAggressiveClassifier(max_iter=50, random_state=0),
]:
    print(type(model).__name__, metrics.accuracy_score(y_test, model.fit(X_train, y_train).predict(X_test)))
print("density", density(LogisticRegression(C=5).fit(X_train, y_train).coef_))
print("chi2", SelectKBest(chi2, k=100).fit(X_train, y_train).scores_.max())
pipe = Pipeline([("vect", TfidfVectorizer()), ("clf", ComplementNB())])
grid = {"vect__ngram_range": [(1, 1), (1, 2)], "clf__alpha": np.logspace(-3, 0, 3)}
print("search", GridSearchCV(pipe, grid, cv=3).fit(train, y_train).best_score_)
lsa = make_pipeline(TruncatedSVD(n_components=20, random_state=0), Normalizer(copy=False))
found = MiniBatchKMeans(3, n_init=5, random_state=0).fit_predict(lsa.fit_transform(X_train))
print("lsa", metrics.v_measure_score(y_train, found))
counts = CountVectorizer(max_features=300).fit_transform(train)
print("nmf", NMF(3, random_state=0, init="nndsvd", tol=1e-6, max_iter=2000).fit(X_train).reconstruction_err_)
print("lda", LatentDirichletAllocation(3, max_iter=3, random_state=0).fit_transform(counts).shape[1])
records = [{"city": "Bern", "t": 3.0}, {"city": "Chur", "t": 1.0}]
print("records", DictVectorizer().fit_transform(records).sum(), abs(FeatureHasher(8).transform(records)).sum())
