/** Where a subscription stands. Pure: it is told what arrived or failed, and tells what to do next. */

import { clone } from "@bufbuild/protobuf";

import { Attempts, type Backoff, Outage, type Sources } from "./backoff.js";
import type { HbusError } from "./errors.js";
import {
  type SubscribeRequest,
  SubscribeRequestSchema,
  type SubscribeResponse,
} from "./gen/hbus/v1/bus_service_pb.js";
import type { Event } from "./gen/hbus/v1/event_pb.js";
import type { Memory } from "./gen/hbus/v1/memory_pb.js";
import * as requests from "./requests.js";

export interface CursorOptions {
  /** Milliseconds within which the server must have confirmed for the first time. */
  openingMs: number;
  maxOutageMs?: number | undefined;
  sources?: Sources | undefined;
}

/**
 * Events received but not handed on yet, the resume point, and the snapshot where one was asked for.
 *
 * A batch is handed on whole before the next message is accepted, so a cut can lose nothing that a token covers.
 */
export class Cursor {
  readonly #request: SubscribeRequest;
  readonly #opening: Attempts;
  readonly #outage: Outage;
  #batch: Event[] = [];
  #handedOn = 0;
  #batchToken = "";
  #memories: Memory[] = [];

  /** Resume point after the events handed on; empty while there is none. */
  token = "";
  /** The server has confirmed the subscription once. */
  isConfirmed = false;
  /** Every memory that matched at the start, once complete; empty where no snapshot was asked for. */
  snapshot: readonly Memory[] | undefined;
  /** Oldest revision retained when the subscription was confirmed last. */
  oldestRevision = 0n;

  constructor(
    request: SubscribeRequest,
    backoff: Backoff,
    { openingMs, maxOutageMs, sources }: CursorOptions,
  ) {
    this.#request = request;
    this.#opening = new Attempts(backoff, openingMs, sources);
    this.#outage = new Outage(backoff, maxOutageMs, sources);
  }

  /** What to send on the next connection. A snapshot that was cut short starts over. */
  request(): SubscribeRequest {
    this.#memories = [];
    if (this.token === "") return this.#request;
    const resuming = clone(SubscribeRequestSchema, this.#request);
    resuming.start = requests.subscribe([], this.token, {}).start!;
    return resuming;
  }

  /** Take in one message of the stream; only once every event before it was handed on. */
  accept({ message }: SubscribeResponse): void {
    this.#outage.over();
    switch (message.case) {
      case "confirmed":
        this.#confirm(message.value.token?.token ?? "", message.value.oldestRevision);
        break;
      case "events":
        this.#batch = message.value.events;
        this.#handedOn = 0;
        this.#batchToken = message.value.token?.token ?? "";
        this.#handOver();
        break;
      case "snapshot":
        this.#memories.push(...message.value.memories);
        break;
      case "checkpoint":
        this.#check(message.value.token?.token ?? "");
        break;
      default: // a newer server may say more
    }
  }

  /** Milliseconds that are left for the first confirmation. */
  get openingMs(): number {
    return this.#opening.remainingMs;
  }

  /** Events accepted that were not handed on yet. */
  get buffered(): number {
    return this.#batch.length - this.#handedOn;
  }

  /** The next event; undefined when a message is needed. */
  pop(): Event | undefined {
    const event = this.#batch[this.#handedOn];
    if (event !== undefined) {
      this.#handedOn += 1;
      this.#handOver();
    }
    return event;
  }

  /** Milliseconds to wait before the next connection; undefined = give up and throw `failure`. */
  pauseAfter(failure: HbusError): number | undefined {
    return (this.isConfirmed ? this.#outage : this.#opening).pauseAfter(failure);
  }

  #confirm(token: string, oldestRevision: bigint): void {
    this.isConfirmed = true;
    this.oldestRevision = oldestRevision;
    if (this.#request.start?.from.case === "snapshot" && this.snapshot === undefined) return;
    this.snapshot ??= [];
    this.#advance(token);
  }

  #check(token: string): void {
    this.snapshot ??= this.#memories;
    this.#memories = [];
    this.#advance(token);
  }

  #handOver(): void {
    if (this.buffered === 0) this.#advance(this.#batchToken);
  }

  #advance(token: string): void {
    this.token = token || this.token;
  }
}
