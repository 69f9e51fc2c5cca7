"""Files of whole numbers take a fast way, which must never change a name."""

import csv
import io
import re
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.core.errors import DataError
from manyhands.io import delimited, read_annotations

PLAIN = re.compile(r"0|-?[1-9][0-9]{0,17}")
ODD = [
    "007",
    "-0",
    "+1",
    "00",
    "-07",
    "1 ",
    " 1",
    "",
    "1.0",
    "1e3",
    "-",
    "--1",
    "9" * 19,
    "1\u0661",
]

plain = st.one_of(
    st.integers(-9, 9), st.integers(-(10**17), 10**17), st.sampled_from([10**18 - 1, 1 - 10**18])
).map(str)
cells = st.one_of(plain, st.sampled_from(ODD))


def naming(texts):
    """How the names of a column are to be read: numbers only where all are plainly written."""
    whole = all(PLAIN.fullmatch(text) for text in texts)
    return [int(text) for text in texts] if whole else list(texts)


@st.composite
def files(draw, cell):
    rows = draw(st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=12))
    if draw(st.booleans()):  # most files have at most one odd cell
        odd = draw(st.sampled_from(ODD))
        row, column = draw(st.sampled_from(range(len(rows)))), draw(st.sampled_from(range(3)))
        rows[row] = (*rows[row][:column], odd, *rows[row][column + 1 :])
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join(["item,annotator,label", *map(",".join, rows)]) + draw(
        st.sampled_from([end, ""])
    )
    alignment = draw(st.integers(0, 3)) if draw(st.booleans()) else 0
    return text[: len(text) - alignment]


def by_hand(text):
    """The rows as Python's csv module sees them, or None where the file must be refused."""
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row][1:]
    if not rows or any(len(row) != 3 for row in rows):
        return None
    if any(not cell.strip() for row in rows for cell in row):
        return None
    item, annotator, label = zip(*rows, strict=True)
    # Where all classes are whole numbers, 1.0 is the class 1; an id written 1.0 is just that.
    short = [text.removesuffix(".0") for text in label]
    said = naming(short) if all(PLAIN.fullmatch(text) for text in short) else list(label)
    return [naming(item), naming(annotator), said]


@settings(max_examples=300)
@given(files(plain) | files(cells), st.sampled_from([1, 2, 3, 5, 8, 13, 1 << 24]))
def test_whole_numbers_are_read_as_the_csv_module_reads_them(tmp_path, text, block):
    path = tmp_path / "labels.csv"
    path.write_bytes(text.encode())
    wanted = by_hand(text)
    with mock.patch.object(delimited, "_CHECKED_BLOCK", block):  # blocks that cut cells anywhere
        if wanted is None:
            with pytest.raises(DataError):
                read_annotations(path, kind="classes")
            return
        ann = read_annotations(path, kind="classes", duplicates="keep")
    told = zip(
        ann.items[ann.item].tolist(),
        ann.annotators[ann.annotator].tolist(),
        ann.label_names().tolist(),
        strict=True,
    )
    assert sorted(told, key=str) == sorted(zip(*wanted, strict=True), key=str)


@pytest.mark.parametrize("block", range(1, 12))
@pytest.mark.parametrize("place", range(9))
def test_an_odd_cell_is_seen_wherever_blocks_begin(place, block, tmp_path):
    numbers = [str(n) for n in (1, 22, 3, 4, 5, 66, 7, 8, 9)]
    numbers[place] = "07"
    rows = [",".join(numbers[n : n + 3]) for n in (0, 3, 6)]
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\n" + "\n".join(rows) + "\n")
    with mock.patch.object(delimited, "_CHECKED_BLOCK", block):
        assert not delimited.holds_plain_integers(path, ",")
    path.write_text(path.read_text().replace("07", "70"))
    with mock.patch.object(delimited, "_CHECKED_BLOCK", block):
        assert delimited.holds_plain_integers(path, ",")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("i,a,l\n1,2,3\n", True),
        ("i,a,l\n1,2,3", True),
        ("i,a,l\r\n1,-2,0\r\n", True),
        ("i\ta\tl\n1\t2\t3\n", False),
        ("i,a,l\n", False),
        ("i,a,l", False),
        ("i,a,l\n\n1,2,3\n", False),
        ("i,a,l\n1,,3\n", False),
        ("i,a,l\n1,2,3\n\n", False),
        ('i,a,l\n"1",2,3\n', False),
        ("i,a,l\n1,2,-\n", False),
        ("i,a,l\n1,2,1-1\n", False),
        ("i,a,l\n1,2," + "1" * 18 + "\n", True),
        ("i,a,l\n1,2," + "1" * 19 + "\n", False),
    ],
)
def test_only_plainly_written_numbers_take_the_fast_way(text, plain, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(text.encode())
    assert delimited.holds_plain_integers(path, ",") is plain
