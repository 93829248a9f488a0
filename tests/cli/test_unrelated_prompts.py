"""Prompts that have nothing to do with what a store holds are given nothing, on a store of real sessions."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.support.app import Rekal

# Written for this test, as people write to agents.
UNRELATED = [
    "please make the invoice page load its totals from the new tax service, the old endpoint is going away in March",
    "the dark mode toggle flickers on Safari when I reload, can you find out why and fix it",
    "add a retry with exponential backoff to the S3 uploader, three attempts, and a test for it",
    "our Kubernetes ingress returns 502 for websocket connections after ten minutes, what is the idle timeout there",
    "rename the customer column to account in the Rails models and write the migration for it",
    "can you explain how the Kalman filter in the drone firmware handles a missing GPS fix",
    "bump react to 19 and fix the types that break, run the storybook afterwards",
    "I need a SQL query that gives me the median order value per country for the last four quarters",
    "why does the iOS build fail with a missing provisioning profile since this morning",
    "write a pandas script that joins the two CSV exports on the patient number and drops duplicates",
    "the German translation of the checkout says Warenkorb twice, correct it and check the French one as well",
    "set up a GitHub action that publishes the Docker image to our registry on every tag",
    "how do we rotate the TLS certificates of the load balancer without downtime",
    "implement the collision detection for the platformer, the player falls through moving platforms",
    "the PostgreSQL replica lags by twenty minutes every night, look at the vacuum settings please",
    "draw a sequence diagram of the OAuth login with PKCE for the onboarding document",
    "convert the legacy SOAP client for the bank to their new REST interface, keep the old tests",
    "the unit tests for the thermostat controller fail on leap days, please have a look",
    "make the landing page score above 90 in Lighthouse, the hero image is 4 MB right now",
    "what would it take to move our Terraform state from local files to a bucket with locking",
    "add pagination to the GraphQL products query, cursor based, and update the mobile client",
    "profile the video encoder, it drops frames when two streams are recorded at the same time",
    "the Excel import rejects dates that are written like 03.04.2026, accept them in the parser",
    "please remove jQuery from the admin area and replace the date picker with the native one",
    "write a Rust parser for the DNS wire format with fuzz tests, no unsafe code",
    "our Redis cluster evicts session keys too early, what eviction policy should the shop use",
    "the LaTeX thesis template puts the bibliography before the appendix, fix the order",
    "create an Ansible role that installs and hardens nginx on the two Debian boxes",
    "train a small classifier that tells receipts from invoices, start with a logistic regression baseline",
    "the elevator simulation deadlocks when two cars are called to the same floor, find the race",
]
# The first of them is an answer of the store's own to how its tests are run.
EVERYDAY = [
    "run the whole test suite and fix whatever is failing please",
    "can you review my last commit and tell me if something looks wrong",
    "commit this with a good message and push it to the remote branch",
    "there is a type error in the build now, please take a look at the log",
    "write documentation for the new endpoint in the README file",
    "why is the CI red on main since yesterday evening, it was green before",
    "refactor this function, it has become too long and nobody understands it",
    "add logging to the service so that we can see what happens in production",
    "what does this regular expression do and is there a simpler way to write it",
    "the login form does not show an error when the password is wrong",
    "please update all dependencies and make sure that everything still works",
    "create a new branch for this feature and start with the data model",
    "how many lines of code does this project have, per language",
    "split this pull request into three smaller ones that can be reviewed alone",
    "the app is slow when the list has more than a thousand rows, make it faster",
    "delete the code that is not used anywhere any more, carefully",
    "generate a changelog from the commits since the last release tag",
    "is there a memory leak in the cache, the process grows by 1 GB a day",
    "translate the error messages into Spanish and put them into a resource file",
    "write an end to end test for the sign up flow with playwright",
    "how should I structure a monorepo with two apps and a shared library",
    "the docker image is 3 GB, make it smaller with a multi stage build",
    "explain what a monad is as if I were twelve years old, with an example",
    "we need rate limiting on the public API, a hundred requests per minute per key",
    "use the repository pattern instead of direct database access in the handlers",
    "check that no secrets are in the config files before we open source this",
    "make a plan for how to migrate from JavaScript to TypeScript step by step",
    "the scheduler runs the job twice when two instances are up, use a lock",
    "fix the flaky test in the payment module, it fails every tenth run",
    "add an index to the orders table because the report takes a minute",
]
RELATED = "why does the strategy use a shadow branch instead of committing to the branch directly"
FILES = ("r0*", "r26*", "r15*", "r16*", "r32*", "git-ai*")


def _given(rekal: Rekal, prompts: list[str]) -> list[str]:
    """The prompts that were given something, each in a session of its own."""
    found = []
    for number, prompt in enumerate(prompts):
        said = {"session_id": f"s{number}-{prompt}", "cwd": str(rekal.root), "prompt": prompt}
        ran = rekal("hook", "prompt", "--host", "claude", f"--input={json.dumps(said)}")
        assert (ran.code, ran.err) == (0, "")
        found += [prompt] if ran.out else []
    return found


@pytest.fixture
def store(rekal: Rekal, shared: Path) -> Rekal:
    """A repository in which real sessions of more than 370 turns were recorded."""
    folder = rekal.home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(rekal.root))
    folder.mkdir(parents=True)
    for path in (path for pattern in FILES for path in sorted((shared / "fixtures/claude").glob(pattern))):
        shutil.copy(path, folder)
        text = (folder / path.name).read_bytes()
        for place in sorted(set(re.findall(rb'"cwd"\s*:\s*"((?:[^"\\]|\\.){6,})"', text)), key=len):
            text = text.replace(b'"' + place, b'"' + str(rekal.root).encode())
        (folder / path.name).write_bytes(text)
    assert rekal("checkpoint").code == 0
    ((turns,),) = rekal("query", "--json", "SELECT count(*) FROM turns").json["rows"]
    assert turns >= 370
    return rekal


def test_prompts_of_other_work_are_given_nothing(store: Rekal) -> None:
    assert len(UNRELATED) == 30
    assert _given(store, UNRELATED) == []
    assert _given(store, [RELATED]) == [RELATED]


@pytest.mark.soak
def test_prompts_of_everyday_work_are_given_one_thing_in_thirty(store: Rekal) -> None:
    assert _given(store, EVERYDAY) == EVERYDAY[:1]
