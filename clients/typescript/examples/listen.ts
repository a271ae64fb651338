/**
 * Keep a local picture of what is known about every user, from now on and for ever, across restarts.
 *
 * The picture starts from a snapshot. The token is saved after each event is dealt with, so a restart goes on from
 * there: nothing is missed, and at most the last batch comes again.
 *
 *     node examples/listen.ts               # stop it, write something, start it again
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";

import { connect, errors, EventKind, label } from "@hindsight-bus/client";

const PATTERN = "user:*:facts";
const SAVED = "listen.token";

using bus = connect(process.argv[2], { agent: "listener" });
try {
  await listen(existsSync(SAVED) ? readFileSync(SAVED, "utf-8") : "snapshot");
} catch (error) {
  if (!(error instanceof errors.PositionLost)) throw error;
  console.log("the log no longer reaches back to where we stopped:", error.message);
  await listen("snapshot");
}

/** Print what is known, then what happens. */
async function listen(start: string): Promise<void> {
  const live = await bus.subscribe(PATTERN, { start });
  for (const memory of await live.snapshot()) console.log("known       ", memory.text);
  writeFileSync(SAVED, live.token);
  for await (const event of live) {
    console.log(label(EventKind, event.kind).padEnd(12), event.memory!.text);
    writeFileSync(SAVED, live.token);
  }
}
