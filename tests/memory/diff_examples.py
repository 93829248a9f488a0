"""A hundred diffs against eight rules: what brings a ruled-out thing in, and what only looks like it.

Each is written as a change of one or two files; ``violation`` says whether a rule is broken. The kinds of those that
break none: removing, moving, renaming, tests, documents, comments, other places, forbidding it, the alternative.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from rekal.memory.events import Scope
from rekal.memory.matchers import Matcher
from rekal.memory.state import Memory

_AT = datetime(2026, 3, 1, tzinfo=UTC)


class Diff(msgspec.Struct, frozen=True):
    """One example: its kind, its text, whether it breaks a rule."""

    name: str
    kind: str
    text: str
    violation: bool


class _Case(msgspec.Struct, frozen=True):
    """A rule with code that breaks it and with code that doesn't. ``file`` lies in its scope, ``other`` outside."""

    rule: Memory
    file: str
    other: str
    adds: tuple[str, ...]
    alternative: str
    comment: str
    forbids: tuple[str, str]


def _rule(id_: str, text: str, matcher: Matcher, *paths: str) -> Memory:
    return Memory(id_, "dead_end", text, "accepted", "Ada", "human", _AT, _AT, _AT, scope=Scope(paths), matcher=matcher)


CASES = (
    _Case(
        _rule(
            "redis",
            "Redis as a cache",
            Matcher((r"^\s*(import|from) redis\b", r"redis\.(Redis|from_url)\(", r"^redis[=<>~]"), unless=(r"valkey",)),
        ),
        "app/cache.py",
        "",
        (
            "import redis\n",
            "from redis import Redis\nclient = Redis()\n",
            "cache = redis.from_url(URL)\n",
            "def connect():\n    return redis.Redis(host='h')\n",
        ),
        "import valkey as redis_client  # was: import redis, now valkey\n",
        "# import redis was dropped in May\n",
        ("tools/lint.py", "BANNED = [\n    'import redis',\n    'redis.Redis(',  # banned\n]\n"),
    ),
    _Case(
        _rule(
            "float",
            "floats for money",
            Matcher(
                (r"\bfloat\(", r":\s*float\b", r"\bfloat64\b"), need=(r"price|amount|money",), unless=(r"Decimal",)
            ),
            "billing/**",
        ),
        "billing/price.py",
        "charts/axis.py",
        (
            "price: float = 0\n",
            "amount = float(row['amount'])\n",
            "def money(x) -> str:\n    return str(float(x))\n",
            "def price(value: float) -> int:\n    return int(value)\n",
        ),
        "amount = Decimal(str(float(text)))\n",
        "# never float(amount): cents drift\n",
        ("tools/lint.py", "RULES = {'float(': 'forbidden in billing'}\n"),
    ),
    _Case(
        _rule(
            "moment",
            "moment.js",
            Matcher((r"from ['\"]moment['\"]", r"require\(['\"]moment['\"]\)", r"\"moment\"\s*:")),
            "web/**",
        ),
        "web/date.ts",
        "legacy/date.ts",
        (
            "import moment from 'moment'\n",
            'const m = require("moment")\n',
            'import * as moment from "moment"\nexport default moment\n',
            "export const now = () => require('moment')()\n",
        ),
        "import dayjs from 'dayjs'\n",
        "// import moment from 'moment' was here\n",
        ("web/.eslintrc.json", '{"no-restricted-imports": ["error", {"paths": ["from \'moment\'"]}]}\n'),
    ),
    _Case(
        _rule("sleep", "sleeping in request handlers", Matcher((r"\btime\.Sleep\(",)), "internal/**"),
        "internal/handler.go",
        "cmd/wait/main.go",
        (
            "\ttime.Sleep(time.Second)\n",
            "func wait() {\n\ttime.Sleep(5 * time.Millisecond)\n}\n",
            "\tfor !ready() {\n\t\ttime.Sleep(d)\n\t}\n",
            "\tdefer time.Sleep(pause)\n",
        ),
        "\t<-time.After(time.Second)\n",
        "\t// time.Sleep( here lost requests\n",
        ("internal/lint/rules.go", 'var forbidden = []string{"time.Sleep("}\n'),
    ),
    _Case(
        _rule("latest", "images tagged latest", Matcher((r"image:\s*\S+:latest\b", r"^\s*FROM \S+:latest\b"))),
        "deploy/app.yaml",
        "",
        (
            "    image: registry/app:latest\n",
            "  - name: side\n    image: busybox:latest\n",
            "containers:\n  - image: app:latest\n",
            "      image: nginx:latest\n",
        ),
        "    image: registry/app:1.4.2\n",
        "    # image: registry/app:latest broke the rollback\n",
        ("deploy/policy.yaml", 'deny:\n  - pattern: "image: *:latest"  # not allowed\n'),
    ),
    _Case(
        _rule("print", "print for logging", Matcher((r"(?<![\w.])print\(",)), "app/**"),
        "app/worker.py",
        "scripts/once.py",
        (
            "print('started')\n",
            "    print(f'{job} done')\n",
            "if debug:\n    print(state)\n",
            "for row in rows:\n    print(row)\n",
        ),
        "log.info('started')\n",
        "x = 1  # print(x) told nothing\n",
        ("app/lint.py", "FORBIDDEN = {'print(': 'use the log'}\n"),
    ),
    _Case(
        _rule("timeout", "requests without a timeout", Matcher((r"requests\.(get|post)\(",), unless=(r"timeout\s*=",))),
        "app/client.py",
        "",
        (
            "r = requests.get(url)\n",
            "requests.post(url, json=body)\n",
            "def load(u):\n    return requests.get(u).json()\n",
            "page = requests.get(base + '/list', headers=h)\n",
        ),
        "r = requests.get(url, timeout=5)\n",
        '"""requests.get(url) hangs without a timeout."""\n',
        ("app/guard.py", "raise RuntimeError('requests.get( is not allowed without a timeout')\n"),
    ),
    _Case(
        _rule("unwrap", "unwrap in library code", Matcher((r"\.unwrap\(\)",)), "crates/core/**"),
        "crates/core/src/lib.rs",
        "crates/cli/src/main.rs",
        (
            "    let v = parse(s).unwrap();\n",
            "pub fn open(p: &Path) -> File {\n    File::open(p).unwrap()\n}\n",
            "        .map(|x| x.unwrap())\n",
            "    self.lock.lock().unwrap().push(v);\n",
        ),
        "    let v = parse(s)?;\n",
        "    /* .unwrap() panicked here */\n",
        ("crates/core/src/checks.rs", 'const DENIED: &str = "deny: .unwrap()";\n'),
    ),
)

RULES = tuple(case.rule for case in CASES)
_BASE = "first line\nsecond line\nthird line\n"


def _diff(path: str, before: str, after: str, new_path: str = "") -> str:
    named = new_path or path
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{named}")
    body = "".join(lines) or f"--- a/{path}\n+++ b/{named}\n"
    head = f"diff --git a/{path} b/{named}\n"
    return head + (f"rename from {path}\nrename to {named}\n" if new_path else "") + body


def _added(path: str, text: str) -> str:
    """The text added in the middle of a file."""
    return _diff(path, _BASE, _BASE.replace("second line\n", f"second line\n{text}"))


def _test_name(path: str) -> str:
    return {
        "py": "tests/test_thing.py",
        "ts": "web/date.spec.ts",
        "go": "internal/handler_test.go",
        "rs": "crates/core/tests/all.rs",
    }.get(path.rpartition(".")[2], "tests/fixtures/app.yaml")


def examples() -> Iterator[Diff]:
    """All of them, in order."""
    for case in CASES:
        name, first = case.rule.id, case.adds[0]
        for n, text in enumerate(case.adds):
            yield Diff(f"{name}-add-{n}", "adds", _added(case.file, text), True)
        present = _BASE + first
        yield Diff(f"{name}-remove", "removes", _diff(case.file, present, _BASE), False)
        moved = _diff(case.file, first + _BASE, _BASE + first)
        yield Diff(f"{name}-move", "moves", moved, False)
        yield Diff(f"{name}-test", "tests", _added(_test_name(case.file), first), False)
        yield Diff(
            f"{name}-docs", "docs", _added("docs/decisions.md", f"We tried `{first.strip()}` and left it.\n"), False
        )
        yield Diff(f"{name}-comment", "comments", _added(case.file, case.comment), False)
        yield Diff(f"{name}-forbid", "forbids", _added(*case.forbids), False)
        yield Diff(f"{name}-instead", "alternative", _added(case.file, case.alternative), False)
    for case in CASES:
        if case.other:
            yield Diff(f"{case.rule.id}-elsewhere", "elsewhere", _added(case.other, case.adds[0]), False)
    for case in CASES[:4]:
        whole = _diff(case.file, _BASE + case.adds[1], _BASE + case.adds[1], case.file.replace(".", "_renamed."))
        yield Diff(f"{case.rule.id}-rename", "renames", whole, False)
    split = CASES[0]
    yield Diff(
        "redis-to-other-file",
        "moves",
        _diff(split.file, _BASE + split.adds[1], _BASE) + _added("app/store.py", split.adds[1]),
        False,
    )
    yield Diff("lock-file", "derived", _added("poetry.lock", "redis==5.0\n"), False)
    yield Diff("requirement", "adds", _added("requirements.in", "redis>=5\n"), True)
