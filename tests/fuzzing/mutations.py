"""Damage to files: bytes, lines, cells, JSON values, tensors and the entries of folders."""

import gzip
import hashlib
import json
import os
import struct
import zlib
from pathlib import Path

_HOSTILE_BYTES = [
    b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r", b"\r\n", b",", b'"', b"\t", b"'",
    b"nan", b"inf", b"-inf", b"1e308", b"1e400", b"-1", b"0", b"9" * 5000, b"[" * 2000,
    b'{"a":' * 500, b"\x1b[31m", b"[bold]", b"\xed\xa0\x80", "\u202e".encode(), b"A" * 100_000,
    b"../../x", b"\\N", b"=1+1", b"1,5", b"True", b"null", b"%s", b"2021-01-01",
]  # fmt: skip
_HOSTILE_VALUES = [
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**400, 1e308, -1e308, 0.5, "", "x",
    "nan", "\0", "\ud800", "\x1b[2J", "[/red]", "../../etc", "/dev/zero", "A" * 10_000, [], {},
    [[]], [None], [1, "a"], {"a": {}}, {"": None}, [[[[[[]]]]]], 10_000_000, "model.json",
]  # fmt: skip


_TEXTS = {".csv", ".tsv", ".txt", ".conll", ".bio"}


def damage(path, rng, others=()):
    """Damage a file or an entry of a folder in one to four ways; returns what was done."""
    target = Path(path)
    if target.is_dir():
        return _damage_folder(target, rng)
    return [_damage_file(target, rng, others) for _ in range(rng.choice([1, 1, 1, 1, 2, 4]))]


def _damage_file(path, rng, others):
    content = path.read_bytes()
    if path.suffix == ".gz" and rng.random() < 0.7:
        return _damage_packed(path, rng, others)
    ways = [_flip, _cut, _remove, _repeat, _insert, _replace, _swap_lines, _splice]
    ways += [_json_value] * 24 if path.suffix in {".json", ".jsonl"} else []
    ways += [_parquet] * 24 if path.suffix == ".parquet" else []
    ways += [_cell] * 12 + [_number] * 6 if path.suffix in _TEXTS else []
    way = rng.choice(ways)
    if way is _parquet:
        _parquet(path, rng)
    elif way is _splice:
        path.write_bytes(_splice(content, rng, others))
    else:
        path.write_bytes(way(content, rng))
    return f"{path.name}: {way.__name__}"


def _damage_packed(path, rng, others):
    """Damage what is in a gzip file."""
    inner = path.with_suffix("")
    try:
        inner.write_bytes(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, zlib.error):  # damaged before
        return f"{path.name}: left as it is"
    done = _damage_file(inner, rng, others)
    path.write_bytes(gzip.compress(inner.read_bytes(), mtime=0))
    inner.unlink()
    return done


def _flip(content, rng):
    if not content:
        return b"\0"
    found = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _some(content, rng):
    first = rng.randrange(len(content) + 1)
    return first, min(len(content), first + rng.choice([1, 2, 8, 64, 512]))


def _cut(content, rng):
    return content[: rng.randrange(len(content) + 1)]


def _remove(content, rng):
    first, last = _some(content, rng)
    return content[:first] + content[last:]


def _repeat(content, rng):
    first, last = _some(content, rng)
    return content[:first] + content[first:last] * rng.choice([2, 3, 100]) + content[last:]


def _insert(content, rng):
    first, _ = _some(content, rng)
    return content[:first] + rng.choice(_HOSTILE_BYTES) + content[first:]


def _replace(content, rng):
    first, last = _some(content, rng)
    return content[:first] + rng.choice(_HOSTILE_BYTES) + content[last:]


def _swap_lines(content, rng):
    lines = content.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


def _cell(content, rng):
    """Another content of one cell of a line, or of a whole column."""
    lines = content.split(b"\n")
    mark = next((each for each in (b"\t", b",", b" ") if each in lines[0]), b",")
    line, said = rng.randrange(len(lines)), rng.choice(_HOSTILE_BYTES)
    place = rng.randrange(lines[line].count(mark) + 1)
    chosen = [line] if rng.random() < 0.7 else range(1, len(lines))
    for each in chosen:
        cells = lines[each].split(mark)
        if place < len(cells):
            cells[place] = said
            lines[each] = mark.join(cells)
    return b"\n".join(lines)


def _number(content, rng):
    """Another size of the numbers: every digit of a run."""
    first, last = _some(content, rng)
    grown = content[first:last].replace(b"1", rng.choice([b"1e30", b"111111111111", b"-1", b".1"]))
    return content[:first] + grown + content[last:]


def _splice(content, rng, others):
    if not others:
        return _cut(content, rng)
    other = Path(rng.choice(list(others))).read_bytes()
    first, last = _some(content, rng)
    start = rng.randrange(len(other) + 1)
    return content[:first] + other[start : start + rng.choice([16, 512, 10**6])] + content[last:]


def _json_value(content, rng):
    """Another value somewhere in the JSON of a file, or of one of its lines."""
    lines = content.decode("utf-8", "replace").split("\n")
    line = rng.randrange(len(lines)) if _is_json(lines[0]) else None
    text = lines[line] if line is not None else "\n".join(lines)
    if not _is_json(text):
        return _flip(content, rng)
    changed = json.dumps(_changed(json.loads(text), rng))
    if rng.random() < 0.1:
        changed = changed.replace(": ", ': 1, "item": ', 1)  # a repeated key
    if line is None:
        return changed.encode()
    lines[line] = changed
    return "\n".join(lines).encode("utf-8", "replace")


def _is_json(text):
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _changed(value, rng):
    inner = isinstance(value, dict | list) and len(value) > 0
    if not inner or rng.random() < 0.15:
        return rng.choice(_HOSTILE_VALUES)
    places = sorted(value) if isinstance(value, dict) else range(len(value))
    place = rng.choice(list(places))
    found = dict(value) if isinstance(value, dict) else list(value)
    way = rng.random()
    if way < 0.15:
        del found[place]
    elif way < 0.25 and isinstance(value, dict):
        found[str(rng.choice(_HOSTILE_VALUES))] = found.pop(place)
    else:
        found[place] = _changed(found[place], rng)
    return found


def _parquet(path, rng):
    """Another type or another value of one column."""
    import pandas as pd

    try:
        table = pd.read_parquet(path)
    except Exception:  # damaged before
        return
    if table.columns.empty or rng.random() < 0.1:
        table[[]].to_parquet(path)
        return
    column = rng.choice(list(table.columns))
    some = [
        [b"\xff\x00"], [None], [float("nan")], [10**12], [[1, 2]], [{"a": 1}], ["\0"], [True],
        [1e308], [pd.Timestamp(0)], [pd.Timedelta(1)], [""],
    ]  # fmt: skip
    values = (rng.choice(some) * max(1, len(table)))[: len(table)]
    table[column] = pd.Series(values, index=table.index)
    kept = table if rng.random() < 0.8 else table.head(rng.choice([0, 1]))
    kept.to_parquet(path)


def _damage_folder(folder, rng):
    """Damage a file in a folder; the checksum of arrays is often corrected afterwards."""
    found = sorted(each for each in folder.rglob("*") if each.is_file() and not each.is_symlink())
    files = [each for each in found if not each.name.startswith("others")]
    if not files:
        return []
    target = rng.choice(files)
    way = rng.choice(["content"] * 6 + ["tensors"] * 4 + ["entry"] * 2)
    tensors = [each for each in files if each.suffix == ".safetensors"]
    if way == "tensors" and tensors:
        target = rng.choice(tensors)
        target.write_bytes(_tensors(target.read_bytes(), rng))
    elif way == "entry":
        return [_entry(target, rng)]
    else:
        done = [_damage_file(target, rng, files)]
        _correct_checksums(folder)
        return done
    _correct_checksums(folder)
    return [f"{target.name}: {way}"]


def _tensors(content, rng):
    """Another header of a safetensors file, with the right length, or other numbers."""
    size = struct.unpack("<Q", content[:8])[0]
    header, rest = json.loads(content[8 : 8 + size]), content[8 + size :]
    if rng.random() < 0.4:
        values = bytearray(rest)
        for _ in range(rng.choice([1, 4, 64])):
            if values:
                values[rng.randrange(len(values))] = rng.choice([0, 0x7F, 0x80, 0xFF])
        return content[: 8 + size] + bytes(values)
    changed = json.dumps(_changed(header, rng)).encode()
    return struct.pack("<Q", len(changed)) + changed + rest


def _correct_checksums(folder):
    for path in folder.rglob("*.json"):
        try:
            header = json.loads(path.read_bytes())
            arrays = path.parent / header["tensors"]
            header["sha256"] = hashlib.sha256(arrays.read_bytes()).hexdigest()
            path.write_text(json.dumps(header))
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            continue


def _entry(target, rng):
    """Something else in place of a file: nothing, a pipe, a folder, or a link."""
    way = rng.choice(["removed", "pipe", "folder", "endless", "loop", "link"])
    target.unlink()
    if way == "pipe":
        os.mkfifo(target)
    elif way == "folder":
        target.mkdir()
    elif way in {"endless", "loop", "link"}:
        aims = {"endless": "/dev/zero", "loop": target.name, "link": "../../others.txt"}
        target.symlink_to(aims[way])
    return f"{target.name}: {way}"
