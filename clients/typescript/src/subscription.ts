/** A subscription: events in order, each once. */

import type { Cursor } from "./cursor.js";
import { DeadlineExpired, decode, Unavailable } from "./errors.js";
import type { SubscribeRequest, SubscribeResponse } from "./gen/hbus/v1/bus_service_pb.js";
import type { Event } from "./gen/hbus/v1/event_pb.js";
import type { Memory } from "./gen/hbus/v1/memory_pb.js";
import { pause } from "./pause.js";

/** Opens one stream; aborting the signal ends it. */
export type OpenStream = (request: SubscribeRequest, signal: AbortSignal) => AsyncIterable<SubscribeResponse>;

/**
 * Events in order, each once. When the connection breaks it reconnects and resumes by token.
 *
 * Leaving a `for await` loop closes it, and so does `close`, from wherever it is called. `token` is where to resume
 * after a restart of your own process. Save it once the event at hand is dealt with: nothing is skipped then, and at
 * most one batch comes again. `PositionLost` says that the place to resume from is gone; the subscription never starts
 * over by itself.
 */
export class Subscription implements AsyncIterableIterator<Event, undefined>, AsyncDisposable {
  readonly #openStream: OpenStream;
  readonly #cursor: Cursor;
  readonly #ended = new AbortController();
  #failure: { error: unknown } | undefined;
  #stream: AsyncIterator<SubscribeResponse> | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(openStream: OpenStream, cursor: Cursor) {
    this.#openStream = openStream;
    this.#cursor = cursor;
  }

  /** Subscribe, and return once the server has confirmed: what is written from then on will be heard. */
  static async open(openStream: OpenStream, cursor: Cursor, signal?: AbortSignal): Promise<Subscription> {
    signal?.throwIfAborted();
    const subscription = new Subscription(openStream, cursor);
    signal?.addEventListener("abort", () => subscription.#fail(signal.reason), {
      signal: subscription.#ended.signal,
    });
    await subscription.#confirmed();
    return subscription;
  }

  /** Resume point: it covers the events handed out so far, up to the last whole batch. */
  get token(): string {
    return this.#cursor.token;
  }

  /** Events received that were not handed out yet; at 0 `token` covers every event handed out. */
  get buffered(): number {
    return this.#cursor.buffered;
  }

  /** Oldest revision that the server retained when it confirmed last. */
  get oldestRevision(): bigint {
    return this.#cursor.oldestRevision;
  }

  /**
   * Every memory that matched at the start, once they are complete.
   *
   * Empty unless the subscription was made with `start: "snapshot"`. One that is cut short starts over, unseen.
   */
  snapshot(): Promise<readonly Memory[]> {
    return this.#inTurn(async () => {
      while (this.#cursor.snapshot === undefined && !this.#isOver()) await this.#receive();
      return this.#cursor.snapshot ?? [];
    });
  }

  /** The next event, as soon as there is one. */
  next(): Promise<IteratorResult<Event, undefined>> {
    return this.#inTurn(async () => {
      for (;;) {
        const value = this.#cursor.pop();
        if (value !== undefined) return { done: false, value };
        if (this.#isOver()) return { done: true, value: undefined };
        await this.#receive();
      }
    });
  }

  /** End the subscription: whoever waits for an event gets none. */
  close(): void {
    this.#ended.abort();
  }

  async return(): Promise<IteratorResult<Event, undefined>> {
    this.close();
    return { done: true, value: undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #confirmed(): Promise<void> {
    const late = () => this.#fail(new DeadlineExpired("the server did not confirm the subscription in time"));
    const timer = setTimeout(late, this.#cursor.openingMs);
    try {
      while (!this.#cursor.isConfirmed && !this.#isOver()) await this.#receive();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Calls that overlap come one after another, so that messages are taken in one by one. */
  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(step, step);
    this.#turn = turn;
    return turn;
  }

  /** Tell whether it has ended; throws, once, what ended it. */
  #isOver(): boolean {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
    return this.#ended.signal.aborted;
  }

  #fail(error: unknown): void {
    if (this.#ended.signal.aborted) return;
    this.#failure = { error };
    this.close();
  }

  /** Take in one message, or wait out a cut. */
  async #receive(): Promise<void> {
    const ended = this.#ended.signal;
    try {
      this.#stream ??= this.#openStream(this.#cursor.request(), ended)[Symbol.asyncIterator]();
      const message = await this.#stream.next();
      if (message.done === true) throw new Unavailable("the server ended the stream");
      this.#cursor.accept(message.value);
    } catch (error) {
      this.#stream = undefined;
      if (ended.aborted) return;
      const failure = decode(error);
      const ms = this.#cursor.pauseAfter(failure);
      if (ms === undefined) this.#fail(failure);
      else await pause(ms, ended);
    }
  }
}
