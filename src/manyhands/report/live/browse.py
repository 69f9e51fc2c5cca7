"""All items of a result, page by page: those that a person looks for, in the order that helps."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Bools
from manyhands.io.tool_imports import RELABEL_BELOW

N_ROWS = 50  # of a page
MAX_FIND = 200  # characters
SHOWN = {
    "all": "all items",
    "relabel": f"confidence below {RELABEL_BELOW:g}",
    "disputed": "annotators disagree",
    "against": "most labels differ from the consensus",
}
ORDERS = {
    "unsure": "least confident first",
    "sure": "most confident first",
    "file": "order of the names",
    "labels": "most labels first",
}


@dataclass(frozen=True)
class Query:
    """Which items are shown: part of a name, a group, an annotator who labelled them, a page."""

    find: str = ""
    show: str = "all"
    order: str = "unsure"
    by: int | None = None
    page: int = 1

    @classmethod
    def of(cls, given: Mapping[str, str], annotations: Annotations) -> "Query":
        """The query of an address; what makes no sense is as if it was not given."""
        by, page = _number(given.get("by", "")), _number(given.get("page", ""))
        show, order = given.get("show", ""), given.get("order", "")
        return cls(
            find=given.get("find", "").strip()[:MAX_FIND],
            show=show if show in SHOWN else "all",
            order=order if order in ORDERS else "unsure",
            by=by if by is not None and by < annotations.n_annotators else None,
            page=page or 1,
        )

    def address(self, **changed: Any) -> str:
        """The query as an address has it, with some parts changed.

        >>> Query(find="a b", by=3).address(page=2)
        '?find=a+b&show=all&order=unsure&by=3&page=2'
        """
        parts = vars(replace(self, **changed))
        return "?" + urlencode({key: each for key, each in parts.items() if each is not None})


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None


@dataclass(frozen=True)
class Page:
    """The codes of the items of a page, how many items there are, and on how many pages."""

    codes: AnyArray
    n_found: int
    number: int
    n_pages: int


def find_items(consensus: Consensus, query: Query) -> Page:
    """The items of a query."""
    codes = np.flatnonzero(_wanted(consensus, query))
    codes = codes[np.argsort(_keys(consensus, query.order)[codes], kind="stable")]
    n_pages = max(-(-len(codes) // N_ROWS), 1)
    number = min(query.page, n_pages)
    return Page(codes[(number - 1) * N_ROWS : number * N_ROWS], len(codes), number, n_pages)


def _wanted(consensus: Consensus, query: Query) -> Bools:
    ann = consensus.annotations
    wanted = np.ones(ann.n_items, dtype=bool)
    if query.show == "relabel":
        confidence = np.nan_to_num(consensus.confidence, nan=0.0)
        wanted &= (confidence < RELABEL_BELOW) | (ann.labels_per_item == 0)
    elif query.show == "disputed":
        wanted &= np.nan_to_num(consensus.agreement, nan=1.0) < 1
    elif query.show == "against":
        wanted &= np.nan_to_num(consensus.agreement, nan=1.0) < 0.5
    if query.by is not None:
        wanted &= np.bincount(ann.item[ann.annotator == query.by], minlength=ann.n_items) > 0
    if query.find:
        text = query.find.casefold()
        wanted &= np.array([text in str(name).casefold() for name in ann.items], dtype=bool)
    return wanted


def _keys(consensus: Consensus, order: str) -> AnyArray:
    confidence = np.nan_to_num(consensus.confidence, nan=0.0)
    return {
        "unsure": confidence,
        "sure": -confidence,
        "labels": -consensus.annotations.labels_per_item,
        "file": np.zeros(len(confidence)),
    }[order]
