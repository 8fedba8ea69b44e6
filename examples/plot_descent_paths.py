r"""
Ways down a valley
==================

Four methods of :func:`didact.optimize.minimize` from the same start, on contours of two functions: a quadratic, whose
valley is straight and twelve times as long as wide, and Rosenbrock's function
:math:`(1-x)^2 + 100(y-x^2)^2`, whose valley is bent.
"""

import matplotlib.pyplot as plt
import numpy as np

from didact.optimize import minimize

CURVATURE = np.diag([1.0, 12.0])


def bowl(x):
    """A quadratic, with its gradient."""
    return 0.5 * x @ CURVATURE @ x, CURVATURE @ x


def banana(x):
    """Rosenbrock's function, with its gradient."""
    a, b = x
    bend = b - a**2
    return (1 - a) ** 2 + 100 * bend**2, np.array([-2 * (1 - a) - 400 * a * bend, 200 * bend])


def banana_hessian(x):
    """Its second derivatives."""
    a, b = x
    return np.array([[2 - 400 * b + 1200 * a**2, -400 * a], [-400 * a, 200.0]])


# %%
# The methods, each with its best step where there is one in closed form. All keep their iterates.
COLORS = {"gradient": "tab:blue", "momentum": "tab:green", "cg": "tab:orange", "newton": "tab:red"}
LABELS = {"gradient": "gradient descent", "momentum": "momentum", "cg": "conjugate gradients", "newton": "Newton"}
how = {
    "bowl": {"gradient": {"step": "optimal"}, "momentum": {"step": "optimal"}},
    "banana": {"momentum": {"step": 5e-4}},
}
problems = {
    "bowl": (bowl, [4.0, 1.1], CURVATURE, (-3.2, 4.6), (-2.1, 2.1), "A quadratic"),
    "banana": (banana, [-1.2, 1.0], banana_hessian, (-1.7, 1.5), (-0.7, 1.9), "Rosenbrock's function"),
}


def descend(name, method):
    """The run of one method on one function."""
    fun, start, hess = problems[name][:3]
    return minimize(fun, start, method, True, hess, max_iter=100_000, keep_iterates=True, **how[name].get(method, {}))


runs = {name: {method: descend(name, method) for method in COLORS} for name in problems}
for name, results in runs.items():
    for method, result in results.items():
        print(f"{name:8s} {LABELS[method]:20s} {result.n_iter:6d} iterations, f = {result.value:.1e}")

# %%
figure, panels = plt.subplots(2, 2, figsize=(11, 7.6), layout="constrained", width_ratios=(1.35, 1))
for (axes, course), (name, (fun, start, _, across, up, title)) in zip(panels, problems.items()):
    a, b = np.meshgrid(np.linspace(*across, 241), np.linspace(*up, 241))
    height = np.array([fun(x)[0] for x in np.column_stack([a.ravel(), b.ravel()])]).reshape(a.shape)
    levels = height.max() * np.linspace(0, 1, 17)[1:] ** 3
    axes.contour(a, b, height, levels=levels, colors="0.8", linewidths=0.8, zorder=0)
    for method, result in runs[name].items():
        trace = result.trace
        axes.plot(*trace.iterates.T, ".-", color=COLORS[method], linewidth=1, markersize=3, label=LABELS[method])
        course.plot(np.arange(len(trace.values)) + 1, np.maximum(trace.values, 1e-16), color=COLORS[method])
    axes.plot(*start, "o", color="black", markersize=7, fillstyle="none")
    axes.plot(*runs[name]["newton"].x, "*", color="black", markersize=11)
    axes.set(xlim=across, ylim=up, xlabel="$x_1$", ylabel="$x_2$", title=title)
    course.set(xscale="log", yscale="log", ylim=(1e-13, None), xlabel="iteration, counted from 1", ylabel="f − min f")
panels[0, 0].legend(framealpha=1, edgecolor="none", loc="lower left", fontsize=9)
plt.show()

# %%
# On the quadratic, Newton's method needs one step and conjugate gradients as many as there are variables. Gradient
# descent zigzags between the walls. With the best constant step each iteration takes the value down by the factor
# :math:`((Q-1)/(Q+1))^2`, where Q = 12 is the ratio of the largest to the smallest curvature; the result knows it:
steepest = runs["bowl"]["gradient"]
print(f"predicted {steepest.predicted_rate:.4f}, seen {steepest.history[20] / steepest.history[19]:.4f}")

# %%
# In the bent valley no constant step is good: short ones crawl along its floor, long ones leave it. Momentum gathers
# speed along the floor; methods that know the curvature follow the bend.
