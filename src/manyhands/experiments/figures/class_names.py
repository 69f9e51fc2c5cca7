"""What the classes mean, in corpora whose files only have codes."""

from collections.abc import Sequence

CLASS_NAMES = {
    "labelme": (
        "highway", "inside city", "tall building", "street", "forest", "coast", "mountain",
        "open country",
    ),
    "sentiment": ("negative", "positive"),
}  # fmt: skip


def class_names(dataset: str, classes: Sequence[str]) -> list[str]:
    """The names of the classes 0, 1 ... of a corpus; other classes stay as they are.

    >>> class_names("sentiment", ["0", "1"])
    ['negative', 'positive']
    >>> class_names("music", ["jazz", "rock"])
    ['jazz', 'rock']
    """
    known = {str(code): name for code, name in enumerate(CLASS_NAMES.get(dataset, ()))}
    return [known.get(name, name) for name in classes]
