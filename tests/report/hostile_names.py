"""Labels whose names try to be obeyed by a page, a shell, a sheet or a reader."""

import numpy as np

import manyhands as mh

SCRIPT = "<script>document.title='obeyed'</script>"
IMAGE = "<img src=x onerror=\"document.title='obeyed'\">"
CLOSING = "</script></style></table><h1>obeyed</h1>"
SHEET = "=cmd()"
TURNED = "abc\u202egpj.exe"
HEBREW = "שלום עולם"
TEMPLATE = "{{ 7 * 7 }}{% raw %}"
QUOTES = "\"' onmouseover='document.title=1' x=\"\\u003c`${document.title=1}`"
LONG = "long " * 2000
NAMES = [SCRIPT, IMAGE, CLOSING, SHEET, TURNED, HEBREW, TEMPLATE, QUOTES, LONG, "\x00\x1b[2J\n"]


def hostile_labels(seed=0, n_items=60):
    """Items, annotators and classes with these names; every item has five labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n_items)
    item = np.repeat(np.arange(n_items), 5)
    annotator = np.concatenate([rng.choice(len(NAMES), 5, replace=False) for _ in range(n_items)])
    wrong = rng.random(len(item)) < 0.3
    label = np.where(wrong, rng.integers(0, 4, len(item)), truth[item])
    items = [f"{NAMES[i % len(NAMES)]} {i}" for i in range(n_items)]
    return mh.Annotations.from_arrays(
        np.array(items, dtype=object)[item],
        np.array(NAMES, dtype=object)[annotator],
        np.array([SCRIPT, CLOSING, LONG, HEBREW], dtype=object)[label],
    )
