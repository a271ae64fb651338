/** Plain values in, messages of the contract out; what is wrong is named. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  connect,
  Decision,
  errors,
  label,
  MemoryState,
  MemoryType,
  steps,
  writeRequest,
} from "@hindsight-bus/client";

import { ErrorReason } from "../dist/gen/hbus/v1/error_reason_pb.js";
import { errorClass, fromItem, ServerError } from "../dist/errors.js";
import * as requests from "../dist/requests.js";

test("short names are those of the contract, and numbers pass", () => {
  assert.equal(label(MemoryState, MemoryState.CONTESTED), "contested");
  assert.equal(label(Decision, 99), "99");
  assert.equal(writeRequest("user:a:facts", "x", { type: "lesson" }).memory?.type, MemoryType.LESSON);
  assert.equal(writeRequest("user:a:facts", "x").memory?.type, MemoryType.SEMANTIC);
  const typo = { type: "lessen" } as never;
  assert.throws(
    () => writeRequest("user:a:facts", "x", typo),
    /type: 'lessen' is none of episodic, semantic, procedural, lesson/,
  );
});

test("an update names exactly the fields given, cleared ones too", () => {
  const request = requests.update("m", { eventTime: new Date(0), confidence: undefined, tags: [] }, {});
  assert.deepEqual(request.updateMask?.paths, ["event_time", "confidence", "tags"]);
  assert.equal(request.memory?.confidence, undefined);
  assert.throws(() => requests.update("m", {}, {}), /name at least one field/);
  assert.throws(() => requests.update("m", { colour: "red" } as never, {}), /no field 'colour'/);
});

test("tokens that are missing ask for nothing, and a subscription cannot start there", () => {
  assert.deepEqual(requests.consistency({ after: [undefined, ""] }), {});
  assert.throws(() => requests.subscribe("user:a:facts", "", {}), /start: give now/);
  assert.equal(requests.subscribe("user:a:facts", "token", {}).start?.from.case, "tokens");
});

test("events by meaning: words or a vector, and a threshold only with it", () => {
  const { meaning } = requests.subscribe("user:a:facts", "now", {
    meaning: "refunds",
    threshold: 0.8,
  }).filter!;
  assert.deepEqual([meaning?.text, meaning?.vector, meaning?.threshold], ["refunds", [], 0.8]);
  const near = requests.openGroup("g", "m", { meaning: [1, 0] }).group?.filter?.meaning;
  assert.deepEqual([near?.text, near?.vector, near?.threshold], ["", [1, 0], undefined]);
  assert.throws(
    () => requests.subscribe("user:a:facts", "now", { threshold: 0.8 }),
    /give a meaning with it/,
  );
});

test("an invalid date is refused by name", () => {
  const fields = { eventTime: new Date("yesterday") };
  assert.throws(() => writeRequest("user:a:facts", "x", fields), /eventTime: the date is invalid/);
});

test("every write has a requestId of its own, unless given", () => {
  const [one, other] = [writeRequest("user:a:facts", "x"), writeRequest("user:a:facts", "x")];
  assert.notEqual(one.requestId, other.requestId);
  const unnamed = { ...one, requestId: "" };
  assert.notEqual(requests.identified(unnamed).requestId, "");
  assert.equal(unnamed.requestId, "", "the caller's own is as it was");
  assert.equal(requests.identified(one), one);
});

test("steps hold one content each", () => {
  const called = steps.toolCall(2, "get_order", { id: 1001 }, { error: "401", ms: 250 });
  assert.equal(called.sequence, 2n);
  assert.ok(called.content.case === "toolCall");
  assert.deepEqual(
    [called.content.value.arguments, called.content.value.duration?.nanos],
    ['{"id":1001}', 250e6],
  );
});

test("every reason of the contract has a class of its own kind", () => {
  for (const reason of Object.keys(ErrorReason).filter(
    (name) => !/^(\d+|UNSPECIFIED|INTERNAL)$/.test(name),
  )) {
    assert.notEqual(errorClass(999 as never, reason), ServerError, reason);
  }
  const refused = fromItem({
    code: 3,
    reason: "INVALID_FIELD",
    message: "no",
    field: "memory.text",
  } as never);
  assert.ok(refused instanceof errors.InvalidRequest);
  assert.deepEqual(
    [refused.name, refused.field, refused.fields],
    ["InvalidRequest", "memory.text", { "memory.text": "no" }],
  );
});

for (const target of [
  "localhost",
  "unix:/tmp/socket",
  "dns:///bus:50051",
  "https://bus/path",
  "",
  "a b:1",
  ":50051",
]) {
  test(`a malformed target is refused: '${target}'`, () => {
    assert.throws(() => connect(target), /target must look like host:port/);
  });
}

test("a key that cannot be a header, and TLS without https, are refused", () => {
  assert.throws(() => connect("bus:1", { apiKey: "ключ" }), /apiKey/);
  assert.throws(() => connect("bus:1", { tls: { ca: "" } }), /not https/);
});
