r"""
Parts of digits, and subjects of texts
======================================

Non-negative factors add up and never take away: :math:`x \approx wH`. Of pictures they become strokes, of texts
subjects.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits

from didact.decomposition import NMF

# %%
# Strokes
# -------
# Sixteen parts of handwritten digits, and one digit as their sum.
X = load_digits().data
model = NMF(16, max_iter=1000).fit(X)
W = model.transform(X)
figure, panels = plt.subplots(2, 8, figsize=(10, 2.9), layout="constrained")
for axes, part in zip(panels.ravel(), model.components_, strict=True):
    axes.imshow(part.reshape(8, 8), cmap="Greys")
    axes.set(xticks=[], yticks=[])
figure.suptitle("Sixteen parts of 1,797 digits", fontsize=11)
plt.show()

# %%
chosen = 11
order = np.argsort(-W[chosen])[:5]
shown = [("digit", X[chosen]), ("sum of parts", W[chosen] @ model.components_)]
shown += [(f"{W[chosen, k]:.2f} ×", model.components_[k]) for k in order]
figure, panels = plt.subplots(1, 7, figsize=(10, 1.9), layout="constrained")
for axes, (title, picture) in zip(panels, shown, strict=True):
    axes.imshow(picture.reshape(8, 8), cmap="Greys")
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=10)
plt.show()

# %%
# The objective never rises
# -------------------------
# Coordinate descent and multiplicative updates from one start: every step lowers the error, coordinate descent sooner.
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for solver, name in (("cd", "coordinate descent"), ("mu", "multiplicative updates")):
    steps = np.unique(np.geomspace(1, 200, 14).astype(int))
    errors = [NMF(16, init="nndsvda", solver=solver, tol=0, max_iter=int(s)).fit(X).reconstruction_err_ for s in steps]
    axes.plot(steps, errors, "o-", ms=3, label=name)
axes.set(xscale="log", xlabel="iterations", ylabel=r"$\|X - WH\|$")
axes.legend(frameon=False)
plt.show()

# %%
# Subjects
# --------
# Counts of words in short texts, sparse, with the Kullback–Leibler divergence, which suits counts.
VOCABULARY = {
    "kitchen": ["bread", "salt", "oven", "butter", "knife", "soup", "pepper", "flour"],
    "sea": ["boat", "sail", "wave", "harbour", "wind", "anchor", "tide", "salt"],
    "music": ["string", "bow", "note", "melody", "rhythm", "wind", "drum", "song"],
}
rng = np.random.default_rng(0)
words = sorted({word for some in VOCABULARY.values() for word in some})
texts = []
for _ in range(300):
    subjects = rng.dirichlet(np.full(3, 0.3))
    drawn = [rng.choice(VOCABULARY[rng.choice(list(VOCABULARY), p=subjects)]) for _ in range(12)]
    texts.append([drawn.count(word) for word in words])
counts = sparse.csr_array(np.array(texts, float))
model = NMF(3, solver="mu", beta_loss="kullback-leibler", max_iter=1000, random_state=0).fit(counts)
for part in model.components_:
    print(", ".join(words[j] for j in np.argsort(-part)[:8]))
