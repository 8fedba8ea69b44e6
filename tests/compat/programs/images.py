"""Pictures: patches, graphs of pixels, regions by Ward and by cuts of graphs, columns merged into regions."""

import numpy as np
from sklearn.cluster import AgglomerativeClustering, FeatureAgglomeration, KMeans, spectral_clustering
from sklearn.datasets import load_digits, load_sample_image
from sklearn.feature_extraction import image
from sklearn.feature_extraction.image import extract_patches_2d, grid_to_graph, reconstruct_from_patches_2d
from sklearn.linear_model import BayesianRidge
from sklearn.metrics import pairwise_distances_argmin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import minmax_scale
from sklearn.utils import shuffle

rows, columns = np.indices((40, 40))
picture = ((rows - 12) ** 2 + (columns - 12) ** 2 < 60).astype(float)
picture += (rows - 28) ** 2 + (columns - 26) ** 2 < 90
mask = picture.astype(bool)
noisy = picture + 0.2 * np.random.RandomState(0).randn(*picture.shape)
graph = image.img_to_graph(noisy, mask=mask)
graph.data = np.exp(-graph.data / graph.data.std())
labels = spectral_clustering(graph, n_clusters=2, eigen_solver="arpack", random_state=0)
print("regions", len(np.unique(labels)), min(np.bincount(labels)))
ward = AgglomerativeClustering(3, linkage="ward", connectivity=grid_to_graph(40, 40)).fit(noisy.reshape(-1, 1))
print("ward", np.bincount(ward.labels_).max())
digits = load_digits()
merged = FeatureAgglomeration(16, connectivity=grid_to_graph(8, 8))
reduced = merged.fit_transform(digits.data)
print("merged", reduced.shape[1], np.mean((merged.inverse_transform(reduced) - digits.data) ** 2))
chain = make_pipeline(FeatureAgglomeration(10), BayesianRidge()).fit(digits.data[:300], digits.target[:300])
print("chain", chain.score(digits.data[:300], digits.target[:300]))
china = minmax_scale(load_sample_image("china.jpg")[::8, ::8].reshape(-1, 3).astype(float))
colours = KMeans(8, n_init=3, random_state=0).fit(shuffle(china, n_samples=500, random_state=0))
found = pairwise_distances_argmin(china, colours.cluster_centers_)
print("colours", len(np.unique(found)), np.mean((colours.cluster_centers_[found] - china) ** 2))
patches = extract_patches_2d(noisy, (5, 5))
print("patches", len(patches), np.allclose(reconstruct_from_patches_2d(patches, noisy.shape), noisy))
print("sampled", image.PatchExtractor(patch_size=(4, 4), max_patches=3, random_state=0).transform(noisy[None]).shape[0])
