"""Fits by the Triton kernels on the CPU, beside those of compiled loops; prints one JSON line each.

Triton interprets its kernels if TRITON_INTERPRET is set before it is imported, so this runs in a
process of its own: `python triton_interpreter.py`.
"""

import json
import sys

import numpy as np
from triton.runtime import interpreter

from manyhands.aggregation import AGGREGATORS, device
from manyhands.annotations import Annotations

SETTINGS = {"ebcc": {"n_subtypes": 2}, "annotator-types": {"n_starts": 1}}
_patch_tensor = interpreter._patch_lang_tensor


def patch_tensor(tensor, scope):
    """Bounds of loops are arrays of one element, which newer versions of numpy do not convert."""
    _patch_tensor(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))


def main():
    interpreter._patch_lang_tensor = patch_tensor
    from manyhands.aggregation.kernels import triton_steps

    device.open_device = lambda: ("cpu", triton_steps)
    rng = np.random.default_rng(0)
    for n_items, n_annotators, n_classes, n_labels in ((30, 5, 3, 150), (9, 1, 2, 150)):
        columns = (rng.integers(n, size=n_labels) for n in (n_items, n_annotators, n_classes))
        ann = Annotations.from_arrays(
            *columns,
            items=range(n_items + 2),
            annotators=range(n_annotators + 2),
            classes=range(n_classes),
        )
        for name, model in AGGREGATORS.items():
            if not model.has_device_pass:
                continue
            settings = {} if name == "majority" else {"max_iter": 3, **SETTINGS.get(name, {})}
            here, there = (
                model(device=where, **settings).fit(ann, {0: 1}) for where in ("cpu", "cuda")
            )
            difference = np.abs(np.subtract(here.probabilities, there.probabilities)).max()
            gap = np.abs(np.subtract(here.objective, there.objective)).max(initial=0.0)
            row = {"method": name, "difference": float(difference), "objective": float(gap)}
            sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
