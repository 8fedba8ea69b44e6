"""
A photograph in a few colours
=============================

A pixel is a row of three numbers. `VectorQuantizer` learns a codebook of colours from some of the pixels; every pixel
is then stored as the number of the nearest one, 4 bits for 16 colours instead of 24. Colours that a uniform grid
would waste on what the picture does not show go to where its pixels are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from didact.cluster import VectorQuantizer

photo = load_sample_image("flower.jpg")[::2, ::2] / 255.0
pixels = photo.reshape(-1, 3)
grid = (np.floor(pixels * 2).clip(0, 1) + 0.5) / 2  # two levels of each colour: a uniform grid of 8
pictures = {f"24 bits: {len(np.unique(pixels, axis=0))} colours": photo}
pictures[f"uniform grid, 3 bits: error {((pixels - grid) ** 2).sum(axis=1).mean():.4f}"] = grid.reshape(photo.shape)
for count in (4, 8, 16, 64):
    quantizer = VectorQuantizer(n_clusters=count, random_state=0).fit(pixels)
    restored = quantizer.decode(quantizer.encode(pixels)).reshape(photo.shape)
    pictures[f"{count} colours, {quantizer.bits_} bits: error {quantizer.distortion_:.4f}"] = restored

figure, panels = plt.subplots(2, 3, figsize=(10, 5), layout="constrained")
for axes, (title, picture) in zip(panels.ravel(), pictures.items()):
    axes.imshow(picture)
    axes.set_title(title, fontsize=9)
    axes.set_axis_off()
plt.show()
