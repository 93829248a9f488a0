"""The name of the analysis, apart from the analysis: to compare it, no capture needs to load what cuts texts."""

from __future__ import annotations

import unicodedata
from functools import cache

import Stemmer

ANALYSIS_VERSION = 1


@cache
def analysis_id() -> str:
    """Names everything the terms depend on: an index built under another id must be built again."""
    return f"{ANALYSIS_VERSION}/snowball-{Stemmer.version()}/unicode-{unicodedata.unidata_version}"
