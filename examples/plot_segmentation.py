"""
An image in segments by mean shift
==================================

Every pixel is a row of three numbers: its place and its brightness, (i, j, intensity). Each climbs to a mode of their
density, and the pixels of one mode are a segment. Widths are a matter of choice: dividing the places by one number and
the brightness by another gives the window a size in pixels and one in shades.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from didact.cluster import MeanShift

image = load_sample_image("china.jpg").mean(axis=2)[40:360:6, 60:540:6] / 255
i, j = np.indices(image.shape)

figure, panels = plt.subplots(1, 4, figsize=(11, 2.4), layout="constrained")
panels[0].imshow(image, cmap="gray", vmin=0, vmax=1)
panels[0].set_title(f"{image.shape[0]} × {image.shape[1]} pixels")
for axes, (pixels, shades) in zip(panels[1:], [(3, 0.04), (5, 0.07), (10, 0.1)]):
    rows = np.column_stack([i.ravel() / pixels, j.ravel() / pixels, image.ravel() / shades])
    model = MeanShift(bandwidth=1.0, kernel="gaussian", max_iter=1000, tol=1e-3).fit(rows)
    segments = (model.cluster_centers_[:, 2] * shades)[model.labels_].reshape(image.shape)
    axes.imshow(segments, cmap="gray", vmin=0, vmax=1)
    axes.set_title(f"{pixels} pixels, {shades} of brightness:\n{len(model.cluster_centers_)} segments", fontsize=9)
for axes in panels:
    axes.set(xticks=[], yticks=[])
plt.show()
