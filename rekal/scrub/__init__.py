"""The one choke point between what agents wrote and what rekal stores: secrets out, homes out, ids in."""

from rekal.scrub.rules import Rules
from rekal.scrub.scrub_report import ScrubReport, count_secrets
from rekal.scrub.scrubber import Finding, Scrubber
from rekal.scrub.sessions import scrub_session

__all__ = ["Finding", "Rules", "ScrubReport", "Scrubber", "count_secrets", "scrub_session"]
