"""
A map from distances
====================

Only the distances of twelve cities along the earth's surface are given. Classical scaling finds a map, on which north
has no meaning until it is turned; two more cities are put on it by their distances from the twelve. Crosses are the
true places, as seen from the middle.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import orthogonal_procrustes

from didact.manifold import ClassicalMDS

places = {
    "Lisbon": (38.7, -9.1), "Madrid": (40.4, -3.7), "Paris": (48.9, 2.4), "London": (51.5, -0.1),
    "Dublin": (53.3, -6.3), "Oslo": (59.9, 10.8), "Stockholm": (59.3, 18.1), "Berlin": (52.5, 13.4),
    "Vienna": (48.2, 16.4), "Rome": (41.9, 12.5), "Athens": (38.0, 23.7), "Warsaw": (52.2, 21.0),
    "Zurich": (47.4, 8.5), "Helsinki": (60.2, 24.9),
}  # fmt: skip
latitude, longitude = np.radians(np.array(list(places.values()))).T
points = np.column_stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)])
distances = 6371 * np.arccos(np.clip(points @ points.T, -1, 1)) * (1 - np.eye(len(points)))

model = ClassicalMDS(metric="precomputed").fit(distances[:12, :12])
found = np.vstack([model.embedding_, model.transform(distances[12:, :12])])

# For comparison the true places as seen from the middle, in their direction and distance, and the map turned to them.
middle = points[:12].mean(axis=0) / np.linalg.norm(points[:12].mean(axis=0))
east = np.cross([0, 0, 1], middle)
east /= np.linalg.norm(east)
seen = points @ np.column_stack([east, np.cross(middle, east)])
truth = 6371 * np.arccos(points @ middle)[:, None] * seen / np.linalg.norm(seen, axis=1, keepdims=True)
found = found - found[:12].mean(axis=0) + truth[:12].mean(axis=0)
found = found @ orthogonal_procrustes(found[:12], truth[:12])[0]

figure, axes = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
for name, here in zip(places, found):
    axes.annotate(name, here, (4, 4), textcoords="offset points", fontsize=9)
axes.plot(*found[:12].T, "o", label="from their distances")
axes.plot(*found[12:].T, "s", label="put on the map later")
axes.plot(*truth.T, "k+", markersize=10, label="in truth")
axes.set(xlabel="kilometres", ylabel="kilometres", aspect="equal")
axes.margins(0.12)
axes.legend(loc="lower center")
plt.show()
