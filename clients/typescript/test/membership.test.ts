/** What a member says and when: nothing is forgotten over a cut, and no more comes than it can take. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { Backoff } from "../dist/backoff.js";
import { type ConsumeRequest, ConsumeResponseSchema } from "../dist/gen/hbus/v1/bus_service_pb.js";
import { type Delivery, SettleOutcome } from "../dist/gen/hbus/v1/group_pb.js";
import { Leases } from "../dist/leases.js";
import { Membership, RejectEvent } from "../dist/membership.js";
import { openGroup } from "../dist/requests.js";

type Message = NonNullable<MessageInitShape<typeof ConsumeResponseSchema>["message"]>;

const response = (message: Message) => create(ConsumeResponseSchema, { message });
const OPENED = response({ case: "opened", value: { group: { name: "mail", lease: { seconds: 10n } } } });
const DRAIN = response({ case: "drain", value: {} });
const events = (...ids: string[]) =>
  response({ case: "events", value: { deliveries: ids.map((ackId) => ({ ackId, attempt: 1 })) } });
const settled = (...outcomes: SettleOutcome[]) => response({ case: "settled", value: { outcomes } });

/** A member that has been opened and has granted its window. */
function member(
  options: { window?: number; retry?: Backoff; rejectAfter?: number; leases?: Leases } = {},
): Membership {
  const opening = openGroup("mail", "one", { namespaces: "user:*:facts" });
  const made = new Membership(opening, { window: 4, chance: () => 0, ...options });
  made.restart();
  made.accept(OPENED);
  said(made);
  return made;
}

/** What goes out now. */
function said(subject: Membership): unknown[] {
  return [...subject.outbox()].map(({ message }: ConsumeRequest) => {
    if (message.case === "credit") return message.value.events;
    if (message.case !== "settle") return message.case;
    return message.value.settlements.map(({ ackIds, action }) => [action.case, ...ackIds]);
  });
}

function taken(subject: Membership, ...ids: string[]): Delivery[] {
  subject.accept(events(...ids));
  return ids.map(() => subject.pop()!);
}

test("the introduction comes first, and credit after the answer", () => {
  const subject = new Membership(openGroup("mail", "one", {}), { window: 4 });
  assert.equal(subject.restart().message.case, "open");
  assert.deepEqual(said(subject), []);
  subject.accept(OPENED);
  assert.deepEqual(said(subject), [4]);
});

test("acks gather in one request, and credit keeps the window full", () => {
  const subject = member();
  const [a, b, c] = taken(subject, "a", "b", "c");
  subject.succeeded(b!);
  assert.deepEqual(said(subject), [[["ack", "b"]]], "half a window is not free yet");
  subject.succeeded(a!);
  subject.succeeded(c!);
  assert.deepEqual(said(subject), [[["ack", "a", "c"]], 3]);
});

test("a request holds at most a thousand ids", () => {
  const subject = member({ window: 3_000 });
  const ids = Array.from({ length: 2_500 }, (_, n) => String(n));
  for (const delivery of taken(subject, ...ids)) subject.succeeded(delivery);
  const settles = said(subject).filter(Array.isArray) as [string, ...string[]][][];
  assert.deepEqual(
    settles.map((settle) => settle.flatMap(([, ...acked]) => acked).length),
    [1_000, 1_000, 500],
  );
});

test("what was not answered is said again on the next stream, once; what was answered is not", () => {
  const subject = member();
  const [a, b, c] = taken(subject, "a", "b", "c");
  subject.succeeded(a!);
  said(subject);
  subject.failed(b!, new RejectEvent("never"));
  said(subject);
  subject.accept(settled(SettleOutcome.DONE));
  subject.restart();
  subject.succeeded(c!);
  assert.deepEqual(said(subject)[0], [
    ["reject", "b"],
    ["ack", "c"],
  ]);
  assert.equal(subject.isSettled, false);
  subject.accept(settled(SettleOutcome.STALE, SettleOutcome.DONE));
  assert.deepEqual([subject.isSettled, subject.stale], [true, 1]);
});

test("a failed event comes again later and later, with what was thrown as the reason", () => {
  const subject = member({ retry: new Backoff({ firstMs: 1_000, capMs: 60_000 }) });
  for (const [attempt, delay] of [
    [1, [0n, 500_000_000]],
    [3, [2n, 0]],
    [40, [30n, 0]],
  ] as const) {
    const [delivery] = taken(subject, "a");
    subject.failed({ ...delivery!, attempt }, new TypeError("cannot parse"));
    const message = [...subject.outbox()][0]!.message;
    assert.ok(message.case === "settle");
    const action = message.value.settlements[0]!.action;
    assert.ok(action.case === "retryLater");
    assert.deepEqual([action.value.delay?.seconds, action.value.delay?.nanos], delay);
    assert.equal(action.value.reason, "TypeError: cannot parse");
  }
});

test("an event is rejected by the handler's word, or after the attempts that the member allows", () => {
  const subject = member({ rejectAfter: 2 });
  const [a, b, c] = taken(subject, "a", "b", "c");
  subject.failed(a!, new RejectEvent("never"));
  subject.failed({ ...b!, attempt: 2 }, new Error("again"));
  subject.failed(c!, "again");
  assert.deepEqual(said(subject)[0], [
    ["reject", "a"],
    ["reject", "b"],
    ["retryLater", "c"],
  ]);
});

test("leases of what is in hand are extended halfway, whether a handler runs or the event waits", () => {
  let now = 0;
  const subject = member({ leases: new Leases(30_000, () => now) });
  const [a] = taken(subject, "a");
  subject.accept(events("b"));
  assert.equal(subject.dueMs, 5_000);
  now += 4_999;
  assert.deepEqual(said(subject), []);
  now += 1;
  assert.deepEqual(said(subject), [[["extend", "a", "b"]]]);
  subject.accept(settled(SettleOutcome.DONE, SettleOutcome.DONE));
  subject.succeeded(a!);
  said(subject);
  now += 5_000;
  assert.deepEqual(said(subject), [[["extend", "b"]]]);
  for (; now < 30_000; now += 5_000) said(subject);
  said(subject);
  assert.equal(subject.dueMs, undefined, "a handler that hangs loses its event");
});

test("what another member has is not begun", () => {
  let now = 0;
  const subject = member({ leases: new Leases(undefined, () => now) });
  const [a] = taken(subject, "a");
  subject.accept(events("b", "c"));
  now += 5_000;
  said(subject);
  subject.accept(settled(SettleOutcome.STALE, SettleOutcome.STALE, SettleOutcome.DONE));
  assert.deepEqual([subject.pop()?.ackId, subject.pop(), subject.stale], ["c", undefined, 0]);
  subject.succeeded(a!);
  said(subject);
  subject.accept(settled(SettleOutcome.STALE));
  assert.equal(subject.stale, 1);
});

test("a leaving member finishes what it has begun, and begins and grants nothing more", () => {
  const subject = member();
  subject.accept(events("a", "b"));
  const a = subject.pop()!;
  subject.accept(DRAIN);
  assert.deepEqual([subject.pop(), subject.isSettled], [undefined, false]);
  subject.succeeded(a);
  assert.deepEqual(said(subject), [[["ack", "a"]]]);
  subject.accept(settled(SettleOutcome.DONE));
  assert.deepEqual([subject.isLeaving, subject.isSettled], [true, true]);
});
