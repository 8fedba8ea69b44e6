r"""
From prior to posterior to prediction
=====================================

With a conjugate prior the posterior has the prior's form. Left: what is believed of a coin's probability after more and
more tosses, from two different priors; the data soon drown them. Right: the density of the next value of a Gaussian
whose mean and variance are both unknown is a Student's t, with heavier tails than the best single Gaussian as long as
there are few values.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.distributions import Bernoulli, Beta, Gaussian, NormalInverseGamma

figure, (coin, values) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")

tosses = Bernoulli(0.7).sample(60, random_state=2)
p = np.linspace(0, 1, 400)
shades = plt.colormaps["viridis"](np.linspace(0.85, 0.1, 4))
for n, shade in zip((0, 3, 12, 60), shades):
    for prior, style in ((Beta(2, 2), "-"), (Beta(2, 8), "--")):
        after = Bernoulli.posterior(Bernoulli.stats(tosses[:n]), prior) if n else prior
        coin.plot(p, after.prob(p), style, color=shade, label=f"{n} tosses" if style == "-" else None)
coin.axvline(0.7, color="grey", linewidth=0.8)
coin.set(xlabel="probability of 1", ylabel="density", title="two priors (full, dashed) and their posteriors")
coin.legend(frameon=False)

x = np.linspace(-6, 8, 400)
for n, colour in ((4, "tab:orange"), (100, "tab:blue")):
    sample = Gaussian(1.0, 2.0).sample(n, random_state=1)
    after = Gaussian.posterior(Gaussian.stats(sample), NormalInverseGamma(0.0, 0.1, 1.0, 1.0))
    values.plot(x, Gaussian.predictive(after).prob(x), color=colour, label=f"predictive, {n} values")
    values.plot(x, Gaussian.fit(sample).prob(x), "--", color=colour, label=f"maximum likelihood, {n} values")
values.plot(x, Gaussian(1.0, 2.0).prob(x), color="grey", linewidth=0.8, label="true density")
values.set(xlabel="x", ylim=(0, 0.55), title="the next value of a Gaussian")
values.legend(frameon=False, fontsize=8)
plt.show()
