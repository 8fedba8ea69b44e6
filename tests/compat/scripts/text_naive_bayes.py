"""Short texts sorted by naive Bayes and by a linear classifier trained by stochastic gradients."""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import Pipeline

rng = np.random.RandomState(0)
vocabulary = np.array([f"word{i}" for i in range(3000)])
topics = rng.dirichlet(np.full(3000, 0.05), size=4)
labels = rng.choice(["sport", "space", "trade", "music"], size=4000)
index = {"sport": 0, "space": 1, "trade": 2, "music": 3}
noise = np.full(3000, 1 / 3000)
texts = [" ".join(rng.choice(vocabulary, 25, p=0.25 * topics[index[label]] + 0.75 * noise)) for label in labels]
docs_train, docs_test, y_train, y_test = train_test_split(texts, labels, random_state=0)
for name, model in [
    ("multinomial", MultinomialNB(alpha=0.1)),
    ("complement", ComplementNB()),
    ("bernoulli", BernoulliNB()),
    ("sgd", SGDClassifier(loss="log_loss", alpha=1e-4, random_state=0)),
]:
    text_clf = Pipeline([("vect", CountVectorizer()), ("tfidf", TfidfTransformer()), ("clf", model)])
    print(name, accuracy_score(y_test, text_clf.fit(docs_train, y_train).predict(docs_test)))
