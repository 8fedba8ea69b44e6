"""Losses of other people: any object with `grad_hess(y, z)` on arrays answers what a `Loss` is asked."""

from typing import Any

from didact.core.typing import AnyArray
from didact.parts.losses.classification import ClassLoss
from didact.parts.noun import Loss

DEFAULTS = {"classes": None, "steep": False, "leaf_width": 0.0, "support": "any number"}


class Foreign:
    """An object with `grad_hess(y, z)`, perhaps `value(y, z)` and `inverse(z)`, and whatever of a `Loss` it has."""

    in_domain, best_constant, for_classes = Loss.in_domain, Loss.best_constant, Loss.for_classes

    def __init__(self, given: Any) -> None:
        self.given = given
        curvature = "exact" if getattr(given, "smooth", True) else "one"
        self.defaults = DEFAULTS | {"curvature": curvature, "leaf_quantile": getattr(given, "q", None)}

    def __getattr__(self, name: str) -> Any:
        if name in ("given", "defaults") or name.startswith("__"):  # asked for before they are set: by copies
            raise AttributeError(name)
        return getattr(self.given, name, self.defaults[name]) if name in self.defaults else getattr(self.given, name)

    def mean(self, z: AnyArray) -> AnyArray:
        """What the object's `inverse` makes of z; without one as any loss."""
        return self.given.inverse(z) if hasattr(self.given, "inverse") else Loss.mean(self, z)  # type: ignore[arg-type]


def as_loss(given: Any) -> Any:
    """The loss itself, or another object in the part of one."""
    return given if isinstance(given, (Loss, ClassLoss, Foreign)) else Foreign(given)
