"""Points of a curved sheet and digits on two axes, by many embeddings."""

from sklearn import manifold
from sklearn.datasets import load_digits, make_s_curve
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.manifold import TSNE, trustworthiness
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection, johnson_lindenstrauss_min_dim

X, t = make_s_curve(300, random_state=0)
for name, model in [
    ("lle", manifold.LocallyLinearEmbedding(n_neighbors=12, n_components=2, random_state=0)),
    ("ltsa", manifold.LocallyLinearEmbedding(n_neighbors=12, method="ltsa", eigen_solver="dense")),
    ("isomap", manifold.Isomap(n_neighbors=12, n_components=2)),
    ("mds", manifold.MDS(2, max_iter=60, n_init=1, init="classical_mds", random_state=0)),
    ("classical", manifold.ClassicalMDS(2)),
    ("spectral", manifold.SpectralEmbedding(2, n_neighbors=12, random_state=0)),
]:
    print(name, trustworthiness(X, model.fit_transform(X), n_neighbors=10))
X, y = load_digits(n_class=4, return_X_y=True)
X, y = X[:300], y[:300]
placed = TSNE(2, init="pca", perplexity=20, max_iter=500, random_state=0).fit_transform(X)
print("tsne", trustworthiness(X, placed))
print("separate", KNeighborsClassifier(5).fit(placed[:200], y[:200]).score(placed[200:], y[200:]))
learned = make_pipeline(StandardScaler(), NeighborhoodComponentsAnalysis(2, random_state=0), KNeighborsClassifier(3))
print("learned", learned.fit(X[:200], y[:200]).score(X[200:], y[200:]))
print("projected", GaussianRandomProjection(20, random_state=0).fit_transform(X).std())
print("dimension", johnson_lindenstrauss_min_dim(300, eps=0.5))
print("leaves", RandomTreesEmbedding(10, max_depth=3, random_state=0).fit_transform(X).sum())
