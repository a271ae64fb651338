/** Subscriptions and consumers against a scripted server over real sockets: cuts, resuming, stopping. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, type ServiceImpl } from "@connectrpc/connect";

import { Backoff, BusService, type Delivery, errors, RejectEvent } from "@hindsight-bus/client";

import type {
  ConsumeRequest,
  ConsumeResponseSchema,
  SubscribeRequest,
  SubscribeResponseSchema,
} from "../dist/gen/hbus/v1/bus_service_pb.js";
import { refuse, ScriptedBus } from "./scripted_bus.ts";

type Bus = Partial<ServiceImpl<typeof BusService>>;
type Said = MessageInitShape<typeof SubscribeResponseSchema>;

const FACTS = "user:zhangsan:facts";
const SOON = new Backoff({ firstMs: 1, capMs: 1 });

const confirmed = (token: string): Said => ({
  message: { case: "confirmed", value: { token: { token }, oldestRevision: 1n } },
});
const batch = (token: string, ...revisions: bigint[]): Said => ({
  message: {
    case: "events",
    value: { events: revisions.map((revision) => ({ revision })), token: { token } },
  },
});

/** Where a request starts: a token, or the kind of start. */
function place({ start }: SubscribeRequest): string {
  return start?.from.case === "tokens" ? start.from.value.tokens[0]!.token : (start?.from.case ?? "");
}

/** Serve a subscription, one script a connection; `places` is where each connection was asked to start. */
async function scripted(...scripts: ((aborted: Promise<unknown>) => AsyncIterable<Said>)[]) {
  const places: string[] = [];
  const subscribe: NonNullable<Bus["subscribe"]> = (request, { signal }) => {
    places.push(place(request));
    const script = scripts[places.length - 1];
    if (script === undefined) throw refuse(Code.OutOfRange, "REVISION_COMPACTED");
    return script(once(signal, "abort"));
  };
  return { bus: await ScriptedBus.serve({}, { subscribe }), places };
}

test("a subscription that is cut, refused and ended resumes by token without gap or repeat", async () => {
  const { bus, places } = await scripted(
    async function* (aborted) {
      yield confirmed("t0");
      yield batch("t2", 1n, 2n);
      await aborted;
    },
    async function* () {
      throw refuse(Code.Unavailable, "DRAINING");
    },
    async function* () {
      yield confirmed("t2");
      yield batch("t3", 3n);
    },
    async function* (aborted) {
      yield batch("t4", 4n);
      await aborted;
    },
  );
  await using _ = bus;
  const seen: bigint[] = [];
  for await (const { revision } of await bus.connect().subscribe(FACTS, { kinds: ["written"] })) {
    seen.push(revision);
    if (revision === 2n) bus.cut();
    if (revision === 4n) break;
  }
  assert.deepEqual(seen, [1n, 2n, 3n, 4n]);
  assert.deepEqual(places, ["now", "t2", "t2", "t3"]);
});

test("the place that is gone is told, once, and the subscription does not start over", async () => {
  const { bus, places } = await scripted(async function* () {
    yield confirmed("t0");
  });
  await using _ = bus;
  const live = await bus.connect().subscribe(FACTS);
  await assert.rejects(live.next(), errors.RevisionCompacted);
  assert.deepEqual(await live.next(), { done: true, value: undefined });
  assert.deepEqual(places, ["now", "t0"]);
});

test("calls of next that overlap get one event each, in order", async () => {
  const { bus } = await scripted(async function* (aborted) {
    yield confirmed("t0");
    yield batch("t2", 1n, 2n);
    yield batch("t3", 3n);
    await aborted;
  });
  await using _ = bus;
  await using live = await bus.connect().subscribe(FACTS);
  const events = await Promise.all([live.next(), live.next(), live.next()]);
  assert.deepEqual(
    events.map(({ value }) => value?.revision),
    [1n, 2n, 3n],
  );
  assert.equal(live.token, "t3");
});

test("whoever waits is told of the end: by close, by the signal, by the client's close", async () => {
  const idle = async function* (aborted: Promise<unknown>) {
    yield confirmed("t0");
    await aborted;
  };
  const { bus } = await scripted(idle, idle);
  await using _ = bus;
  const client = bus.connect();
  const closed = await client.subscribe(FACTS);
  const waiting = closed.next();
  closed.close();
  assert.deepEqual(await waiting, { done: true, value: undefined });

  const controller = new AbortController();
  const aborted = await client.subscribe(FACTS, { signal: controller.signal });
  const next = aborted.next();
  controller.abort(new Error("enough"));
  await assert.rejects(next, /enough/);
  assert.deepEqual(await aborted.next(), { done: true, value: undefined });
});

test("a server that does not confirm, or refuses, fails the subscription", async () => {
  const { bus } = await scripted(
    async function* (aborted) {
      yield { message: { case: "checkpoint", value: { token: { token: "t0" } } } };
      await aborted;
    },
    async function* () {
      throw refuse(Code.InvalidArgument, "INVALID_FIELD", { field: "namespaces" });
    },
  );
  await using _ = bus;
  const client = bus.connect({ timeoutMs: 50 });
  await assert.rejects(client.subscribe(FACTS), errors.DeadlineExpired);
  await assert.rejects(client.subscribe(FACTS), { name: "InvalidRequest", field: "namespaces" });
});

test("a cut that outlasts maxOutageMs is given up", async () => {
  const { bus } = await scripted(
    async function* () {
      yield confirmed("t0");
    },
    ...Array.from(
      { length: 50 },
      () =>
        async function* () {
          throw refuse(Code.Unavailable, "DRAINING");
        },
    ),
  );
  await using _ = bus;
  const live = await bus.connect().subscribe(FACTS, { maxOutageMs: 200 });
  await assert.rejects(live.next(), { name: "Unavailable", reason: "DRAINING" });
});

test("a snapshot is complete or not there", async () => {
  const memories = (...texts: string[]): Said => ({
    message: { case: "snapshot", value: { memories: texts.map((text) => ({ text })) } },
  });
  const { bus, places } = await scripted(
    async function* () {
      yield confirmed("t0");
      yield memories("old");
    },
    async function* (aborted) {
      yield confirmed("t5");
      yield memories("one");
      yield memories("two");
      yield { message: { case: "checkpoint", value: { token: { token: "t5" } } } };
      yield batch("t6", 6n);
      await aborted;
    },
  );
  await using _ = bus;
  await using live = await bus.connect().subscribe(FACTS, { start: "snapshot" });
  assert.deepEqual(
    (await live.snapshot()).map((memory) => memory.text),
    ["one", "two"],
  );
  assert.equal((await live.next()).value?.revision, 6n);
  assert.deepEqual(places, ["snapshot", "snapshot"]);
});

// --- consumers ---

/** A group of one member: it deals out events until they are settled, over however many connections. */
class ScriptedGroup {
  readonly settled = new Map<string, string>();
  readonly members = new Set<string>();
  readonly #delivered = new Set<string>();
  readonly #ids: string[];
  /** Called before a settlement is answered; what it throws is thrown to the member. */
  beforeAnswer = () => {};

  constructor(...ids: string[]) {
    this.#ids = ids;
  }

  consume: NonNullable<Bus["consume"]> = (requests) => this.#serve(requests);

  async *#serve(
    requests: AsyncIterable<ConsumeRequest>,
  ): AsyncGenerator<MessageInitShape<typeof ConsumeResponseSchema>> {
    for await (const { message } of requests) {
      if (message.case === "open") {
        this.members.add(message.value.member);
        yield { message: { case: "opened", value: { group: message.value.group!, maxCredit: 100 } } };
      } else if (message.case === "credit") {
        const fresh = this.#ids.filter((id) => !this.#delivered.has(id)).slice(0, message.value.events);
        for (const id of fresh) this.#delivered.add(id);
        const deliveries = fresh.map((ackId) => ({ ackId, attempt: 1 }));
        if (fresh.length > 0) yield { message: { case: "events", value: { deliveries } } };
      } else if (message.case === "settle") {
        for (const { ackIds, action } of message.value.settlements) {
          for (const id of ackIds) this.settled.set(id, action.case ?? "");
        }
        this.beforeAnswer();
        yield { message: { case: "settled", value: { outcomes: [] } } };
      }
    }
  }
}

test("every event is handled by at most so many handlers at a time, and settled by what came of it", async () => {
  const group = new ScriptedGroup("a", "b", "c", "d", "e");
  await using bus = await ScriptedBus.serve({}, { consume: group.consume });
  let running = 0;
  let most = 0;
  const handle = async ({ ackId }: Delivery) => {
    most = Math.max(most, ++running);
    await setTimeout(1);
    running -= 1;
    if (ackId === "b") throw new RejectEvent("never");
    if (ackId === "c") throw new Error("not yet");
  };
  const consumption = await bus.connect().consume(handle, { group: "mail", concurrency: 2, retry: SOON });
  while (group.settled.size < 5) await setTimeout(1);
  await consumption.stop();
  assert.deepEqual(Object.fromEntries(group.settled), {
    a: "ack",
    b: "reject",
    c: "retryLater",
    d: "ack",
    e: "ack",
  });
  assert.equal(most, 2);
});

test("a member that is cut comes back under its name and says again what was not answered", async () => {
  const group = new ScriptedGroup("a", "b");
  await using bus = await ScriptedBus.serve({}, { consume: group.consume });
  let cuts = 2;
  group.beforeAnswer = () => {
    if (cuts-- > 0) bus.cut();
  };
  const consumption = await bus.connect().consume(() => {}, { group: "mail", concurrency: 1 });
  while (group.settled.size < 2 || cuts >= 0) await setTimeout(1);
  await consumption.stop();
  assert.deepEqual([...group.settled.values()], ["ack", "ack"]);
  assert.equal(group.members.size, 1);
});

test("stopping finishes what was begun; after the grace it is left behind and told", async () => {
  const group = new ScriptedGroup("a");
  await using bus = await ScriptedBus.serve({}, { consume: group.consume });
  const begun = Promise.withResolvers<AbortSignal>();
  const finish = Promise.withResolvers<void>();
  const consumption = await bus.connect().consume(
    (_, signal) => {
      begun.resolve(signal);
      return finish.promise;
    },
    { group: "mail" },
  );
  const signal = await begun.promise;
  const stopped = consumption.stop();
  finish.resolve();
  await stopped;
  assert.deepEqual([group.settled.get("a"), signal.aborted], ["ack", false]);

  const stuck = new ScriptedGroup("a");
  await using other = await ScriptedBus.serve({}, { consume: stuck.consume });
  const told = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const late = await other.connect().consume(
    async (_, signal) => {
      started.resolve();
      await once(signal, "abort");
      told.resolve();
    },
    { group: "mail" },
  );
  await started.promise;
  await late.stop(1);
  await told.promise;
  assert.equal(stuck.settled.size, 0);
});

test("what ends a consumer is told by consume, done and stop alike", async () => {
  let opens = 0;
  await using bus = await ScriptedBus.serve(
    {},
    {
      consume: async function* () {
        if (++opens === 1) throw refuse(Code.FailedPrecondition, "GROUP_MISMATCH");
        yield { message: { case: "opened", value: { group: { name: "mail" } } } };
        throw refuse(Code.NotFound, "NOT_FOUND");
      },
    },
  );
  const client = bus.connect();
  await assert.rejects(
    client.consume(() => {}, { group: "mail" }),
    errors.GroupMismatch,
  );
  const consumption = await client.consume(() => {}, { group: "mail" });
  await assert.rejects(consumption.done, errors.NotFound);
  await assert.rejects(consumption.stop(), errors.NotFound);
});

test("a member that stops while the server is away does not hammer at it", async () => {
  let comings = 0;
  const group = new ScriptedGroup("a");
  group.beforeAnswer = () => {
    throw refuse(Code.Unavailable, "DRAINING");
  };
  await using bus = await ScriptedBus.serve(
    {},
    {
      consume: async function* (requests, context) {
        if (++comings > 1) throw refuse(Code.Unavailable, "DRAINING");
        yield* group.consume(requests, context);
      },
    },
  );
  const consumption = await bus.connect().consume(() => {}, { group: "mail" });
  while (comings < 2) await setTimeout(1);
  await consumption.stop(300);
  assert.ok(comings < 10, `it came ${comings} times`);
  assert.equal(group.settled.get("a"), "ack");
});

test("the signal stops a consumer", async () => {
  const group = new ScriptedGroup();
  await using bus = await ScriptedBus.serve({}, { consume: group.consume });
  const controller = new AbortController();
  const consumption = await bus.connect().consume(() => {}, { group: "mail", signal: controller.signal });
  controller.abort();
  await consumption.done;
});
