/** The rules for trying again: pure, with a clock and a chance of the test's own. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Attempts, Backoff, Outage } from "../dist/backoff.js";
import * as errors from "../dist/errors.js";

class FakeClock {
  ms = 0;
  now = () => this.ms;
  chance = () => 0.5;
}

test("each pause lies between half its ceiling and its ceiling, which doubles up to the cap", () => {
  const backoff = new Backoff({ firstMs: 50, capMs: 1_000 });
  for (let attempt = 1; attempt < 100; attempt++) {
    const ceiling = Math.min(1_000, 50 * 2 ** (attempt - 1));
    assert.equal(backoff.pauseMs(attempt, 0), ceiling / 2);
    assert.ok(backoff.pauseMs(attempt, 0.999) < ceiling);
    assert.ok(backoff.pauseMs(attempt, 0.999) > 0.99 * ceiling);
  }
});

test("no pause is begun that would outlast the deadline", () => {
  const clock = new FakeClock();
  const attempts = new Attempts(new Backoff({ attempts: 1_000 }), 5_000, clock);
  let pauses = 0;
  for (let ms = attempts.pauseAfter(new errors.Unavailable("away")); ms !== undefined; pauses++) {
    clock.ms += ms;
    assert.ok(attempts.remainingMs > 0);
    ms = attempts.pauseAfter(new errors.Unavailable("away"));
  }
  assert.ok(pauses > 5, `only ${pauses} pauses in 5 s`);
});

test("attempts are bounded", () => {
  const attempts = new Attempts(new Backoff({ attempts: 3 }), 5_000, new FakeClock());
  const pauses = [1, 2, 3].map(() => attempts.pauseAfter(new errors.OutcomeUnknown("lost")) !== undefined);
  assert.deepEqual(pauses, [true, true, false]);
});

for (const kind of [
  "InvalidRequest",
  "NotFound",
  "EtagMismatch",
  "DeadlineExpired",
  "TooManyStreams",
] as const) {
  test(`what would fail again is not sent again: ${kind}`, () => {
    const attempts = new Attempts(new Backoff(), 5_000, new FakeClock());
    assert.equal(attempts.pauseAfter(new errors[kind]("no")), undefined);
  });
}

test("a pause is never shorter than what the server says", () => {
  const attempts = new Attempts(new Backoff(), 5_000, new FakeClock());
  assert.equal(attempts.pauseAfter(new errors.Unavailable("away", { retryAfterMs: 1_234 })), 1_234);
});

test("an outage is given up after its limit, and forgotten once it is over", () => {
  const clock = new FakeClock();
  const outage = new Outage(new Backoff({ firstMs: 100, capMs: 100 }), 1_000, clock);
  const cut = () => outage.pauseAfter(new errors.Unavailable("cut"));
  assert.notEqual(cut(), undefined);
  clock.ms = 990;
  assert.equal(cut(), undefined);
  outage.over();
  clock.ms = 5_000;
  assert.notEqual(cut(), undefined);
});

test("a stream that the server still counts is waited for; one whose place is gone is not", () => {
  const outage = new Outage(new Backoff(), Infinity, new FakeClock());
  assert.notEqual(outage.pauseAfter(new errors.TooManyStreams("counted")), undefined);
  assert.equal(outage.pauseAfter(new errors.RevisionCompacted("gone")), undefined);
});
