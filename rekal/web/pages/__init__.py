"""One file a page: what it reads through ``app``, and its addresses in ``ROUTES``."""

from __future__ import annotations

from rekal.web.pages import (
    file_page,
    memory_page,
    search_page,
    session_page,
    sharing_page,
    since_page,
    timeline_page,
)
from rekal.web.pages.asked import Route

LISTED: tuple[Route, ...] = (
    *since_page.ROUTES,
    *search_page.ROUTES,
    *session_page.ROUTES,
    *file_page.ROUTES,
    *timeline_page.ROUTES,
    *memory_page.ROUTES,
    *sharing_page.ROUTES,
)

MENU = (
    ("since", "/", "Since you looked"),
    ("search", "/search", "Search"),
    ("sessions", "/sessions", "Sessions"),
    ("files", "/files", "Files"),
    ("timeline", "/timeline", "Timeline"),
    ("review", "/review", "Review"),
    ("memories", "/memories", "Memories"),
    ("graph", "/graph", "Graph"),
    ("sharing", "/sharing", "Sharing"),
    ("stats", "/stats", "Stats"),
)
"""Section, path and words of each entry of the menu."""
