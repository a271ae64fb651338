/** Calls against a scripted server over real sockets: retries, deadlines, cancellation, errors. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Code, type ConnectError } from "@connectrpc/connect";

import { Backoff, Decision, errors, MemoryService, writeRequest } from "@hindsight-bus/client";

import type { WriteMemoryRequest } from "../dist/gen/hbus/v1/memory_service_pb.js";
import { refuse, ScriptedBus } from "./scripted_bus.ts";

const FACTS = "user:zhangsan:facts";
const QUICK = new Backoff({ firstMs: 1, capMs: 10 });
const STORED = { decision: Decision.STORED, memory: { text: "tables" } };

/** A server whose WriteMemory fails so often and then answers; `requests` are what it got. */
async function failing(times: number, failure: ConnectError) {
  const requests: WriteMemoryRequest[] = [];
  const bus = await ScriptedBus.serve({
    writeMemory: (request) => {
      requests.push(request);
      if (requests.length <= times) throw failure;
      return STORED;
    },
  });
  return { bus, requests };
}

test("a call names its agent and its key, in ASCII", async () => {
  let headers = new Headers();
  await using bus = await ScriptedBus.serve({
    searchMemories: (_, { requestHeader }) => {
      headers = requestHeader;
      return {};
    },
  });
  await bus.connect({ agent: "客服@1", apiKey: "s3cret" }).search(FACTS, "x");
  assert.equal(headers.get("hbus-agent"), "%E5%AE%A2%E6%9C%8D@1");
  assert.equal(headers.get("authorization"), "Bearer s3cret");
});

test("a call names the owner of what it concerns, in ASCII", async () => {
  const owners: (string | null)[] = [];
  const note = (_: unknown, { requestHeader }: { requestHeader: Headers }) => {
    owners.push(requestHeader.get("hbus-owner"));
    return {};
  };
  await using bus = await ScriptedBus.serve(
    { searchMemories: note, getMemory: note, updateMemory: note, writeMemory: note },
    {
      subscribe: async function* (_, { requestHeader }) {
        owners.push(requestHeader.get("hbus-owner"));
        yield { message: { case: "confirmed", value: {} } };
      },
    },
  );
  const client = bus.connect();
  await client.search([FACTS, "agent:support:notes"], "user:lisi:facts");
  await client.search([], "x", { asAgent: "support", forUser: "张三" });
  await client.get("namespaces/user:zhangsan:facts/memories/0a1b");
  await client.update("namespaces/user:zhangsan:facts/memories/0a1b", { text: "bars" });
  await client.write(FACTS, "tables");
  (await client.subscribe("user:zhangsan:*")).close();
  assert.deepEqual(owners, [
    "user:zhangsan",
    "user:%E5%BC%A0%E4%B8%89",
    "user:zhangsan",
    "user:zhangsan",
    "user:zhangsan",
    "user:zhangsan",
  ]);
});

for (const failure of [
  refuse(Code.Unavailable, "STORE_UNAVAILABLE"),
  refuse(Code.Unknown, "OUTCOME_UNKNOWN"),
  refuse(Code.Aborted, "CONTENDED"),
  refuse(Code.Internal),
  refuse(Code.Canceled),
]) {
  test(`a mutation is sent again with its requestId after ${Code[failure.code]}`, async () => {
    const { bus, requests } = await failing(2, failure);
    await using _ = bus;
    const answer = await bus.connect({ backoff: QUICK }).write(FACTS, "tables");
    assert.equal(answer.memory?.text, "tables");
    assert.equal(requests.length, 3);
    assert.equal(new Set(requests.map((each) => each.requestId)).size, 1);
    assert.notEqual(requests[0]?.requestId, "");
  });
}

test("a mutation whose connection is cut before the answer is sent again on a new one", async () => {
  const requests: WriteMemoryRequest[] = [];
  await using bus = await ScriptedBus.serve({
    writeMemory: (request) => {
      requests.push(request);
      if (requests.length <= 2) bus.cut();
      return STORED;
    },
  });
  await bus.connect({ backoff: QUICK }).write(FACTS, "tables");
  assert.equal(requests.length, 3);
  assert.equal(new Set(requests.map((each) => each.requestId)).size, 1);
});

test("a server that is not there is given up with its error", async () => {
  const bus = await ScriptedBus.serve({});
  const client = bus.connect({ backoff: new Backoff({ firstMs: 1, attempts: 3 }) });
  await bus[Symbol.asyncDispose]();
  await assert.rejects(client.write(FACTS, "tables"), errors.Unavailable);
});

test("retries are bounded, and a pause that outlasts the deadline is not begun", async () => {
  const { bus, requests } = await failing(99, refuse(Code.Unavailable, "DRAINING"));
  await using _ = bus;
  const client = bus.connect({ backoff: new Backoff({ firstMs: 1, attempts: 3 }) });
  await assert.rejects(client.write(FACTS, "tables"), { name: "Unavailable", reason: "DRAINING" });
  assert.equal(requests.length, 3);

  const away = await failing(99, refuse(Code.Unavailable, "STORE_UNAVAILABLE", { retryAfterS: 60 }));
  await using __ = away.bus;
  await assert.rejects(away.bus.connect().write(FACTS, "tables"), { retryAfterMs: 60_000 });
  assert.equal(away.requests.length, 1);
});

test("a call has a deadline, and can be aborted", async () => {
  const hangs = () => new Promise<never>(() => {});
  await using bus = await ScriptedBus.serve({ searchMemories: hangs, writeMemory: hangs });
  const client = bus.connect();
  await assert.rejects(client.search(FACTS, "x", { timeoutMs: 50 }), errors.DeadlineExpired);
  await assert.rejects(client.search(FACTS, "x", { timeoutMs: 0 }), errors.DeadlineExpired);
  const controller = new AbortController();
  const call = client.write(FACTS, "tables", { signal: controller.signal });
  controller.abort(new Error("changed my mind"));
  await assert.rejects(call, /changed my mind/);
  await assert.rejects(client.write(FACTS, "x", { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("an abort ends the wait for the next attempt too", async () => {
  const { bus, requests } = await failing(99, refuse(Code.Unavailable));
  await using _ = bus;
  const client = bus.connect({
    backoff: new Backoff({ firstMs: 60_000, capMs: 60_000 }),
    timeoutMs: 120_000,
  });
  const controller = new AbortController();
  const call = client.write(FACTS, "tables", { signal: controller.signal });
  while (requests.length === 0) await new Promise(setImmediate);
  controller.abort();
  await assert.rejects(call, { name: "AbortError" });
});

for (const [code, reason, kind] of [
  [Code.InvalidArgument, "INVALID_FIELD", errors.InvalidRequest],
  [Code.ResourceExhausted, "TOO_LARGE", errors.TooLarge],
  [Code.NotFound, "NOT_FOUND", errors.NotFound],
  [Code.Aborted, "ETAG_MISMATCH", errors.EtagMismatch],
  [Code.Internal, "INTERNAL", errors.ServerError],
  [Code.FailedPrecondition, "OF_A_NEWER_SERVER", errors.Refused],
  [Code.Unauthenticated, "", errors.Denied],
  [Code.Unimplemented, "", errors.ServerError],
] as const) {
  test(`a refusal is a typed error and is not retried: ${Code[code]} ${reason}`, async () => {
    const { bus, requests } = await failing(99, refuse(code, reason, { field: "memory.confidence" }));
    await using _ = bus;
    const error: unknown = await bus
      .connect()
      .write(FACTS, "tables")
      .catch((error: unknown) => error);
    assert.ok(error instanceof errors.HbusError);
    assert.equal(error.constructor, kind);
    assert.deepEqual([error.code, error.reason, error.message], [code, reason, "refused"]);
    assert.deepEqual(error.fields, { "memory.confidence": "is wrong" });
    assert.deepEqual(error.metadata, reason === "" ? {} : { incident: "42" });
    assert.equal(requests.length, 1);
  });
}

test("a value that its field cannot hold is refused here, once", async () => {
  await using bus = await ScriptedBus.serve({});
  const call = bus.connect().search(FACTS, "x", { topK: 1.5 });
  await assert.rejects(call, { name: "InvalidRequest", message: /top_k/ });
});

test("a listing fetches its pages as they are needed", async () => {
  const asked: string[] = [];
  await using bus = await ScriptedBus.serve({
    listMemories: ({ pageToken }) => {
      asked.push(pageToken);
      return pageToken === ""
        ? { memories: [{ text: "1" }, { text: "2" }], nextPageToken: "p2" }
        : { memories: [{ text: "3" }] };
    },
  });
  const client = bus.connect();
  const texts = (await Array.fromAsync(client.list(FACTS))).map((memory) => memory.text);
  assert.deepEqual(texts, ["1", "2", "3"]);
  for await (const _ of client.list(FACTS)) break;
  assert.deepEqual(asked, ["", "p2", ""]);
});

test("each write of a batch has its own outcome; more than 500 are several calls", async () => {
  const sizes: number[] = [];
  await using bus = await ScriptedBus.serve({
    batchWriteMemories: ({ writes }) => {
      sizes.push(writes.length);
      const bad = { code: 3, reason: "INVALID_FIELD", message: "is bad", field: "memory.text" };
      const result = (text: string) =>
        text === "bad"
          ? { case: "error" as const, value: bad }
          : { case: "response" as const, value: STORED };
      return { results: writes.map(({ memory }) => ({ result: result(memory!.text) })) };
    },
  });
  const writes = Array.from({ length: 502 }, (_, n) => writeRequest(FACTS, n === 501 ? "bad" : "good"));
  const outcomes = await bus.connect().writeMany(writes);
  assert.deepEqual(sizes, [500, 2]);
  assert.equal(outcomes.filter((each) => !(each instanceof errors.HbusError)).length, 501);
  assert.ok(outcomes[501] instanceof errors.InvalidRequest);
});

test("the bare stubs carry the client's identity", async () => {
  let agent: string | null = null;
  await using bus = await ScriptedBus.serve({
    getMemory: (_, { requestHeader }) => {
      agent = requestHeader.get("hbus-agent");
      throw refuse(Code.NotFound, "NOT_FOUND");
    },
  });
  const call = bus.connect().service(MemoryService).getMemory({ name: "x" });
  await assert.rejects(call, (error) => errors.decode(error) instanceof errors.NotFound);
  assert.equal(agent, "support");
});
