/**
 * Plays a scenario with this client: `node test/scenario.ts SCENARIO TARGET USER`.
 *
 * It prints a line of JSON for each fault that it wants, waits for a line back, and prints what came of each step at
 * last. `tests/e2e/client_scenario.py` does the same, step by step.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import { setTimeout } from "node:timers/promises";

import {
  Backoff,
  BusService,
  type Client,
  type Conflict,
  ConflictState,
  connect,
  Decision,
  type Delivery,
  type Event,
  EventKind,
  HbusError,
  InsightKind,
  label,
  type Memory,
  MemoryState,
  ReflectionState,
  RejectEvent,
  type Step,
  steps,
  type Subscription,
  writeRequest,
} from "@hindsight-bus/client";

// Steps hold what JSON holds; which fields a step has is a matter of its kind.
type Json = any; // eslint-disable-line @typescript-eslint/no-explicit-any

const PATIENCE_MS = 30_000;
const SETTLED = { fullyConsistent: true, requireVectors: true };
const SOON = new Backoff({ firstMs: 50, capMs: 100 });

/** Does the steps of a scenario, each by the method of its name, which returns what came of it. */
class Player {
  readonly #target: string;
  readonly #user: string;
  readonly #kept = new Map<string, unknown>();
  readonly #clients = new Map<string, Client>();
  readonly #answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

  constructor(target: string, user: string) {
    this.#target = target;
    this.#user = user;
  }

  /** Do one step; return what came of it, or how it was refused. */
  async play(step: Json): Promise<unknown> {
    try {
      return await (this as Json)[camel(step.do)](this.#filled(step));
    } catch (error) {
      if (!(error instanceof HbusError)) throw error;
      return { error: error.name, reason: error.reason, fields: error.fields };
    }
  }

  /** Close every client. */
  close(): void {
    for (const client of this.#clients.values()) client.close();
    process.stdin.destroy();
  }

  // --- steps ---

  async write(step: Json) {
    const fields = camelKeys(step.fields);
    if ("eventTime" in fields) fields.eventTime = new Date(fields.eventTime);
    const answer = await this.#bus(step).write(step.in, step.text, fields);
    this.#keep(step, answer.memory);
    return [label(Decision, answer.decision), ...remembered(answer.memory), answer.reason];
  }

  async writeMany(step: Json) {
    const writes = step.texts.map((text: string) => writeRequest(step.in, text, camelKeys(step.fields)));
    const outcomes = await this.#bus(step).writeMany(writes);
    return outcomes.map((each) =>
      each instanceof HbusError ? `${each.name} ${each.field}` : label(Decision, each.decision),
    );
  }

  async update(step: Json) {
    const changes = camelKeys(step.changes, (value) => value ?? undefined);
    const answer = await this.#bus(step).update(step.memory, changes, camelKeys(step.fields));
    return [label(Decision, answer.decision), ...remembered(answer.memory)];
  }

  async get(step: Json) {
    const memory = await this.#bus(step).get(step.memory);
    const { version, tags, importance, attributes = null } = memory;
    return [...remembered(memory), Number(version), tags, importance, attributes];
  }

  async forget(step: Json) {
    return remembered((await this.#bus(step).forget(step.memory)).memory);
  }

  async restore(step: Json) {
    return remembered((await this.#bus(step).restore(step.memory)).memory);
  }

  async versions(step: Json) {
    const found = await Array.fromAsync(this.#bus(step).versions(step.memory));
    return found.map(({ memory, transitions }) => [
      Number(memory!.version),
      transitions.map((each) => each.kind),
    ]);
  }

  async list(step: Json) {
    const found = await Array.fromAsync(this.#bus(step).list(step.in, camelKeys(step.fields)));
    return found.map(remembered);
  }

  async search(step: Json) {
    const fields = { ...SETTLED, ...camelKeys(step.fields) };
    const { hits } = await this.#bus(step).search(step.in, step.query, fields);
    return hits.map((hit) => [...remembered(hit.memory), hit.rivals.map((rival) => rival.text)]);
  }

  async context(step: Json) {
    const fields = { ...SETTLED, ...camelKeys(step.fields) };
    const answer = await this.#bus(step).context(step.in, step.query, fields);
    const lines = answer.text.split("\n").filter((line) => /^\d/.test(line));
    return [answer.memories.length, answer.leftOut, lines, answer.advice !== ""];
  }

  async conflicts(step: Json) {
    const found = await Array.fromAsync(this.#bus(step).conflicts(step.in));
    this.#keep(step, found[0]);
    return found.map((each: Conflict) => [
      each.subject,
      label(ConflictState, each.state),
      each.sides.map((side) => side.text).sort(),
    ]);
  }

  async resolve(step: Json) {
    const { memory, rationale } = step;
    const { conflict, memories } = await this.#bus(step).resolve(step.conflict, step.action, {
      memory,
      rationale,
    });
    const state = label(ConflictState, conflict!.state);
    return [state, conflict!.resolution!.rationale, memories.map(remembered).sort()];
  }

  async subscribe(step: Json) {
    const options = { start: step.start, ...camelKeys(step.fields) };
    this.#keep(step, await this.#bus(step).subscribe(step.in, options));
    return "confirmed";
  }

  async hear(step: Json) {
    const live: Subscription = step.from;
    const events: Event[] = [];
    while (events.length < step.count) events.push((await live.next()).value!);
    this.#keep(step, live.token);
    const places = events.map(({ revision, index }) => Number(revision) * 1000 + index);
    const told = events.map(({ revision, kind, memory, agent }) => {
      return [Number(revision), label(EventKind, kind), ...remembered(memory), agent] as const;
    });
    // Events of one commit have no order of their own.
    told.sort((a, b) => a[0] - b[0] || compare(a.join("\n"), b.join("\n")));
    return [places.every((each, n) => each >= (places[n - 1] ?? 0)), told.map(([, ...each]) => each)];
  }

  async snapshot(step: Json) {
    return (await step.from.snapshot()).map(remembered).sort();
  }

  async unsubscribe(step: Json) {
    step.from.close();
    return (await Array.fromAsync(step.from as Subscription)).map((event) => Number(event.revision));
  }

  async consume(step: Json) {
    const enough = Promise.withResolvers<void>();
    const done: string[] = [];
    const failed = new Set<string>();
    const handle = async ({ event }: Delivery) => {
      const text = event!.memory!.text;
      if (text === step.reject) throw new RejectEvent("cannot parse");
      if (text === step.fail_once && !failed.has(text)) {
        failed.add(text);
        throw new Error("not yet");
      }
      done.push(text);
      if (done.length === step.cut_after) await this.fault({ cut: true });
      if (step.until.every((each: string) => done.includes(each))) enough.resolve();
    };
    const bus = this.#bus(step);
    const { group, in: namespaces } = step;
    {
      const terms = { group, namespaces, retry: SOON, ...camelKeys(step.fields) };
      await using consumption = await bus.consume(handle, terms);
      await Promise.race([
        enough.promise,
        consumption.done,
        setTimeout(PATIENCE_MS, undefined, { ref: false }),
      ]);
      assert.deepEqual(step.until.toSorted(), [...new Set(done)].sort());
    }
    const { deadLetters } = await bus.service(BusService).listDeadLetters({ group });
    const dead = deadLetters.map((each) => [each.event!.memory!.text, each.reason, each.attempts]);
    return [[...new Set(done)].sort(), [...failed], dead];
  }

  async reflect(step: Json) {
    const bus = this.#bus(step);
    const task = (await bus.startTask(step.goal, { kind: step.kind, user: this.#user })).task!;
    await bus.recordSteps(
      task,
      step.steps.map((each: Json, n: number) => told(n + 1, each)),
    );
    await bus.finishTask(task, step.outcome, { score: step.score, judge: step.judge });
    const reflection = (await bus.reflection(task, { waitMs: PATIENCE_MS })).reflection!;
    const kinds = new Set(reflection.insights.map(({ kind }) => label(InsightKind, kind)));
    const cited = new Set(reflection.insights.flatMap(({ steps }) => steps.map(Number)));
    const state = label(ReflectionState, reflection.state);
    return [state, [...kinds].sort(), [...cited].sort(), reflection.lessons.length > 0];
  }

  async startTask(step: Json) {
    const options = { kind: step.kind, user: this.#user, fullyConsistent: true };
    const { lessons } = await this.#bus(step).startTask(step.goal, options);
    return [...new Set(lessons.map((hit) => label(MemoryState, hit.memory!.state)))].sort();
  }

  async fault(step: Json) {
    console.log(JSON.stringify({ fault: step }));
    return (await this.#answers.next()).value;
  }

  // --- what steps share ---

  #bus({ agent }: { agent: string }): Client {
    const client = this.#clients.get(agent) ?? connect(this.#target, { agent });
    this.#clients.set(agent, client);
    return client;
  }

  #keep(step: Json, value: unknown): void {
    this.#kept.set(step.keep, value);
  }

  #filled(value: Json): Json {
    if (Array.isArray(value)) return value.map((each) => this.#filled(each));
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.#filled(each)]));
    }
    if (typeof value !== "string") return value;
    return value.startsWith("$") ? this.#kept.get(value.slice(1)) : value.replaceAll("{user}", this.#user);
  }
}

/** What of a memory is the same in every run. */
function remembered(memory: Memory | undefined): [string, string] {
  return [memory!.text, label(MemoryState, memory!.state)];
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function told(number: number, step: Json): Step {
  if ("thought" in step) return steps.thought(number, step.thought);
  if ("feedback" in step) return steps.feedback(number, step.feedback, { rating: step.rating });
  return steps.toolCall(number, step.tool_call, step.arguments, { error: step.error, ms: 250 });
}

function camel(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function camelKeys(fields: Json = {}, of: (value: Json) => Json = (value) => value): Json {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [camel(key), of(value)]));
}

const [scenario = "", target = "", user = ""] = process.argv.slice(2);
const player = new Player(target, user);
const played: unknown[] = [];
for (const step of JSON.parse(await readFile(scenario, "utf-8")).steps)
  played.push((await player.play(step)) ?? null);
player.close();
console.log(JSON.stringify({ outcome: played }));
