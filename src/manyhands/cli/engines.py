"""manyhands aggregate --engine: labels that do not fit into memory, or lie on a cluster."""

import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import manyhands as mh
from manyhands.cli import options, output
from manyhands.core.errors import DataError, SettingError

in_engine = partial(options.option, panel="Engine")


@dataclass(frozen=True)
class EngineOptions(options.OptionGroup):
    """Where the work is done."""

    engine: Annotated[
        Literal["memory", "stream", "spark", "auto"] | None,
        in_engine("memory: all labels at once. stream: in parts on disk, one after the other. "
                  "spark: in parts on a Spark cluster. auto: by size, and say why.",
                  show_default="auto"),
    ] = None  # fmt: skip
    memory: Annotated[
        float,
        in_engine("For stream: memory for labels in work, in GiB.", metavar="GIB"),
    ] = 1.0
    spill: Annotated[
        str | None,
        in_engine("For stream: folder of the parts; with one, a stopped run can be continued.",
                  metavar="DIR", show_default="a temporary one beside --out"),
    ] = None  # fmt: skip
    resume: Annotated[
        bool, in_engine("For stream: continue what a stopped run left in --spill.", "--resume")
    ] = False
    corrupt_files: Annotated[
        Literal["skip", "refuse"],
        in_engine("For stream and spark: leave out a file that cannot be read, with a warning, or "
                  "refuse."),
    ] = "skip"  # fmt: skip
    master: Annotated[
        str | None,
        in_engine("For spark: the cluster, such as local[4], spark://host:7077, yarn or k8s://...",
                  metavar="URL", show_default="that of the Spark settings, or local[*]"),
    ] = None  # fmt: skip

    broadcast: Annotated[
        float,
        in_engine("For spark: confusions of annotators that take more are divided among the "
                  "executors, for dawid-skene.", metavar="GIB"),
    ] = 1.0  # fmt: skip

    def chosen(self, file: "mh.io.LabelFile", possible: bool) -> str:
        """The engine; `auto` says why. It is memory if parts are not possible."""
        if self.engine not in (None, "auto"):
            return str(self.engine)
        if not possible:
            return "memory"
        choice = mh.scale.choose_engine(file, master=self.master)
        if self.engine == "auto" or choice.engine != "memory":
            output.remark(f"engine: {choice.engine}, because {choice.reason}")
        return choice.engine

    def stream_settings(self, out: str) -> "mh.scale.StreamSettings":
        """The settings of the engine stream; temporary files are beside the output."""
        return mh.scale.StreamSettings(
            memory=self.memory, spill=self.spill, resume=self.resume,
            near=None if out == "-" else Path(out).parent, corrupt_files=self.corrupt_files,
        )  # fmt: skip

    def require_unused(self, engine: str) -> None:
        """Raise an error for options of other engines."""
        others = (("--spill", self.spill, "stream"), ("--resume", self.resume, "stream"),
                  ("--master", self.master, "spark"))  # fmt: skip
        for name, value, needed in others:
            if value and engine != needed:
                raise SettingError(f"{name} goes with --engine {needed}")


def require_parts(request: Any) -> None:
    """Raise an error for options that need all labels in memory."""
    given = {
        "--truth": request.truth, "--calibrate": request.calibrate, "--spans": request.spans,
        "--suggestions and --relabel": any(request.tools.names),
        "--method auto": request.method == mh.aggregation.AUTO,
        "--json without --out": request.json and request.out == "-",
        "--exclude": request.file.exclude,
        f"--kind {request.file.kind}": request.file.kind in ("ordinal", "multilabel"),
    }  # fmt: skip
    for name, value in given.items():
        if value:
            raise SettingError(
                f"{name} needs all labels in memory; leave it out, or give --engine memory"
            )


def may_be_parted(request: Any) -> bool:
    """Whether nothing in a request needs all labels in memory."""
    try:
        require_parts(request)
    except SettingError:
        return False
    method = request.method
    return method is None or mh.AGGREGATORS[method].works_in_parts


def summary_of(consensus: "mh.scale.PartedConsensus", engine: str) -> dict[str, object]:
    """What `--json` tells."""
    ann = consensus.crowd.annotations
    return {
        "method": consensus.method_name, "engine": engine,
        "task": "regression" if ann.kind == "numbers" else "classification", "kind": ann.kind,
        "items": ann.n_items, "annotators": ann.n_annotators, "labels": ann.n_annotations,
        "classes": ann.classes.tolist(), "iterations": consensus.n_iterations,
        "converged": consensus.converged, "ties": consensus.n_ties,
        "mean_confidence": consensus.mean_confidence, "agreement": dict(consensus.agreement),
        "warnings": list(consensus.warnings),
    }  # fmt: skip


def lines_of(consensus: "mh.scale.PartedConsensus", note: str) -> list[str]:
    """What is told of a consensus in parts."""
    ann = consensus.crowd.annotations
    lines = [
        *output.reading_lines(ann),
        f"{consensus.method_name}: {ann.n_annotations} labels of {ann.n_items} "
        f"items by {ann.n_annotators} annotators{note if ann.kind == 'numbers' else ''}",
        *(f"WARNING: {text}" for text in consensus.warnings),
    ]
    if consensus.n_ties:
        lines.append(f"ties: {consensus.n_ties} items (column tied)")
    if not consensus.converged:
        lines.append(f"note: not converged after {consensus.n_iterations} steps")
    return [*lines, f"mean confidence {consensus.mean_confidence:.3f} (not calibrated)"]


def aggregate_stream(request: Any) -> None:
    """Aggregate out of core, and write the tables."""
    require_parts(request)
    kind = request.file.wanted_kind() or "classes"
    with output.working(f"aggregating {request.file.shown}"):
        consensus = mh.scale.stream_files(
            request.file, request.method, known=request.reading.truth(request.known) or {},
            settings=request.settings(kind),
            stream=request.engine.stream_settings(request.out),
        )  # fmt: skip
        with consensus:
            if request.annotators:
                output.put_table(consensus.annotator_columns(), request.annotators)
            output.put_tables(consensus.item_tables(), request.out)
    tell(request, consensus, "stream")


def aggregate_spark(request: Any) -> None:
    """Aggregate on Spark, and write the tables: that of items as a folder of Parquet files."""
    require_parts(request)
    _require_new_folder(request.out)
    kind = request.file.wanted_kind() or "classes"
    # Spark warns of pandas 3, which is not used here: tables are exchanged as arrow.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    with output.working(f"aggregating {request.file.shown}"):
        consensus = mh.scale.spark_files(
            request.file, request.method, known=request.reading.truth(request.known) or {},
            settings=request.settings(kind), master=request.engine.master,
            memory=request.engine.memory, broadcast=request.engine.broadcast,
            skip_corrupt=request.engine.corrupt_files == "skip",
        )  # fmt: skip
        with consensus:
            consensus.write(request.out)
            if request.annotators:
                output.put_table(consensus.annotator_columns(), request.annotators)
    tell(request, consensus, "spark")


def _require_new_folder(out: str) -> None:
    """Raise an error for a place where Spark would not write, before it computes anything."""
    if out == "-" or not out.endswith(".parquet"):
        raise SettingError(
            "--engine spark writes a folder of Parquet files: give --out NAME.parquet"
        )
    if "://" in out:  # of another file system, such as hdfs://
        return
    if Path(out).exists():
        raise DataError(f"{out}: is there already; Spark writes a new folder: remove it first")
    if not Path(out).parent.is_dir():
        folder = str(Path(out).parent)
        raise DataError(f"{out}: no such folder {folder!r}; create it first")


def tell(request: Any, consensus: "mh.scale.PartedConsensus", engine: str) -> None:
    """Print what was done."""
    if request.json:
        source = output.source_of(consensus.crowd.annotations)
        output.say_json({"source": source, "summary": summary_of(consensus, engine)})
        return
    for line in lines_of(consensus, request.reading.task_note("regression")):
        (output.remark if request.out == "-" else output.say)(line)
