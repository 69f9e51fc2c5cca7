"""Images of items: a folder of them, or paths in a table, and which item each belongs to."""

import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from manyhands.annotations.grouping import ItemArray
from manyhands.annotations.vocabulary import join_names, name_to_text, normalize_names
from manyhands.core.arrays import AnyArray, object_array
from manyhands.core.errors import DataError
from manyhands.io.pixels import IMAGE_SUFFIXES, of_each, pixels, upright_rgb, upright_size

if TYPE_CHECKING:
    from PIL.Image import Image

OWN = "given"  # the naming of images whose items have names of their own, as in a table
ROW = "row"  # the naming of images in memory: image i belongs to item i
BY_PATH = "path in the folder"  # which no two images share
_NAMINGS: dict[str, Callable[[PurePosixPath, str], str]] = {
    "file name": lambda path, folder: path.name,
    "file name without suffix": lambda path, folder: path.stem,
    BY_PATH: lambda path, folder: str(path),
    f"{BY_PATH} without suffix": lambda path, folder: str(path.with_suffix("")),
    f"folder and {BY_PATH}": lambda path, folder: f"{folder}/{path}",
}
_SKIPPED = ("__MACOSX",)  # what an archive of macOS holds beside the files
_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Images(ItemArray):
    """Images of items, each decoded when it is needed.

    They can be sliced and indexed as an array of items; one image is an image of Pillow, upright
    and in RGB. `items` are the names of their items, and `naming` tells how they are made of
    `paths`. Make them with `read_images`, `Images.from_paths` or `Images.from_list`.
    """

    sources: AnyArray  # paths, images of Pillow, or functions that give one of these
    paths: AnyArray  # names of the images for errors; of files, relative to the folder
    items: AnyArray
    naming: str = OWN
    folder: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def from_paths(
        cls, paths: Iterable[str | Path], items: Iterable[Any] | None = None
    ) -> "Images":
        """Images in these files; items without names of their own are called as their files."""
        files = [str(path) for path in paths]
        names = object_array([Path(file).as_posix() for file in files])
        own = None if items is None else normalize_names(list(items))
        if own is not None and len(own) != len(files):
            raise DataError(f"{len(own)} items for {len(files)} images; give one name per image")
        naming = BY_PATH if own is None else OWN
        return cls(object_array(files), names, names if own is None else own, naming)

    @classmethod
    def from_list(cls, images: Sequence[Any]) -> "Images":
        """Images of Pillow, bytes of files, or functions without arguments that give one."""
        places = object_array([f"image {row}" for row in range(len(images))])
        return cls(object_array(list(images)), places, np.arange(len(images)), ROW)

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def has_names(self) -> bool:
        """Whether items have names; otherwise image i belongs to item i."""
        return self.naming != ROW

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int | np.integer):
            return self._one(int(index))
        kept = np.arange(len(self))[index]
        return replace(
            self, sources=self.sources[kept], paths=self.paths[kept], items=self.items[kept]
        )

    def __repr__(self) -> str:
        return f"Images({len(self)} images: {join_names(self.paths, _SHOWN)})"

    def sizes(self) -> AnyArray:
        """The height and width of every image, shape (i, 2), from the heads of the files.

        Files that are no images are refused, all in one error.
        """
        found = of_each(lambda _, source: upright_size(source), *self._sources_and_places())
        return np.array(found, dtype=np.int64).reshape(len(self), 2)

    def pixels(
        self, size: tuple[int, int], *, done: Callable[[], object] = lambda: None
    ) -> AnyArray:
        """The pixels of the images in one size (height, width), shape (i, 3, h, w), bytes.

        Images of another size are resized to cover it, and cropped at their centre. `done` is
        called after every image.
        """
        found = np.empty((len(self), 3, *size), dtype=np.uint8)

        def put(row: int, source: Any) -> None:
            found[row] = pixels(source, size)
            done()

        of_each(put, *self._sources_and_places())
        return found

    def named(self, naming: str) -> "Images":
        """The same images whose items are called in this way; by their path if two had one name."""
        if self.naming not in _NAMINGS or naming not in _NAMINGS:
            return self
        names = self._names(naming)
        count = Counter(names)
        once = [
            name if count[name] == 1 else str(path)
            for name, path in zip(names, self.paths, strict=True)
        ]
        return replace(self, items=normalize_names(once), naming=naming)

    def matched(self, items: Iterable[Any]) -> "Images":
        """The same images, named as these items are: by path or file name, with suffix or without.

        The naming that finds most items is taken. An item that may be two images is refused.
        """
        wanted = {_plain(name_to_text(item)): name_to_text(item) for item in items}
        if self.naming not in _NAMINGS or not wanted:
            return self
        found = {naming: self._found(naming, wanted) for naming in _NAMINGS}
        most = max(map(len, found.values()))
        best = [naming for naming in _NAMINGS if len(found[naming]) == most]
        if most == 0:
            raise DataError(
                f"{self.folder or 'images'}: no image is called as an item; items are called "
                f"{_examples(wanted)}, and images {_examples(self.paths)}"
            )
        for item in found[best[0]]:
            self._require_one(item, [row for each in best for row in found[each].get(item, [])])
        names = [str(path) for path in self.paths]
        for item, (row, *_) in found[best[0]].items():
            names[row] = wanted[item]
        return replace(self, items=normalize_names(names), naming=best[0])

    def _found(self, naming: str, wanted: Iterable[str]) -> dict[str, list[int]]:
        """The images of every item that is found."""
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(self._names(naming)):
            rows.setdefault(_plain(name), []).append(row)
        return {item: rows[item] for item in wanted if item in rows}

    def _require_one(self, item: str, rows: list[int]) -> None:
        paths = [str(self.paths[row]) for row in dict.fromkeys(rows)]
        if len(paths) > 1:
            raise DataError(
                f"{self.folder or 'images'}: the item {item!r} may be {paths[0]!r} or "
                f"{paths[1]!r}; name the items by their path in the folder"
            )

    def _names(self, naming: str) -> list[str]:
        name, folder = _NAMINGS[naming], Path(self.folder).resolve().name
        return [name(PurePosixPath(path), folder) for path in self.paths]

    def _sources_and_places(self) -> tuple[list[Any], list[str]]:
        """The images, and how errors name them."""
        sources = self.sources.tolist()
        named = zip(sources, self.paths.tolist(), strict=True)
        return sources, [str(Path(one)) if isinstance(one, str) else path for one, path in named]

    def _one(self, row: int) -> "Image":
        sources, places = self[[row]]._sources_and_places()
        return of_each(lambda _, source: upright_rgb(source), sources, places)[0]


def read_images(folder: str | Path) -> Images:
    """The images of a folder and of the folders in it, as `X` of an estimator.

    Files end in .jpg .jpeg .png .webp .bmp .tif .tiff or .gif; of several frames or pages the first
    is read. They are sorted by their path in the folder. When they are fitted to labels, the names
    of the items decide how images are named: by their path in the folder or their file name, with
    or without suffix. Hidden files and links to folders are skipped.
    """
    home = Path(folder)
    if not home.exists():
        raise DataError(f"{home}: no such folder")
    if not home.is_dir():
        raise DataError(f"{home}: is not a folder of images")
    paths, others = _files(home)
    if not paths:
        kinds = f"; its files end in {join_names(sorted(others), _SHOWN)}" if others else ""
        raise DataError(
            f"{home}: has no images (files that end in {' '.join(IMAGE_SUFFIXES)}){kinds}"
        )
    names = object_array(paths)
    files = object_array([str(home / path) for path in paths])
    notes: tuple[str, ...] = ()
    if others:
        n_others, kinds = sum(others.values()), join_names(sorted(others), _SHOWN)
        files_are = "file is" if n_others == 1 else "files are"
        notes = (f"{n_others} other {files_are} not read ({kinds})",)
    return Images(files, names, names, BY_PATH, str(home), notes)


def is_image_path(text: Any) -> bool:
    """Whether a text is the name of an image file, by its suffix."""
    return isinstance(text, str) and text.strip().lower().endswith(IMAGE_SUFFIXES)


def _files(home: Path) -> tuple[list[str], Counter[str]]:
    """The sorted paths of the images in a folder, and how many other files have which suffix."""
    paths: list[str] = []
    others: Counter[str] = Counter()
    for place, folders, names in os.walk(home, onerror=_refuse_folder):  # links are not followed
        folders[:] = [name for name in folders if name[0] != "." and name not in _SKIPPED]
        inside = Path(place).relative_to(home)
        for name in names:
            if name.startswith("."):
                continue
            if is_image_path(name):
                paths.append(_checked_text((inside / name).as_posix()))
            else:
                others[Path(name).suffix.lower() or name] += 1
    return sorted(paths), others


def _refuse_folder(error: OSError) -> None:
    raise DataError(f"{error.filename}: must not be read ({error.strerror})")


def _checked_text(path: str) -> str:
    """The path of a file; a `DataError` unless it can be written in a table."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise DataError(f"{path!a}: the name is not valid UTF-8; rename the file") from None
    return path


def _plain(name: str) -> str:
    """A name in one form of Unicode: file systems and tables write accents in different ways."""
    return unicodedata.normalize("NFC", name)


def _examples(names: Iterable[Any]) -> str:
    return join_names([repr(str(name)) for name in names], 2)
