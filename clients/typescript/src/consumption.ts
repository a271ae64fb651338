/** A member of a group at work. */

import type { Outage } from "./backoff.js";
import { decode, type HbusError, Unavailable } from "./errors.js";
import type { ConsumeRequest, ConsumeResponse } from "./gen/hbus/v1/bus_service_pb.js";
import type { Delivery } from "./gen/hbus/v1/group_pb.js";
import type { Membership } from "./membership.js";
import { pause } from "./pause.js";

/**
 * Deals with one event. The signal is aborted when the member leaves without waiting any longer.
 *
 * One that returns, or whose promise resolves, acknowledges; one that throws gives the event back.
 */
export type Handler = (delivery: Delivery, signal: AbortSignal) => unknown;

/** Opens one stream; aborting the signal ends it. */
export type OpenStream = (
  requests: AsyncIterable<ConsumeRequest>,
  signal: AbortSignal,
) => AsyncIterable<ConsumeResponse>;

/**
 * A member at work: it hands events to a handler, several at a time, and says what became of each.
 *
 * Leases are extended while the event loop is free to do so. When the connection breaks, the member comes back under
 * its name and says again what was not answered. An event may come more than once: handlers must bear that.
 */
export class Consumption implements AsyncDisposable {
  readonly #openStream: OpenStream;
  readonly #membership: Membership;
  readonly #handler: Handler;
  readonly #concurrency: number;
  readonly #outage: Outage;
  readonly #stopping = new AbortController();
  readonly #left = new AbortController();
  readonly #opened = Promise.withResolvers<void>();
  #outbox: Outbox | undefined;
  #extending: NodeJS.Timeout | undefined;

  /** Resolves once it was stopped; rejects with the `HbusError` that ended it, should one have. */
  readonly done: Promise<void>;

  private constructor(
    openStream: OpenStream,
    membership: Membership,
    handler: Handler,
    concurrency: number,
    outage: Outage,
  ) {
    this.#openStream = openStream;
    this.#membership = membership;
    this.#handler = handler;
    this.#concurrency = concurrency;
    this.#outage = outage;
    this.done = this.#run();
    this.done.catch(() => {}); // whoever awaits `done`, `open` or `stop` is told
  }

  /** Join the group, and return once it stands. */
  static async open(
    openStream: OpenStream,
    membership: Membership,
    handler: Handler,
    options: { concurrency: number; outage: Outage; signal?: AbortSignal | undefined },
  ): Promise<Consumption> {
    const { concurrency, outage, signal } = options;
    signal?.throwIfAborted();
    const consumption = new Consumption(openStream, membership, handler, concurrency, outage);
    const stop = () => void consumption.stop().catch(() => {});
    signal?.addEventListener("abort", stop, { signal: consumption.#stopping.signal });
    await Promise.race([consumption.#opened.promise, consumption.done]);
    return consumption;
  }

  /** How often an event was settled too late: another member has it. */
  get stale(): number {
    return this.#membership.stale;
  }

  /**
   * Begin no more events, finish those begun, say so, and leave; after `graceMs` leave them behind.
   *
   * What is left behind goes to another member once its lease runs out. Rejects with the `HbusError` that had ended it
   * before, should one have.
   */
  async stop(graceMs = 10_000): Promise<void> {
    const late = setTimeout(() => this.#left.abort(), graceMs);
    this.#stopping.abort();
    this.#membership.leave();
    this.#goOn();
    try {
      await this.done;
    } finally {
      clearTimeout(late);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #run(): Promise<void> {
    const stopping = this.#stopping.signal;
    while (!this.#left.signal.aborted && !(stopping.aborted && this.#membership.isSettled)) {
      let failure: HbusError = new Unavailable("the server is stopping");
      try {
        await this.#serve();
        if (stopping.aborted) return;
      } catch (error) {
        if (this.#left.signal.aborted) return;
        failure = decode(error);
      }
      const ms = this.#outage.pauseAfter(failure);
      if (ms === undefined) throw failure;
      await pause(ms, stopping.aborted ? this.#left.signal : stopping);
    }
  }

  /** Serve one stream, until both sides have said all that they had to. */
  async #serve(): Promise<void> {
    if (!this.#stopping.signal.aborted) this.#membership.comeBack();
    const outbox = new Outbox(this.#membership.restart());
    this.#outbox = outbox;
    try {
      for await (const message of this.#openStream(outbox, this.#left.signal)) {
        this.#outage.over();
        this.#membership.accept(message);
        this.#opened.resolve();
        this.#goOn();
      }
      if (!outbox.isClosed) throw new Unavailable("the server ended the stream");
    } finally {
      this.#outbox = undefined;
      clearTimeout(this.#extending);
      outbox.close();
    }
  }

  /** Begin as many events as may run at a time, and say what there is to say. */
  #goOn(): void {
    const membership = this.#membership;
    while (membership.running < this.#concurrency) {
      const delivery = membership.pop();
      if (delivery === undefined) break;
      void this.#handle(delivery);
    }
    if (this.#outbox === undefined) return;
    for (const request of membership.outbox()) this.#outbox.put(request);
    clearTimeout(this.#extending);
    if (membership.dueMs !== undefined) this.#extending = setTimeout(() => this.#goOn(), membership.dueMs);
    if (membership.isLeaving && membership.isSettled) this.#outbox.close();
  }

  async #handle(delivery: Delivery): Promise<void> {
    try {
      await this.#handler(delivery, this.#left.signal);
      this.#membership.succeeded(delivery);
    } catch (error) {
      this.#membership.failed(delivery, error);
    }
    this.#goOn();
  }
}

/** What one stream sends, as it comes up. */
class Outbox implements AsyncIterable<ConsumeRequest> {
  #waiting: ConsumeRequest[];
  #news = Promise.withResolvers<void>();
  isClosed = false;

  constructor(first: ConsumeRequest) {
    this.#waiting = [first];
  }

  put(request: ConsumeRequest): void {
    this.#waiting.push(request);
    this.#news.resolve();
  }

  close(): void {
    this.isClosed = true;
    this.#news.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ConsumeRequest, void> {
    for (;;) {
      this.#news = Promise.withResolvers();
      const batch = this.#waiting;
      this.#waiting = [];
      yield* batch;
      if (this.#waiting.length > 0) continue;
      if (this.isClosed) return;
      await this.#news.promise;
    }
  }
}
