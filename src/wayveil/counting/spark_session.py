"""A session of Spark, or a sentence about why there is none."""

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from wayveil.counting.scratch import full_disk
from wayveil.errors import ParameterError, WayveilError

OLDEST = (4, 0)
PORTS = {"spark": 7077, "sc": 15002}
# Seconds until a cluster that does not answer is taken for unreachable.
PATIENCE = 5


class SparkError(WayveilError):
    """Spark cannot be used as it is. Nothing was spent, unless a count had been answered before."""


@contextmanager
def connected(url: str, session: Any = None) -> Iterator[Any]:
    """A session at the address, tried out on an executor; ended with the block unless it was there before."""
    if session is not None:
        _try_executors(session)
        yield session
        return
    check_address(url)
    made = _session(url)
    try:
        _try_executors(made)
        yield made
    finally:
        made.stop()


def check_address(url: str) -> None:
    """Refuse what cannot work, before Spark takes a minute to say so."""
    check_version()
    scheme = urlparse(url).scheme
    if not url.startswith("local") and scheme not in PORTS:
        raise ParameterError(f"Spark is at local[2], spark://host:7077 or sc://host:15002, not at {url!r}")
    if scheme != "sc" and not _java():
        raise SparkError(
            "Spark needs Java 17 or newer, and there is none here; install it and set JAVA_HOME, or use a Connect "
            "address (sc://...), which needs none. Nothing was spent."
        )
    if scheme in PORTS:
        _knock(url)


def check_version() -> None:
    """PySpark is there, and is one whose tables can be read as Arrow."""
    try:
        import pyspark
    except ImportError as error:
        raise SparkError("the engine `spark` needs PySpark: pip install 'wayveil[spark]'") from error
    found = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if found < OLDEST:
        raise SparkError(
            f"the engine `spark` needs PySpark {OLDEST[0]}.{OLDEST[1]} or newer, and {pyspark.__version__} is "
            "installed: pip install --upgrade 'wayveil[spark]'. Nothing was spent."
        )


@contextmanager
def said_in_a_sentence(scratch: str | Path | None) -> Iterator[None]:
    """Return what Spark says over many lines, in one."""
    try:
        yield
    except WayveilError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j", "grpc")):
            raise
        full = full_disk(Path(scratch or "."), error)
        if isinstance(full, WayveilError):
            raise full from error
        raise SparkError(f"Spark could not count: {_reason(error)}") from error


def _session(url: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.app.name": "wayveil",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",  # progress is ours to show, and -q to silence
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }
    if url.startswith("local"):
        settings |= {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8"}
    builder = SparkSession.builder
    builder = builder.remote(url) if url.startswith("sc:") else builder.master(url)
    for name, value in settings.items():
        if not url.startswith("sc:") or name.startswith("spark.sql"):
            builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise SparkError(
            f"Spark at {url} cannot be used ({_reason(error)}); is it the same version as PySpark here? "
            "Nothing was spent."
        ) from error


def _try_executors(session: Any) -> None:
    """Count one row on an executor, which needs Python, PyArrow and this package."""
    # Asked by name: the package itself knows all rooms, and counting may not.
    own = import_module("wayveil").__version__

    def versions(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for _ in batches:
            try:
                import_module("wayveil.counting.spark_tasks")
                found = import_module("wayveil").__version__
            except ImportError as error:
                found = f"missing: {error}"
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array([found])], names=["found"])

    try:
        found = session.range(1).mapInArrow(versions, "found string").first()["found"]
    except Exception as error:
        raise SparkError(
            f"the executors of Spark cannot run Python ({_reason(error)}); they need the Python of PYSPARK_PYTHON "
            "with pyarrow and wayveil. Nothing was spent."
        ) from error
    if found.startswith("missing"):
        raise SparkError(
            f"the executors of Spark have no wayveil ({found.removeprefix('missing: ')}); install wayveil "
            f"{own} where PYSPARK_PYTHON points. Nothing was spent."
        )
    if found != own:
        raise SparkError(
            f"the executors of Spark have wayveil {found}, and {own} asks; install the same on both. "
            "Nothing was spent."
        )


def _java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return (home is not None and (Path(home) / "bin" / "java").exists()) or shutil.which("java") is not None


def _knock(url: str) -> None:
    parts = urlparse(url.split(";")[0].rstrip("/"))
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    try:
        socket.create_connection((host, port), PATIENCE).close()
    except OSError as error:
        raise SparkError(
            f"nothing answers at {host}:{port} ({error.strerror or error}); is Spark running at {url}? "
            "Nothing was spent."
        ) from error


def _reason(error: BaseException) -> str:
    """The line that says what happened: the last of a Python traceback, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if ": " in line and line.split(":")[0].endswith(("Error", "Exception"))]
    return (said[-1] if said else lines[0] if lines else type(error).__name__)[:300]
