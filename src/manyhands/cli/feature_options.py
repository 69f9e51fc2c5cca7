"""How the commands that use features read them: numbers, texts or images."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli.options import OptionGroup, ReadingOptions, in_labels
from manyhands.cli.output import remark, told_features

_LARGE = 1 << 30  # bytes of an array that is mapped
FeaturesFile = Annotated[
    str, typer.Argument(metavar="FEATURES", help="Numbers: a table with one row per item, a column "
                        "that names it and numbers in all others (.csv .tsv .parquet .jsonl "
                        ".xlsx), or "
                        "an array with one row per item (.npy .npz). Texts: one per line (.txt), "
                        "or a table with a column named text, and one named text_pair for pairs. "
                        "Images: a folder, or a table with a column of paths. Tokens (.conll .bio)."
                        " May be packed (.gz .zip ...) or - for standard input.")
]  # fmt: skip


@dataclass(frozen=True)
class FeatureColumns(OptionGroup):
    """Which column of a table of features holds them, if not all."""

    text: Annotated[str | None, in_labels("Column of texts.", metavar="NAME")] = None
    text_pair: Annotated[
        str | None, in_labels("Column of the second texts of pairs.", metavar="NAME")
    ] = None
    image: Annotated[str | None, in_labels("Column of paths of images.", metavar="NAME")] = None

    def read(self, path: str, reading: ReadingOptions, *, mmap: bool = False) -> "mh.io.Features":
        """Features of the items; --item counts if their table has such a column.

        With `mmap` an array is not read but mapped, as is one of more than a GiB.
        """
        large = Path(path).is_file() and Path(path).stat().st_size > _LARGE
        sheet = None if Path(path).is_dir() else mh.io.sheet_of(path, reading.sheet)
        named = mh.io.column_names(path, encoding=reading.encoding, sheet=sheet)
        found = mh.read_features(
            path,
            item=reading.item if reading.item in named else None,
            text=self.text,
            text_pair=self.text_pair,
            image=self.image,
            encoding=reading.encoding,
            sheet=sheet,
            mmap=mmap or large,
        )
        return told_features(found, path)


def matched(table: "mh.io.Features", ann: "mh.Annotations", path: str) -> "mh.io.Features":
    """The features with images named as the labelled items are, after a note that tells how."""
    found = table.matched(ann.items[ann.labels_per_item > 0].tolist())
    if found.kind == "images" and found.values.has_names:
        labelled = set(map(str, ann.items.tolist()))
        n_others = sum(str(name) not in labelled for name in found.items.tolist())
        rest = f"; {n_others} images have no labels" if n_others else ""
        how = "" if found.naming == "given" else f", whose items are named by {found.naming}"
        remark(f"note: {path}: {len(found)} images{how}{rest}")
    return found
