"""GitLab personal, deploy, runner, trigger, feed, agent and job tokens."""

from __future__ import annotations

from rekal.scrub.secrets.kind import by_prefix

KIND = by_prefix(
    "gitlab-token",
    "(?:gl(?:pat|dt|rt|ptt|ft|agent|imt|oas|soat|cbt|ffct)-|GR1348941)",
    ("gl", "GR1348941"),
    least=20,
    body=r"[A-Za-z0-9_\-.]",
    anywhere=True,
)
