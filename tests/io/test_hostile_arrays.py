"""Arrays that are cut, changed, or hold something else: one line, and no code is run."""

import io
import zipfile

import numpy as np
import pytest

import manyhands as mh
from manyhands.core.errors import DataError


def archive(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


GOOD = archive(x=np.ones((3, 2)), items=np.array(["a", "b", "c"]))
OBJECTS = np.array([{}, 1, "x"], dtype=object)


def changed(content, at, to):
    return content[:at] + to + content[at + len(to) :]


def zipped(name, content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        made.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        GOOD[:-30],
        GOOD[: len(GOOD) // 2],
        GOOD[:40],
        changed(GOOD, 150, b"\x00\xff\x00\xff"),
        changed(GOOD, 30, b"\xff" * 20),
        archive(x=OBJECTS),
        archive(x=np.ones((3, 2)), items=OBJECTS),
        archive(x=np.ones((3, 2)), items=np.array([b"a", b"b", b"c"])),
        archive(x=np.ones((3, 2)), items=np.ones((3, 3))),
        archive(x=np.array(["some", "text"])),
        zipped("x.npy", b"this is text"),
        zipped("x.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': 1/0}   \n"),
        b"PK\x03\x04" + b"\x00" * 50,
    ],
)
def test_an_archive_is_read_or_refused_in_one_line(content, tmp_path):
    path = tmp_path / "features.npz"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        mh.read_features(path)
    assert "\n" not in str(error.value)
    assert "pickle" not in str(error.value)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (10**9, 10**9)}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 2)}",
        b"{'descr': 'nothing', 'fortran_order': False, 'shape': (3, 2)}",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (3, 2)}",
        b"{",
        b"\xff\xfe",
    ],
)
@pytest.mark.parametrize("read", [mh.read_features, mh.read])
def test_a_header_is_not_believed(header, read, tmp_path):
    path = tmp_path / "x.npy"
    padded = header.ljust(117) + b"\n"
    path.write_bytes(
        b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + b"\x00" * 48
    )
    with pytest.raises(DataError) as error:
        read(path)
    assert "\n" not in str(error.value)


def test_a_good_archive_is_read(tmp_path):
    (tmp_path / "x.npz").write_bytes(GOOD)
    assert mh.read_features(tmp_path / "x.npz").items.tolist() == ["a", "b", "c"]
