"""Where annotations were read from, and what was taken for item, annotator and label."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A file of labels and how it was read.

    `item`, `annotator` and `label` are names of columns; empty where the layout has none. `notes`
    tell what a reader of the file should know: what was left out, and what was merged.
    """

    path: str
    layout: str
    item: str = ""
    annotator: str = ""
    label: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """What was taken, in one line.

        >>> str(Source("labels.csv", "long", "id", "worker", "answer"))
        'items: id, annotators: worker, labels: answer'
        """
        if self.layout == "wide":
            return f"items: {self.item}, annotators: {self.annotator}, labels: their cells"
        if self.layout == "dense":
            return "items: rows, annotators: columns, labels: cells"
        if self.layout == "nested":
            return "items: keys, annotators: keys in them, labels: values"
        return f"items: {self.item}, annotators: {self.annotator}, labels: {self.label}"

    def as_dict(self) -> dict[str, object]:
        """The fields that are not empty, for JSON."""
        found = {
            "layout": self.layout,
            "item": self.item,
            "annotator": self.annotator,
            "label": self.label,
            "notes": list(self.notes),
        }
        return {name: value for name, value in found.items() if value}
