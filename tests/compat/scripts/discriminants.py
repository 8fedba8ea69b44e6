"""Linear and quadratic discriminants, and the projection to two directions."""

from sklearn.datasets import load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

X, y = load_wine(return_X_y=True)
print("lda", cross_val_score(LinearDiscriminantAnalysis(), X, y, cv=5).mean())
print("qda", cross_val_score(QuadraticDiscriminantAnalysis(reg_param=0.1), X, y, cv=5).mean())

X, y = load_digits(return_X_y=True)
projected = make_pipeline(LinearDiscriminantAnalysis(n_components=5), KNeighborsClassifier(n_neighbors=5))
print("projected", cross_val_score(projected, X, y, cv=5).mean())
print("shrunk", cross_val_score(LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"), X, y, cv=5).mean())
