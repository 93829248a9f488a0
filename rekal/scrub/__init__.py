"""The one choke point between what agents wrote and what rekal stores: secrets out, homes out, ids in."""

from rekal.scrub.report import Report, report
from rekal.scrub.rules import Rules
from rekal.scrub.scrubber import Finding, Scrubber

__all__ = ["Finding", "Report", "Rules", "Scrubber", "report"]
