"""A Spark session that is set up right for Wavedex: local by default, quiet, bound to loopback.

What goes wrong most often is settled here. The workers run the same Python as the driver, and times
are UTC. Java is looked for before Spark is, so that a missing one costs a line and not a page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import resources

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from wavedex.errors import NoJava
from wavedex.spark.batches import BYTES_SETTING, NO_BOUND, ROWS_MAX, ROWS_SETTING
from wavedex.spark.launch import launch_quietly

JAVA_LEAST = 17
"""Spark 4 needs it."""

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""A variable that is set where spark-submit has started this process.

Java is running then, and the master is settled.
"""

# Quiet from the first line on: Spark reads its own level only after it has said a few things.
_LOGGING = "log4j2.properties"


def session(
    master: str | None = None, *, app: str = "wavedex", conf: dict[str, str] | None = None
) -> SparkSession:
    """A Spark session, the one that is running or a new one; `conf` goes before what is set here.

    `master` is a cluster's address. If not given, it is what spark-submit was told, or all cores of
    this machine. Raises NoJava.
    """
    running = _running()
    if running is not None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    settings = SparkConf().setAppName(app)
    if SUBMITTED not in os.environ:
        find_java()
        master = master or "local[*]"
    if master is not None:
        settings.setMaster(master)
    is_local = master is not None and master.startswith("local")
    if is_local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings.setAll([*{**_settings(is_local), **(conf or {})}.items()])
    if SparkContext._gateway is None and SUBMITTED not in os.environ:
        SparkContext(conf=settings, gateway=launch_quietly(settings))
    else:
        SparkContext.getOrCreate(settings)
    spark = SparkSession.builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _running() -> SparkSession | None:
    """The session of this process, whichever thread has made it."""
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _settings(is_local: bool) -> dict[str, str]:
    settings = {
        "spark.sql.session.timeZone": "UTC",
        ROWS_SETTING: str(ROWS_MAX),
        BYTES_SETTING: str(NO_BOUND),
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    if is_local:
        logging = resources.files("wavedex.spark").joinpath(_LOGGING)
        settings |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging}",
        }
    return settings


def find_java() -> str:
    """The Java that Spark will run on. Raises NoJava where it is missing or too old."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    if java is None or shutil.which(java) is None:
        where = f"JAVA_HOME={home} has no bin/java" if home else "there is no java on the path"
        raise NoJava(
            f"Spark needs Java {JAVA_LEAST} or later, and {where}. Install one, or set JAVA_HOME."
        )
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False
        ).stderr
    except OSError as error:
        raise NoJava(
            f"Spark needs Java {JAVA_LEAST} or later, and {java} cannot be run "
            f"({error.strerror}). Install one, or set JAVA_HOME."
        ) from error
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if version is None or int(version[1]) < JAVA_LEAST:
        known = f"version {version[1]}" if version else "of an unknown version"
        raise NoJava(
            f"Spark needs Java {JAVA_LEAST} or later, and {java} is {known}. "
            "Install a newer one, or set JAVA_HOME."
        )
    return java
