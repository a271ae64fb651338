/** Leases of events in hand, and when to extend them. Pure; times are milliseconds of one monotonic clock. */

export const LONGEST_MS = 3_600_000;

/** What is in hand. Each lease is extended halfway, until its event has been in hand for `longestMs`. */
export class Leases {
  /** Length of a lease; 0 until the server has told. */
  leaseMs = 0;
  readonly #longestMs: number;
  readonly #clock: () => number;
  /** By ack id, when to extend and until when; in order of the first, as an id goes to the end when extended. */
  readonly #held = new Map<string, { whenMs: number; untilMs: number }>();

  constructor(longestMs = LONGEST_MS, clock: () => number = () => performance.now()) {
    this.#longestMs = longestMs;
    this.#clock = clock;
  }

  /** Note an event that has just come. */
  begin(ackId: string): void {
    if (this.leaseMs === 0) return;
    const now = this.#clock();
    this.#held.set(ackId, { whenMs: now + this.leaseMs / 2, untilMs: now + this.#longestMs });
  }

  /** Note that an event is in hand no more. */
  end(ackId: string): void {
    this.#held.delete(ackId);
  }

  /** What to extend now, for another lease. */
  due(): string[] {
    const now = this.#clock();
    const due: string[] = [];
    for (const [ackId, { whenMs }] of this.#held) {
      if (whenMs > now) break;
      due.push(ackId);
    }
    return due.filter((ackId) => {
      const { untilMs } = this.#held.get(ackId)!;
      this.#held.delete(ackId);
      if (now >= untilMs) return false;
      this.#held.set(ackId, { whenMs: now + this.leaseMs / 2, untilMs });
      return true;
    });
  }

  /** Milliseconds until `due` has something to tell; undefined while nothing is in hand. */
  get nextMs(): number | undefined {
    for (const { whenMs } of this.#held.values()) return Math.max(0, whenMs - this.#clock());
    return undefined;
  }
}
