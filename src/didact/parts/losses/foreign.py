"""Losses from outside didact: an adapter that gives any object with `grad_hess(y, z)` the interface of a `Loss`."""

from typing import Any

from didact.core.typing import AnyArray
from didact.core.validation.entrance import entrance
from didact.parts.losses.classification import ClassLoss
from didact.parts.noun import Loss

DEFAULTS = {"classes": None, "steep": False, "leaf_width": 0.0, "support": "any number"}


class Foreign:
    """Adapter for an object with `grad_hess(y, z)`; whatever else of a `Loss` it defines is used, the rest defaults."""

    in_domain, best_constant, for_classes = Loss.in_domain, Loss.best_constant, Loss.for_classes

    def __init__(self, given: Any) -> None:
        self.given = given
        curvature = "exact" if getattr(given, "smooth", True) else "one"
        self.defaults = DEFAULTS | {"curvature": curvature, "leaf_quantile": getattr(given, "q", None)}

    def __getattr__(self, name: str) -> Any:
        if name in ("given", "defaults") or name.startswith("__"):  # copying asks for them before they are set
            raise AttributeError(name)
        return getattr(self.given, name, self.defaults[name]) if name in self.defaults else getattr(self.given, name)

    def mean(self, z: AnyArray) -> AnyArray:
        """The object's `inverse(z)` if it has one, else the default of `Loss`."""
        return self.given.inverse(z) if hasattr(self.given, "inverse") else Loss.mean(self, z)  # type: ignore[arg-type]


@entrance()
def as_loss(given: Any) -> Any:
    """The loss itself; any other object is wrapped in `Foreign`."""
    return given if isinstance(given, (Loss, ClassLoss, Foreign)) else Foreign(given)
