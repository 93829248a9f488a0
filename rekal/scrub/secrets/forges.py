"""Tokens of the hosts of code."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix, looks_drawn

KINDS = (
    by_prefix(
        "atlassian-token",
        "(?:AT[AC]TT3|ATBB)",
        ("AT",),
        least=28,
        body=r"[A-Za-z0-9_\-=]",
        check=looks_drawn,
    ),
    by_prefix("github-fine-grained", "github_pat_", ("github_pat_",), least=82, body="[A-Za-z0-9_]", anywhere=True),
    by_prefix("github-token", "gh[pousr]_", ("gh",), least=36, body="[A-Za-z0-9]", anywhere=True),
    by_prefix(
        "gitlab-token",
        "(?:gl(?:pat|dt|rt|ptt|ft|agent|imt|oas|soat|cbt|ffct)-|GR1348941)",
        ("gl", "GR1348941"),
        least=20,
        body=r"[A-Za-z0-9_\-.]",
        anywhere=True,
    ),
)
