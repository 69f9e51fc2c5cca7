"""What figures share: colours, heat maps, and axes without clutter.

matplotlib is imported only when a figure is drawn.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from manyhands.core.arrays import Floats

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.image

Axes: TypeAlias = "matplotlib.axes.Axes"
AxesImage: TypeAlias = "matplotlib.image.AxesImage"

INK, SOFT, BLUE, ORANGE, GREEN, RED = (
    "#222222", "#8a8a8a", "#2166ac", "#e08214", "#1b7837", "#b2182b",
)  # fmt: skip


def matplotlib_module(name: str) -> Any:
    """A module such as "matplotlib.figure"; the error says how to install matplotlib."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "matplotlib":
            raise
        raise ModuleNotFoundError(
            "figures need matplotlib: pip install 'manyhands[plot]'", name=error.name
        ) from None


def heat_map(
    axes: Axes,
    values_kl: Any,
    *,
    highest: float,
    lowest: float = 0.0,
    names: Sequence[str] = (),
    numbers: str = "",
    dark: float = 0.6,
    signed: bool = False,
) -> AxesImage:
    """A matrix as a heat map, from white (`lowest`) to `highest`; row = true class, column = label.

    A `signed` map is blue above 0 and red below, with the same scale on both sides. `numbers` is
    the format of numbers to write, in white from the share `dark` of `highest` on.
    """
    shown_kl: Floats = np.asarray(values_kl, dtype=np.float64)
    image = axes.imshow(shown_kl, cmap="RdBu" if signed else "Blues", vmax=highest,
                        vmin=-highest if signed else lowest)  # fmt: skip
    if names:
        axes.set_xticks(range(shown_kl.shape[1]), names, rotation=90, fontsize=7)
        axes.set_yticks(range(shown_kl.shape[0]), names, fontsize=7)
    else:
        axes.set_xticks([])
        axes.set_yticks([])
    if numbers:
        for row, column in np.argwhere(np.isfinite(shown_kl)).tolist():
            value = shown_kl[row, column]
            axes.text(column, row, f"{value:{numbers}}", ha="center", va="center", fontsize=7,
                      color="white" if abs(value) > dark * highest else INK)  # fmt: skip
    return image


def tidy(axes: Axes, *, across: str, up: str, title: str = "") -> None:
    """Label both axes and remove the frame on the sides without numbers."""
    label(axes, across=across, up=up, title=title)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def label(axes: Axes, *, across: str, up: str, title: str = "") -> None:
    """Label both axes."""
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(across, fontsize=9)
    axes.set_ylabel(up, fontsize=9)
