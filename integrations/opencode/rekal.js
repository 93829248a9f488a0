// Written by `rekal inject on opencode`; `rekal inject off` removes it.
// Adds what past sessions know to a session's start and to prompts. It never fails a prompt and never waits long.
const REKAL = "rekal"
const PATIENCE = 1500 // milliseconds

async function ask(directory, moment, payload) {
  try {
    const child = Bun.spawn([REKAL, "hook", moment, "--host", "opencode"], {
      cwd: directory,
      stdin: new Blob([JSON.stringify(payload)]),
      stdout: "pipe",
      stderr: "ignore",
    })
    const timer = setTimeout(() => child.kill(), PATIENCE)
    const text = await new Response(child.stdout).text()
    clearTimeout(timer)
    return text.trim()
  } catch {
    return ""
  }
}

export const RekalMemory = async ({ directory }) => {
  const started = new Map()
  return {
    "chat.message": async (input, output) => {
      const typed = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = typed.map((part) => part.text).join("\n")
      if (!prompt) return
      const found = await ask(directory, "prompt", { session_id: input.sessionID, cwd: directory, prompt })
      if (found) typed[typed.length - 1].text += "\n\n" + found
    },
    "experimental.chat.system.transform": async (input, output) => {
      const session = input.sessionID ?? "unknown"
      if (!started.has(session)) {
        started.set(session, await ask(directory, "start", { session_id: session, cwd: directory, source: "startup" }))
      }
      if (started.get(session)) output.system.push(started.get(session))
    },
    "experimental.session.compacting": async (input) => {
      started.delete(input.sessionID)
      await ask(directory, "compact", { session_id: input.sessionID, cwd: directory })
    },
  }
}
