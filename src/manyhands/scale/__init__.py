"""The same aggregation past one machine's memory: out of core, and on Spark."""

from manyhands.scale.consensus import PartedConsensus, StreamedConsensus
from manyhands.scale.engines import ENGINES, Choice, can_be_streamed, choose_engine
from manyhands.scale.spark_aggregate import SparkConsensus, aggregate, spark_files
from manyhands.scale.streaming import StreamSettings, stream_files

__all__ = [
    "ENGINES",
    "Choice",
    "PartedConsensus",
    "SparkConsensus",
    "StreamSettings",
    "StreamedConsensus",
    "aggregate",
    "can_be_streamed",
    "choose_engine",
    "spark_files",
    "stream_files",
]
