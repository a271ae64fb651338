/** Where a subscription resumes: the rule that keeps events from being lost or repeated. */

import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { Backoff } from "../dist/backoff.js";
import { Cursor } from "../dist/cursor.js";
import { OutcomeUnknown } from "../dist/errors.js";
import { type SubscribeRequest, SubscribeResponseSchema } from "../dist/gen/hbus/v1/bus_service_pb.js";
import { subscribe } from "../dist/requests.js";
import { generator } from "./chance.ts";

type Message = NonNullable<MessageInitShape<typeof SubscribeResponseSchema>["message"]>;

const response = (message: Message) => create(SubscribeResponseSchema, { message });
const confirmed = (at: number) =>
  response({ case: "confirmed", value: { token: { token: `t${at}` }, oldestRevision: 1n } });
const checkpoint = (at: number) => response({ case: "checkpoint", value: { token: { token: `t${at}` } } });
const snapshot = (...texts: string[]) =>
  response({ case: "snapshot", value: { memories: texts.map((text) => ({ text })) } });
const batch = (first: number, count: number) => {
  const events = Array.from({ length: count }, (_, n) => ({ revision: BigInt(first + n) }));
  return response({ case: "events", value: { events, token: { token: `t${first + count - 1}` } } });
};

function cursor(start: "beginning" | "snapshot" = "beginning"): Cursor {
  const request = subscribe("user:*:facts", start, { kinds: ["written"], minConfidence: 0.5 });
  return new Cursor(request, new Backoff(), { openingMs: 5_000 });
}

/** Revision after which a request asks to resume. */
function place(request: SubscribeRequest): number {
  const from = request.start?.from;
  return from?.case === "tokens" ? Number(from.value.tokens[0]!.token.slice(1)) : 0;
}

test("wherever each connection is cut, every event is handed on once and in order", () => {
  const seed = randomInt(2 ** 31);
  const below = generator(seed);
  for (let run = 0; run < 200; run++) {
    const subject = cursor();
    const published = below(40);
    const seen: number[] = [];
    for (let connection = 0; connection < 12; connection++) {
      let next = place(subject.request()) + 1;
      subject.accept(confirmed(next - 1));
      const messages = connection < 11 ? below(4) : Infinity;
      for (let n = 0; n < messages && next <= published; n++) {
        const count = Math.min(1 + below(5), published - next + 1);
        subject.accept(batch(next, count));
        next += count;
        for (let event = subject.pop(); event !== undefined; event = subject.pop()) {
          seen.push(Number(event.revision));
        }
      }
      subject.pauseAfter(new OutcomeUnknown("cut"));
    }
    const expected = Array.from({ length: published }, (_, n) => n + 1);
    assert.deepEqual(seen, expected, `seed ${seed}, run ${run}`);
    assert.equal(subject.token, `t${published}`);
  }
});

test("the token lags within a batch: one that covered an event not handed on would lose it", () => {
  const subject = cursor();
  subject.accept(confirmed(0));
  subject.accept(batch(1, 2));
  assert.deepEqual([subject.token, subject.buffered], ["t0", 2]);
  subject.pop();
  assert.deepEqual([subject.token, subject.buffered], ["t0", 1]);
  subject.pop();
  assert.deepEqual([subject.token, subject.buffered, subject.pop()], ["t2", 0, undefined]);
});

test("a resumed subscription asks the same from another place", () => {
  const subject = cursor();
  const first = subject.request();
  subject.accept(confirmed(7));
  const again = subject.request();
  assert.equal(place(again), 7);
  assert.deepEqual([again.namespaces, again.filter], [first.namespaces, first.filter]);
  assert.equal(place(first), 0, "the first request is as it was");
});

test("a snapshot that is cut short starts over, unseen", () => {
  const subject = cursor("snapshot");
  subject.accept(confirmed(3));
  subject.accept(snapshot("old"));
  assert.deepEqual([subject.snapshot, subject.token], [undefined, ""]);
  assert.equal(subject.request().start?.from.case, "snapshot");
  subject.accept(confirmed(4));
  subject.accept(snapshot("one", "two"));
  subject.accept(checkpoint(4));
  assert.deepEqual(
    subject.snapshot?.map((memory) => memory.text),
    ["one", "two"],
  );
  assert.equal(place(subject.request()), 4);
});
