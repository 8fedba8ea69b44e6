"""What is covered: the names of scikit-learn that run here under `didact.accelerate`, by module."""

from didact.core.compat.signatures import SIGNATURES

CLASSES: dict[str, tuple[str, ...]] = {module: tuple(names) for module, names in SIGNATURES.items()}
CLASSES["ensemble"] += ("VotingRegressor",)  # whose constructor is scikit-learn's own
FUNCTIONS: dict[str, tuple[str, ...]] = {
    "linear_model": ("enet_path", "lasso_path"),
    "neighbors": ("kneighbors_graph", "radius_neighbors_graph"),
}
MODULES = {name: module for table in (CLASSES, FUNCTIONS) for module, names in table.items() for name in names}
