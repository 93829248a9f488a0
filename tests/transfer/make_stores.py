"""Make the stores in ``stores/``: each is written by the program itself, of the version in its name.

    python tests/transfer/make_stores.py

Needs pip and npm with their registries; nothing of the programs is kept but the files that they wrote, compressed. The
texts are made up. Vectors come from a hash instead of the programs' models, which are not downloaded.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

STORES = Path(__file__).with_name("stores")
BUN = "@oven/bun-linux-x64@1.4.5"  # claude-mem runs on it
CLAUDE_MEM = "claude-mem@13.25.3"

_EMBED = """
import asyncio, hashlib, struct, sys
import pysqlite3  # not every Python lets SQLite load the extension that the program wants
sys.modules["sqlite3"] = sys.modules["sqlite3.dbapi2"] = pysqlite3
from rekal.adapters.sqlite_adapter import SqliteDatabase
def embed(text):
    seed = hashlib.sha256(text.encode()).digest()
    return struct.pack("384f", *((seed[n % 32] - 128) / 128 for n in range(384)))
"""
REKAL_1 = (
    _EMBED
    + """
async def main():
    db = await SqliteDatabase.create(sys.argv[1], embed)
    one = await db.conversation_start(title="Retries", project="app")
    two = await db.conversation_start(title="Retries again", project="app", follows_up_on=one)
    old = await db.store("Retries are three.", project="app", conversation_id=one, tags=["retry"])
    new = await db.supersede(old, "Retries are five.", conversation_id=two)
    other = await db.store("Deploys happen on Monday mornings.", memory_type="procedure")
    await db.add_memory_link(new, other, "related_to")
    await db.add_memory_link(other, old, "contradicts")
    await db.set_config("app", "w_fts", "0.7")
    if "tier" in SqliteDatabase.store.__kwdefaults__:
        await db.store("Port 8080 is taken.", tier="scratch", memory_type="context", conversation_id=one,
                       expires_at="2026-03-01 11:00:00")
    await db.delete(await db.store("Was said by mistake."))
    await db.close()
asyncio.run(main())
"""
)
REKAL_3 = (
    _EMBED
    + """
async def main():
    db = await SqliteDatabase.create(sys.argv[1], embed)
    old = await db.store("Jobs live in Redis.", project="app", tags=["db"])
    await db.replace(old, "Jobs live in Postgres.", project="app", tags=["db"])
    await db.store("Nobody deploys on Fridays.")
    await db.close()
asyncio.run(main())
"""
)
CLAUDE_MEM_WRITER = """
const { SessionStore } = require(process.argv[2] + "/plugin/sqlite/SessionStore.js");
const store = new SessionStore(process.argv[3]);
for (const [content, memory, project] of [["c-1", "m-1", "shop"], ["c-2", "m-2", "shop"]]) {
  const id = store.createSDKSession(content, project, "Make the job queue durable");
  (store.ensureMemorySessionIdRegistered ?? store.updateMemorySessionId).call(store, id, memory);
  store.saveUserPrompt(content, 1, "Make the job queue durable, jobs get lost");
}
const seen = (type, title, more) => ({ type, title, subtitle: null, facts: [], narrative: null, concepts: [],
  files_read: [], files_modified: [], ...more });
const at = Date.UTC(2026, 2, 1, 9);
store.storeObservation("m-1", "shop", seen("decision", "The job queue lives in Postgres", {
  subtitle: "Redis would be one more service", facts: ["Jobs survive a restart", "A lease marks a running job"],
  narrative: "Jobs were lost when a worker restarted, so they were moved into a table.",
  concepts: ["why-it-exists", "trade-off"], files_read: ["queue.py"], files_modified: ["queue.py", "worker.py"] }),
  1, 12, at);
store.storeObservation("m-1", "shop", seen("bugfix", "Leases were never released", { facts: ["The worker died"] }),
  1, 3, at + 1000);
store.storeObservation("m-2", "shop", seen("discovery", "The tests need a database"), 1, 3, at + 2000);
store.storeSummary("m-1", "shop", { request: "Make the job queue durable", investigated: "The worker and its queue",
  learned: "Redis loses jobs on restart", completed: "Jobs are rows of a table", next_steps: "Measure it under load",
  notes: null, files_read: [], files_edited: ["queue.py"] }, 1, 5, at + 3000);
store.db.run("PRAGMA wal_checkpoint(TRUNCATE)");
store.close();
"""


def run(*command: str | Path, cwd: Path) -> None:
    """Run a program of the originals; its failure ends the script."""
    subprocess.run([str(word) for word in command], cwd=cwd, check=True, timeout=300)


def keep(path: Path, name: str) -> None:
    """Keep a written file, compressed and without the time of its making."""
    (STORES / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def write_rekal(scratch: Path, version: str, program: str) -> None:
    """Install one version of the rekal memory server and let it write."""
    place = scratch / version
    run(sys.executable, "-m", "venv", place, cwd=scratch)
    run(place / "bin/pip", "install", "-q", f"rekal=={version}", "pysqlite3-binary", cwd=scratch)
    run(place / "bin/python", "-c", program, place / "memory.db", cwd=scratch)
    keep(place / "memory.db", f"rekal-{version}.db")


def write_claude_mem(scratch: Path) -> None:
    """Unpack claude-mem and the runtime that it wants, and let its store write."""
    for package, name in ((CLAUDE_MEM, "mem"), (BUN, "bun")):
        folder = scratch / name
        folder.mkdir()
        run("npm", "pack", package, cwd=folder)
        run("tar", "xzf", *folder.glob("*.tgz"), cwd=folder)
    writer = scratch / "writer.cjs"
    writer.write_text(CLAUDE_MEM_WRITER, encoding="utf-8")
    run(scratch / "bun/package/bin/bun", writer, scratch / "mem/package", scratch / "mem.db", cwd=scratch)
    keep(scratch / "mem.db", "claude-mem-13.25.3.db")


def main() -> None:
    """Make all of them."""
    STORES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="stores-") as place:
        scratch = Path(place)
        for version, program in (("1.7.0", REKAL_1), ("1.16.0", REKAL_1), ("3.4.0", REKAL_3)):
            write_rekal(scratch, version, program)
        write_claude_mem(scratch)


if __name__ == "__main__":
    main()
