// Written by skillhub (`skillhub setup`, `skillhub mcp install`). It reports to skillhub on this machine when a session
// begins, and after each turn which skills it read or changed. To turn it off, set `use_log = false` in the table
// [agent] of skillhub's config.toml, or delete this file.
import { spawnSync } from "node:child_process"

const COMMAND = ["COMMAND"]
const MOST_SESSIONS = 100
const MOST_CALLS = 500
const MOST_CHARACTERS = 1 << 20

const cut = (value) => (typeof value === "string" ? value.slice(0, MOST_CHARACTERS) : undefined)

// Keeps what tells that a skill was read or changed, and drops all other arguments and results.
const kept = ({ type, tool, sessionID, callID, state }) => {
  const input = {}
  for (const name of ["name", "action", "filePath", "command", "patchText"]) input[name] = cut(state.input?.[name])
  const output = tool === "skill" ? cut(state.output) : undefined
  const metadata = { exit: state.metadata?.exit }
  return { type, tool, sessionID, callID, state: { status: state.status, input, output, metadata, time: state.time } }
}

const isAboutSkills = (part) =>
  part.type === "tool" &&
  ["completed", "error"].includes(part.state?.status) &&
  /skill/i.test(part.tool + JSON.stringify(part.state.input ?? {}))

export const Skillhub = async ({ directory }) => {
  const sessions = new Map()

  const note = (part) => {
    const calls = sessions.get(part.sessionID) ?? new Map()
    if (calls.size >= MOST_CALLS) return
    calls.set(part.callID, kept(part))
    calls.isNew = true
    sessions.set(part.sessionID, calls)
    if (sessions.size > MOST_SESSIONS) sessions.delete(sessions.keys().next().value)
  }

  const send = (report) => {
    const input = JSON.stringify(report)
    spawnSync(COMMAND[0], COMMAND.slice(1), { cwd: directory, input, timeout: 5000, stdio: ["pipe", "ignore", "ignore"] })
  }

  const report = (calls) => {
    calls.isNew = false
    send({ messages: [{ parts: [...calls.values()] }] })
  }

  // A subagent has a session of its own, and reads the folders of its parent.
  const begin = ({ id, parentID }) => {
    if (!parentID) send({ hook_event_name: "SessionStart", session_id: id, cwd: directory })
  }

  return {
    event: async ({ event }) => {
      try {
        if (event.type === "message.part.updated" && isAboutSkills(event.properties.part)) note(event.properties.part)
        if (event.type === "session.created") begin(event.properties.info)
        const calls = event.type === "session.idle" ? sessions.get(event.properties.sessionID) : undefined
        if (calls?.isNew) report(calls)
      } catch {
        // A session never fails because of its record.
      }
    },
  }
}
