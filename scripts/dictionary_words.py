"""What :mod:`train_dictionary` makes its transcripts of: requests, answers, commands and paths, written for it."""

from __future__ import annotations

REQUESTS = """\
please add a test for this and make sure the whole suite still passes
can you look at why the build is failing on the main branch?
the tests fail with a timeout, please find out why and fix it
I want you to implement the following plan step by step
don't change the public interface, only fix the bug
let's use the existing helper instead of writing a new one
what does this function do and where is it called from?
please commit this with a clear message and open a pull request
refactor this module so that the database code lives in one place
no, that is not what I meant. Undo the last change and try again
continue
yes, go ahead
looks good, now update the documentation and the changelog
why did we decide to use this approach instead of the other one?
run the linter and the type checker and fix everything they report
the error message is not helpful, make it say what happened and what to do
add a command line option for that and document it in the README
can we make this faster? It takes several seconds on a large repository
there is a race condition when two processes write the same file
review the changes on this branch and tell me what you think
rename the field everywhere, including the tests and the migration
the page does not load when the user is not logged in
it works on my machine but not in continuous integration
remove the dead code and the unused dependencies"""

OPENINGS = """\
I'll start by looking at the code to understand the current structure.
Let me look at the existing implementation first.
Let me check how this is used in the rest of the code base.
Now let me read the relevant files.
Now I have a good understanding of the problem. Let me implement the fix.
Let me run the tests to see if everything passes.
I'll update the tests to match the new behavior.
The tests pass. Let me also run the linter and the type checker.
All tests pass now. Let me commit the changes.
Good, that works. Now let me update the documentation.
I see the problem. The function returns early when the list is empty.
Let me create a new file for this.
Let me verify that the build succeeds.
Let me search for other places where the same pattern is used.
There is one failing test. Let me look at the output in more detail.
Perfect! Now I'll add the missing test cases.
Now I need to update the imports in the other modules.
The error is caused by a missing dependency in the configuration.
Let me check the git history to see when this was introduced.
That did not work because the file does not exist. Let me try a different approach.
I've made the change. Let me double-check the result."""

CLAUSES = """\
the function is called with a value that can be null
the configuration is read once at startup and then cached
the error is caught and logged, but never returned to the caller
the test creates a temporary directory and removes it afterwards
the request is sent before the connection is ready
the query has no index on the column that it filters by
the default value was changed in the previous commit
this keeps the interface stable for existing callers
the lock is released before the transaction is committed
the type annotation does not match what the function returns
the branch is merged into main and the tag is pushed
the cache key does not include the version of the schema
the new implementation handles empty input and invalid characters
the client retries three times with exponential backoff
the file is written to a temporary path and then renamed
the migration adds a column and fills it with a default
the component renders twice because its state is updated in an effect
the environment variable is not set in the test environment
we decided against a background thread because it makes the tests flaky
the session is stored in the database and loaded on every request
each record is validated before it is written to disk
the output is sorted so that it is the same on every machine
the dependency was updated to a version that removed this method
the token expires after one hour and is refreshed automatically"""

SUMMARY = """\
## Summary

Here's what I changed:

1. **{name}**: {clause}.
2. **Tests**: added test cases for this, so that {clause}.
3. **Documentation**: updated to say that {clause}.

All tests pass and the build is clean. Would you like me to commit these changes?
---
The problem is in `{path}`: {clause}. This means that {clause}.

**Options:**
- **Option 1** (recommended): {clause}
- **Option 2**: {clause}

Let me know which one you prefer.
---
This session is being continued from a previous conversation that ran out of context. The summary is below:
1. Primary Request and Intent: the user asked me to {request}
2. Key Technical Concepts: {clause}
3. Files and Code Sections: `{path}`
4. Errors and fixes: {clause}
5. Problem Solving: {clause}
6. All user messages: "{request}"
7. Pending Tasks: {clause}
8. Current Work: {clause}
---
Done. The implementation is complete:

- `{path}`: {clause}
- `{path}`: {clause}

```python
def {name}(self, value: str) -> None:
    \"\"\"Return True if the value is valid, otherwise raise an error.\"\"\"
    if value is None:
        raise ValueError(f"invalid value: {{value}}")
    return self._{name}(value)
```
---
```typescript
export async function {name}(options: Options): Promise<Result> {{
  const response = await fetch(`${{baseUrl}}/{name}`, {{ method: "POST", body: JSON.stringify(options) }});
  if (!response.ok) {{
    throw new Error(`request failed with status ${{response.status}}`);
  }}
  return response.json();
}}
```
---
```go
func (s *Server) {name}(ctx context.Context, id string) (*Result, error) {{
	if err := s.validate(id); err != nil {{
		return nil, fmt.Errorf("failed to validate: %w", err)
	}}
	return s.store.Get(ctx, id)
}}
```
---
| File | Change |
|------|--------|
| `{path}` | {clause} |
| `{path}` | {clause} |"""

COMMANDS = """\
git status
git diff --stat
git diff HEAD~1 -- {path}
git log --oneline -10
git add -A && git commit -m "$(cat <<'EOF'
git push -u origin HEAD
git checkout -b feature/{name}
npm test -- --run {path}
npm run build 2>&1 | tail -20
npm run lint
npx tsc --noEmit
pnpm install
cargo test {name} -- --nocapture
cargo build --release 2>&1 | tail -30
cargo clippy --all-targets -- -D warnings
go test ./... -run {name} -v 2>&1 | head -50
go build ./... && go vet ./...
python -m pytest tests/ -x -q 2>&1 | tail -30
python3 -c "import json, sys; print(json.load(sys.stdin))"
uv run pytest {path}
ruff check . && ruff format --check . && mypy .
make test
docker compose up -d
ls -la {path}
cat {path} | head -100
find . -name "*.{name}" -not -path "*/node_modules/*" -type f
grep -rn "{name}" --include="*.py" . | head -20
rg -n "{name}" src/
sed -n '1,80p' {path}
mkdir -p {path}
gh pr create --title "Add {name}" --body "## Summary
gh pr view --json number,title,state,reviews
curl -s http://localhost:8080/api/{name}
Run the tests
Find all usages
Explore the code base"""

PATHS = """\
src/{name}.ts
src/components/{name}.tsx
src/lib/{name}/index.ts
src/main/java/com/example/{name}.java
cmd/{name}/main.go
internal/{name}/{name}.go
internal/{name}/{name}_test.go
pkg/{name}/types.go
crates/{name}/src/lib.rs
src/main.rs
tests/test_{name}.py
src/{name}/__init__.py
app/api/{name}/route.ts
docs/{name}.md
README.md
CHANGELOG.md
CLAUDE.md
AGENTS.md
package.json
pyproject.toml
Cargo.toml
go.mod
Makefile
.github/workflows/ci.yml
.gitignore
tests/{name}.test.ts
scripts/{name}.sh
config/{name}.yaml
migrations/0001_{name}.sql"""

NAMES = """\
auth cache client config handler index login main parser query router schema server session settings store sync
token upload user utils validate worker checkout report search export import metrics notification payment profile
"""

TOOLS = "Bash Read Edit Write Grep Glob TodoWrite Task Agent WebFetch apply_patch exec_command shell MultiEdit"
MODELS = """\
claude-sonnet-4-20250514 claude-opus-4-1-20250805 claude-sonnet-4-5-20250929 claude-opus-4-5-20251101
claude-haiku-4-5-20251001 gpt-5-codex gpt-5.1-codex gpt-5 gemini-2.5-pro"""
AGENTS = "claude codex copilot cursor gemini kiro opencode"
ERRORS = """\
Exit code 1
Exit code 2
command not found
File has not been read yet. Read it first before writing to it.
String to replace not found in file.
No such file or directory
The user doesn't want to proceed with this tool use. The tool use was rejected
error TS2345: Argument of type 'string' is not assignable to parameter of type
AssertionError: assert
ModuleNotFoundError: No module named"""
