r"""
The cocktail party: voices taken apart
======================================

Three speakers talk at once, and each of five microphones hears all of them, louder or softer: :math:`x = As`. Nobody
tells us who said what. Voices are independent of each other and far from Gaussian, and that is enough to find them:
maximum likelihood with logistic sources, and FastICA. All sounds are written as WAV files, to be listened to.
"""

import tempfile
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.io import wavfile
from scipy.signal import lfilter

from didact.decomposition import FastICA, MaximumLikelihoodICA

RATE, SECONDS = 8000, 4
rng = np.random.default_rng(5)
time = np.arange(RATE * SECONDS) / RATE


def voice(pitch, vowels, beat):
    """A buzz of some pitch through two resonances that change from vowel to vowel, in syllables with pauses."""
    glide = pitch * (1 + 0.06 * np.sin(2 * np.pi * 0.7 * time) + 0.02 * np.sin(2 * np.pi * 5 * time))
    buzz = (np.diff(np.floor(np.cumsum(glide) / RATE), prepend=0) > 0) + 0.01 * rng.standard_normal(len(time))
    sound, edges = np.zeros(len(time)), np.append(np.arange(0, len(time), int(RATE * beat)), len(time))
    for k, (a, b) in enumerate(pairwise(edges)):
        part = buzz[a:b]
        for formant in vowels[k % len(vowels)]:
            radius, angle = 0.97, 2 * np.pi * formant / RATE
            part = lfilter([1.0], [1.0, -2 * radius * np.cos(angle), radius**2], part)
        sound[a:b] = part * np.hanning(b - a) ** 2 * rng.uniform(0.2, 1.0)
    return sound / np.abs(sound).max()


speakers = np.column_stack(
    [
        voice(110, [(730, 1090), (270, 2290), (570, 840)], 0.31),
        voice(205, [(300, 870), (860, 2050), (610, 2330)], 0.23),
        voice(160, [(660, 1720), (490, 1350)], 0.47),
    ]
)
mixing = np.array([[1.0, 0.2, 0.4, 0.7, 0.5], [0.3, 1.0, 0.3, 0.6, 0.8], [0.4, 0.3, 1.0, 0.5, 0.2]])
microphones = speakers @ mixing + 0.002 * rng.standard_normal((len(time), 5))

# %%
# More microphones than speakers
# ------------------------------
# Five recordings hold three sources: rows are first projected on their three directions of greatest variance.
likelihood = MaximumLikelihoodICA(n_components=3).fit(microphones)
fixed_point = FastICA(n_components=3, random_state=0).fit(microphones)


def matched(found):
    """The sources in the order and with the signs of the speakers, and their correlations."""
    cross = np.corrcoef(speakers.T, found.T)[:3, 3:]
    best = np.abs(cross).argmax(axis=1)
    return found[:, best] * np.sign(cross[range(3), best]), np.abs(cross).max(axis=1)


separated, agreement = matched(likelihood.transform(microphones))
print("maximum likelihood:", agreement.round(4), " FastICA:", matched(fixed_point.transform(microphones))[1].round(4))

# %%
# The sounds as files
# -------------------
folder = Path(tempfile.mkdtemp(prefix="cocktail-party-"))
for name, sounds in {"speaker": speakers, "microphone": microphones, "separated": separated}.items():
    for j, sound in enumerate(sounds.T):
        wavfile.write(folder / f"{name}-{j + 1}.wav", RATE, np.int16(30_000 * sound / np.abs(sound).max()))
print(sorted(path.name for path in folder.iterdir()))

# %%
# What was said, what was heard, what was found
# ---------------------------------------------
figure, panels = plt.subplots(3, 3, figsize=(11, 5.4), layout="constrained", sharex=True)
for column, (title, sounds) in enumerate(
    {"spoken": speakers, "heard by three of five microphones": microphones, "taken apart": separated}.items()
):
    panels[0, column].set_title(title, fontsize=10)
    for row in range(3):
        sound = sounds[:, row] / np.abs(sounds[:, row]).max()
        panels[row, column].plot(time, sound, lw=0.3, color=f"C{row}" if column != 1 else "0.4")
        panels[row, column].set(ylim=(-1.05, 1.05), yticks=[])
    panels[2, column].set_xlabel("seconds")
for row in range(3):
    panels[row, 2].text(0.99, 0.04, f"r = {agreement[row]:.3f}", transform=panels[row, 2].transAxes, ha="right")
plt.show()

# %%
# Why Gaussian sources could not be told apart
# --------------------------------------------
# Two sources and two mixtures. White rows of uniform or double-exponential sources show their axes; those of Gaussian
# ones are round, and every rotation is as good as another.
draws = {
    "uniform": rng.uniform(-1, 1, (2000, 2)),
    "Gaussian": rng.normal(size=(2000, 2)),
    "Laplace": rng.laplace(size=(2000, 2)),
}
figure, panels = plt.subplots(1, 3, figsize=(10, 3.5), layout="constrained")
for axes, (name, sources) in zip(panels, draws.items(), strict=True):
    model = FastICA(random_state=0, max_iter=2000, fun="cube").fit(sources @ np.array([[1.0, 0.6], [0.2, 1.0]]))
    white = (sources @ np.array([[1.0, 0.6], [0.2, 1.0]]) - model.mean_) @ model.whitening_.T * np.sqrt(len(sources))
    directions = model.components_ @ np.linalg.pinv(model.whitening_) / np.sqrt(len(sources))
    axes.plot(*white.T, ".", ms=2, color="0.65")
    for j, direction in enumerate(directions):
        axes.annotate("", 2.5 * direction, (0, 0), arrowprops={"arrowstyle": "->", "color": f"C{j}", "lw": 2})
    axes.set(title=f"{name} sources, white", xlim=(-4, 4), ylim=(-4, 4), aspect="equal", xticks=[], yticks=[])
plt.show()
