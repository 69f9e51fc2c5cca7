"""Output files appear whole or not at all."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from manyhands.core.errors import DataError
from manyhands.io import atomic_write, write_table


def test_a_file_takes_its_name_only_when_it_is_whole(tmp_path):
    target = tmp_path / "out.csv"
    with atomic_write(target) as stream:
        stream.write(b"half")
        stream.flush()
        assert not target.exists()
        stream.write(b" and half")
    assert target.read_bytes() == b"half and half"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path, error):
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")

    def fail_half_way():
        with atomic_write(target) as stream:
            stream.write(b"new" * 100_000)
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_process_killed_while_writing_leaves_the_old_file_whole(tmp_path):
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")
    program = (
        "import os, signal, sys\n"
        "from manyhands.io import atomic_write\n"
        "with atomic_write(sys.argv[1]) as stream:\n"
        "    stream.write(b'new' * 100_000)\n"
        "    stream.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, target], check=False)
    assert done.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"


def test_permissions_are_those_of_any_new_file_or_of_the_old_one(tmp_path):
    plain, target = tmp_path / "plain", tmp_path / "out.csv"
    plain.touch()
    with atomic_write(target) as stream:
        stream.write(b"1")
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    target.chmod(0o600)
    with atomic_write(target) as stream:
        stream.write(b"2")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "runs").mkdir()
    real, link = tmp_path / "runs" / "real.csv", tmp_path / "latest.csv"
    real.write_bytes(b"old")
    link.symlink_to(real)
    with atomic_write(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(pipe) as stream:
        stream.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_long_name_is_no_hindrance(tmp_path):
    target = tmp_path / ("n" * 240 + ".csv")
    with atomic_write(target) as stream:
        stream.write(b"1")
    assert target.read_bytes() == b"1"


def test_a_place_where_no_file_can_be_is_told(tmp_path):
    with pytest.raises(DataError, match="no such folder"), atomic_write(tmp_path / "no" / "f.csv"):
        pass
    with pytest.raises(DataError, match="is a folder"), atomic_write(tmp_path):
        pass
    with pytest.raises(DataError, match=r"'\.doc' names no known format .*use one of them"):
        write_table({}, tmp_path / "f.doc")
    assert list(tmp_path.iterdir()) == []
