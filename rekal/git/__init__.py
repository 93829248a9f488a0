"""The only room that runs git."""

from rekal.git.repo import ROOT_FILE, Commit, Repo, find_repo
from rekal.git.run import (
    clean_environment,
    decode_bytes,
    join_lines,
    limit_time,
    run_bytes,
    share_of_time,
    split_at_nul,
    split_output,
)

__all__ = [
    "ROOT_FILE",
    "Commit",
    "Repo",
    "clean_environment",
    "decode_bytes",
    "find_repo",
    "join_lines",
    "limit_time",
    "run_bytes",
    "share_of_time",
    "split_at_nul",
    "split_output",
]
