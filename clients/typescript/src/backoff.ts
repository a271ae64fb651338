/** When to try again, and how long to wait before it. */

import { Contended, type HbusError, OutcomeUnknown, TooManyStreams, Unavailable } from "./errors.js";

/** Tell whether a read, or a mutation with a requestId, may be sent again as it was. */
export function isRetryable(error: HbusError): boolean {
  return error instanceof Unavailable || error instanceof OutcomeUnknown || error instanceof Contended;
}

/** Tell whether a stream that was open may be opened again: a server may still count the one that was cut. */
export function isPassing(error: HbusError): boolean {
  return isRetryable(error) || error instanceof TooManyStreams;
}

/** Exponential backoff with jitter (AWS Architecture Blog, "Exponential Backoff And Jitter": equal jitter). */
export class Backoff {
  readonly firstMs: number;
  readonly capMs: number;
  /** Calls at most, the first one included; streams reconnect without this limit. */
  readonly attempts: number;

  constructor({ firstMs = 50, capMs = 1_000, attempts = 10 } = {}) {
    this.firstMs = firstMs;
    this.capMs = capMs;
    this.attempts = attempts;
  }

  /** Milliseconds to wait after the attempt of that number (from 1); `chance` lies in [0, 1). */
  pauseMs(attempt: number, chance: number): number {
    const ceiling = Math.min(this.capMs, this.firstMs * 2 ** Math.min(attempt - 1, 30));
    return ceiling * (0.5 + chance / 2);
  }
}

export const NO_RETRY = new Backoff({ attempts: 1 });
export const STREAM_BACKOFF = new Backoff({ firstMs: 100, capMs: 2_000 });

/** Where time and chance come from. */
export interface Sources {
  now: () => number;
  chance: () => number;
}

const REAL: Sources = { now: () => performance.now(), chance: Math.random };

/** The attempts of one unary call within its deadline. */
export class Attempts {
  readonly #backoff: Backoff;
  readonly #sources: Sources;
  readonly #deadline: number;
  #made = 0;

  constructor(backoff: Backoff, timeoutMs: number, sources: Sources = REAL) {
    this.#backoff = backoff;
    this.#sources = sources;
    this.#deadline = sources.now() + timeoutMs;
  }

  /** Milliseconds until the deadline; never negative. */
  get remainingMs(): number {
    return Math.max(0, this.#deadline - this.#sources.now());
  }

  /** Milliseconds to wait before the next attempt; undefined = give up and throw `error`. */
  pauseAfter(error: HbusError): number | undefined {
    this.#made += 1;
    if (!isRetryable(error) || this.#made >= this.#backoff.attempts) return undefined;
    const pause = Math.max(
      this.#backoff.pauseMs(this.#made, this.#sources.chance()),
      error.retryAfterMs ?? 0,
    );
    return pause < this.remainingMs ? pause : undefined;
  }
}

/** How long a stream has been cut, from the first failure to the next message. */
export class Outage {
  readonly #backoff: Backoff;
  readonly #limitMs: number;
  readonly #sources: Sources;
  #cuts = 0;
  #since = 0;

  /** Give up after `limitMs` without a message; default never. */
  constructor(backoff: Backoff, limitMs = Infinity, sources: Sources = REAL) {
    this.#backoff = backoff;
    this.#limitMs = limitMs;
    this.#sources = sources;
  }

  /** Note that a message has arrived. */
  over(): void {
    this.#cuts = 0;
  }

  /** Milliseconds to wait before reconnecting; undefined = give up and throw `error`. */
  pauseAfter(error: HbusError): number | undefined {
    if (!isPassing(error)) return undefined;
    const now = this.#sources.now();
    if (this.#cuts === 0) this.#since = now;
    this.#cuts += 1;
    const pause = Math.max(
      this.#backoff.pauseMs(this.#cuts, this.#sources.chance()),
      error.retryAfterMs ?? 0,
    );
    return now + pause > this.#since + this.#limitMs ? undefined : pause;
  }
}
