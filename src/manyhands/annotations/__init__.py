"""The currency: who said what about which item."""

from manyhands.annotations.annotations import Annotations
from manyhands.annotations.duplicates import DUPLICATES, Duplicates
from manyhands.annotations.labels import KINDS, Kind
from manyhands.annotations.recoding import in_codes_of
from manyhands.annotations.rows import Rows
from manyhands.annotations.vocabulary import Vocabulary

__all__ = [
    "DUPLICATES",
    "KINDS",
    "Annotations",
    "Duplicates",
    "Kind",
    "Rows",
    "Vocabulary",
    "in_codes_of",
]
