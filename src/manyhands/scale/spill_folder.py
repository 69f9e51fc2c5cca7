"""The folder of the parts: new, or of an earlier run that is continued."""

import hashlib
import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from manyhands.core.arrays import Offsets
from manyhands.core.errors import DataError, SettingName
from manyhands.io.bundle import has_bundle, read_bundle, write_bundle
from manyhands.io.folders import locked_folder, make_folder
from manyhands.scale.part_file import read_names, write_names

_NAME = "labels"  # of the bundle that is written when all parts are, and of its folder
_OURS = ("rows-*.arrow", "part-*", "runs-*", "annotators.json", "classes.json", _NAME)


class SpillFolder:
    """A folder that is held by this process until `close`, which removes what is in it."""

    def __init__(
        self, folder: str | Path | None, *, resume: bool = False, near: Path | None = None
    ) -> None:
        self._held = ExitStack()
        self.is_named = folder is not None
        if folder is None:
            self.path = Path(tempfile.mkdtemp(prefix=".manyhands-", dir=near))
        else:
            self.path = make_folder(folder)
            self._held.enter_context(locked_folder(self.path))
            self._require_free(resume)

    def _require_free(self, resume: bool) -> None:
        ours = {path for pattern in _OURS for path in self.path.glob(pattern)}
        others = [path for path in self.path.iterdir() if path not in ours]
        if others or (ours and not resume):
            remedy = ("name a new or an empty folder",)
            if not others:
                remedy = ("continue it with ", SettingName("resume", True), ", or name another")  # type: ignore[assignment]
            what = "has other files" if others else "has the labels of an earlier run"
            self._held.close()
            raise DataError(f"{self.path}: {what}; ", *remedy)

    def continued(self, fingerprint: str) -> dict[str, Any] | None:
        """What an earlier run wrote about the same labels; None if it did not come so far."""
        if not has_bundle(self.path / _NAME, _NAME):
            self.clear()
            return None
        arrays, header = read_bundle(self.path / _NAME, _NAME)
        if header["fingerprint"] != fingerprint:
            raise DataError(
                f"{self.path}: has parts of other labels, or read with other settings; name a new "
                "folder"
            )
        return header | {
            "per_annotator": arrays["per_annotator"].copy(),
            "annotators": read_names(self.path / "annotators.json", "annotator"),
            "classes": read_names(self.path / "classes.json", "class"),
        }

    def complete(self, fingerprint: str, per_annotator: Offsets, **facts: Any) -> None:
        """Note that all parts are written; `facts` are what a later run needs to know."""
        for name in ("annotators", "classes"):
            write_names(self.path / f"{name}.json", facts.pop(name))
        header = {"fingerprint": fingerprint, **facts}
        write_bundle(self.path / _NAME, _NAME, {"per_annotator": per_annotator}, header)

    def clear(self) -> None:
        """Remove what we wrote."""
        for pattern in _OURS:
            for path in self.path.glob(pattern):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the parts and give the folder back."""
        self.clear()
        self._held.close()
        if self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()

    def stop(self) -> None:
        """Give the folder back; what another run can continue stays in it."""
        if self.is_named:
            self._held.close()
        else:  # nobody would find it again
            self.close()


def fingerprint_of(*facts: object) -> str:
    """A checksum of what decides about the content of parts."""
    text = json.dumps(facts, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()
