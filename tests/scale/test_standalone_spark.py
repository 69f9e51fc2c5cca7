"""A standalone Spark cluster of a master and two workers: one is killed, and nothing changes."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest
from part_tables import assert_same, class_table, in_memory, number_table, write

import manyhands as mh
from manyhands.scale import spark as spark_parts

pytestmark = pytest.mark.slow
LIMIT_S = 120  # against a hang alone


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(condition):
    pause = threading.Event()
    for _ in range(10 * LIMIT_S):
        if condition():
            return
        pause.wait(0.1)
    pytest.fail("the cluster did not start")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a master, and its two workers of one core; the last test kills one."""
    tmp_path = tmp_path_factory.mktemp("cluster")
    pyspark = pytest.importorskip("pyspark")
    home = Path(pyspark.__file__).parent
    port = free_port()
    environment = os.environ | {
        "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_NO_DAEMONIZE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "SPARK_LOCAL_IP": "127.0.0.1",
    }  # fmt: skip
    started = []

    def start(name, *words):
        log = tmp_path / f"{name}.log"
        command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{words[0]}", *words[1:]]
        with log.open("w") as output:
            process = subprocess.Popen(
                command, env=environment, stdout=output, stderr=output, start_new_session=True
            )
        started.append(process)
        return process, log

    address = f"spark://127.0.0.1:{port}"
    try:
        _, log = start("master", "master.Master", "--host", "127.0.0.1", "--port", str(port),
                       "--webui-port", "0")  # fmt: skip
        wait_for(lambda: "I have been elected leader" in log.read_text())
        workers = []
        for name in ("one", "two"):
            own = ["-c", "1", "-m", "1g", "-d", str(tmp_path / name)]
            worker, log = start(
                name, "worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", *own, address
            )
            wait_for(lambda log=log: "Successfully registered with master" in log.read_text())
            workers.append(worker)
        yield address, workers
    finally:
        for process in started:  # a worker ends its executors too
            process.terminate()
        for process in started:
            process.wait(LIMIT_S)


@pytest.fixture(scope="module")
def session(cluster):
    pyspark = pytest.importorskip("pyspark")
    running = pyspark.sql.SparkSession.getActiveSession()
    if running is not None:  # of another test
        running.stop()
    builder = pyspark.sql.SparkSession.builder.master(cluster[0])
    for name, value in {
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "2",
        "spark.executor.memory": "1g", "spark.executor.cores": "1",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }.items():  # fmt: skip
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    yield made
    made.stop()


def executors_of(worker):
    """The processes that a worker started."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parent = (each / "stat").read_text().rpartition(")")[2].split()[1]
            found += [int(each.name)] * (int(parent) == worker.pid)
        except OSError:  # it has just ended
            continue
    return found


SHORT = {"majority": {}, "mean": {}, "one-coin": {"max_iter": 2}, "glad": {"max_iter": 2},
         "mixture": {"max_iter": 3, "n_restarts": 2}, "gaussian": {"max_iter": 1}}  # fmt: skip


@pytest.mark.parametrize("method", SHORT)
def test_a_cluster_gives_what_memory_gives(session, method, tmp_path):
    is_numbers = mh.AGGREGATORS[method].kind == "numbers"
    path = write(number_table() if is_numbers else class_table(), tmp_path / "labels.parquet")
    labels = session.read.parquet(path)
    with mh.scale.aggregate(labels, method, parts=3, **SHORT[method]) as found:
        items = found.to_frame().toArrow().to_pandas().sort_values("item", ignore_index=True)
        tables = items, pd.DataFrame(found.annotator_columns()), found
        assert_same(tables, in_memory(path, method, settings=SHORT[method]))


def test_a_killed_worker_does_not_change_the_result(cluster, session, tmp_path, monkeypatch):
    """Labels lie in two files, with repeats of each other and rows of no item of the first."""
    table, folder = class_table(), tmp_path / "labels"
    folder.mkdir()
    write(table[:400], folder / "1.parquet")
    write(pd.concat([table[400:], table[:30]]), folder / "2.parquet")
    write(table[:0], folder / "3.parquet")  # a partition without rows
    files = [str(folder / f"{place}.parquet") for place in (1, 2)]
    status = session.sparkContext._jsc.sc().getExecutorMemoryStatus
    wait_for(lambda: status().size() == 3)  # the driver is the third
    total, steps = spark_parts.SparkParts.total, []
    worker = cluster[1][0]

    def lose(self, statistic, *arguments):
        steps.append(statistic)
        if len(steps) == 4:
            for process in (*executors_of(worker), worker.pid):
                os.kill(process, signal.SIGKILL)
                steps.append("killed")
        return total(self, statistic, *arguments)

    monkeypatch.setattr(spark_parts.SparkParts, "total", lose)
    labels, settings = session.read.parquet(str(folder)), {"max_iter": 3}
    with mh.scale.aggregate(labels, "dawid-skene", parts=5, **settings) as found:
        items = found.to_frame().toArrow().to_pandas().sort_values("item", ignore_index=True)
        tables = items, pd.DataFrame(found.annotator_columns()), found
        assert steps.count("killed") >= 2  # the worker and its executors
        assert_same(tables, in_memory(files, "dawid-skene", settings=settings))
