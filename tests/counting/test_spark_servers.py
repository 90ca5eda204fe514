"""Releases through a Connect server, and on a cluster of which a worker is killed in the middle of a count."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from engine_worlds import WORLDS, random_visits

from wayveil.counting.engines import MemoryEngine
from wayveil.mechanisms.noisy_prefix_tree import NoisyPrefixTree
from wayveil.privacy.bits import SeededBits
from wayveil.privacy.units import Rider
from wayveil.run import make_release as release
from wayveil.trips.trip_files import TripFiles

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'wayveil[spark]'")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is missing, which Spark needs"),
    pytest.mark.xdist_group("spark"),
]
HOME = Path(pyspark.__file__).parent

# Run by itself: a program speaks to one Spark only. Says when each count begins.
CLIENT = """
import sys
sys.path.insert(0, sys.argv[1])
import test_spark_servers as tests
from wayveil.counting.spark import SparkCounter, SparkEngine
from pathlib import Path

counted = SparkCounter.total

def total(self, count):
    print("counting", flush=True)
    return counted(self, count)

SparkCounter.total = total
folder = Path(sys.argv[3])
tests.released(folder, SparkEngine(sys.argv[2], folder if sys.argv[4] == "kept" else None), "spark")
"""


def released(folder, engine, name):
    files = TripFiles.at(folder / "raw.parquet", WORLDS["network"])
    return release(
        files,
        NoisyPrefixTree(height=3),
        epsilon=4,
        unit=Rider(max_trips=2, without_id="own"),
        bits=SeededBits(1),
        seed=1,
        engine=engine,
    ).save(folder / name)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def environment():
    paths = [
        str(Path(__file__).parents[2] / "src"),
        str(Path(__file__).parent),
        os.environ.get("PYTHONPATH", ""),
    ]
    return {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


@contextmanager
def running(log, *command, port=None):
    """A server of Spark, in a group of processes of its own, until the block ends."""
    with log.open("w") as out:
        process = subprocess.Popen(
            [str(HOME / "bin" / command[0]), *command[1:]],
            stdout=out,
            stderr=out,
            env=environment(),
            start_new_session=True,
        )
    try:
        for _ in range(600):
            if process.poll() is not None:
                pytest.fail(f"Spark did not start: {log.read_text()[-2000:]}")
            if port is None or _answers(port):
                break
            time.sleep(0.2)
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def client(folder, url, kept):
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(Path(__file__).parent), url, str(folder), kept],
        stdout=subprocess.PIPE,
        stderr=(folder / "client.log").open("w"),
        env=environment(),
        text=True,
    )


def assert_same_release(folder):
    one, other = released(folder, MemoryEngine(), "memory"), folder / "spark"
    for name in ("trips.parquet", "model.parquet", "datasheet.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


def test_a_connect_server_gives_the_same_release(tmp_path):
    pytest.importorskip("grpc", reason="Connect needs grpcio: pip install 'wayveil[spark]'")
    random_visits(3, WORLDS["network"], trips=200).write_parquet(tmp_path / "raw.parquet")
    port = free_port()
    server = (
        "spark-submit",
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master",
        "local[2]",
        "--conf",
        f"spark.connect.grpc.binding.port={port}",
        "--conf",
        "spark.ui.enabled=false",
        "--conf",
        "spark.sql.shuffle.partitions=2",
        "spark-internal",
    )
    with running(tmp_path / "server.log", *server, port=port):
        asked = client(tmp_path, f"sc://127.0.0.1:{port}", "kept")
        assert asked.wait(300) == 0, (tmp_path / "client.log").read_text()[-3000:]
    assert_same_release(tmp_path)


@pytest.mark.audit
@pytest.mark.parametrize("kept", ["kept", "made again"])
def test_a_worker_killed_in_the_middle_of_a_count_changes_no_byte(tmp_path, kept):
    random_visits(3, WORLDS["network"], trips=3000).write_parquet(tmp_path / "raw.parquet")
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        master = ("spark-class", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1")
        stack.enter_context(
            running(tmp_path / "master.log", *master, "--port", str(port), "--webui-port", "0", port=port)
        )
        worker = ("spark-class", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "-c", "1")
        workers = [
            stack.enter_context(
                running(
                    tmp_path / f"worker-{i}.log",
                    *worker,
                    "-m",
                    "1500m",
                    "--webui-port",
                    "0",
                    "-d",
                    str(tmp_path / f"worker-{i}"),
                    url,
                )
            )
            for i in range(2)
        ]
        asked = client(tmp_path, url, kept)
        assert asked.stdout is not None
        for _ in range(2):  # the second count is under way
            assert asked.stdout.readline() == "counting\n", (tmp_path / "client.log").read_text()[-3000:]
        time.sleep(0.3)
        os.killpg(workers[0].pid, signal.SIGKILL)
        assert asked.wait(500) == 0, (tmp_path / "client.log").read_text()[-3000:]
    lost = (tmp_path / "client.log").read_text()
    assert "Lost executor" in lost
    assert_same_release(tmp_path)
