/** A member's side of a group. Pure: it is told what arrived and what handlers made of it, and tells what to send. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";

import { Backoff } from "./backoff.js";
import { Leases } from "./leases.js";
import {
  type ConsumeRequest,
  ConsumeRequestSchema,
  type ConsumeResponse,
  type GroupTerms,
  type OpenGroup,
} from "./gen/hbus/v1/bus_service_pb.js";
import { type Delivery, SettleOutcome, type Settlement, SettlementSchema } from "./gen/hbus/v1/group_pb.js";

export const HANDLER_BACKOFF = new Backoff({ firstMs: 1_000, capMs: 60_000 });
const MAX_IDS = 1_000;
const MAX_REASON_CHARS = 1_024;

/** Throw it in a handler to make the event a dead letter at once; its message is the reason. */
export class RejectEvent extends Error {}

export interface MembershipOptions {
  /** Events in hand at most. */
  window: number;
  retry?: Backoff | undefined;
  rejectAfter?: number | undefined;
  leases?: Leases;
  chance?: () => number;
}

/**
 * Events in hand, what is to be said about them, and how many more may come.
 *
 * What was said and not answered when a stream broke is said again on the next one: repeating it is harmless. Leases
 * of events in hand are extended; where one was lost all the same, its event is not begun.
 */
export class Membership {
  readonly #opening: OpenGroup;
  readonly #window: number;
  readonly #retry: Backoff;
  readonly #rejectAfter: number;
  readonly #leases: Leases;
  readonly #chance: () => number;
  #waiting: Delivery[] = [];
  #running = 0;
  #granted = 0;
  #unsaid: Settlement[] = [];
  #unanswered: Settlement[][] = [];

  /** Terms of the group in force; undefined until the server has told. */
  terms: GroupTerms | undefined;
  /** No more events are wanted; those in hand are finished. */
  isLeaving = false;
  /** Settlements that came too late: another member has the event. */
  stale = 0;

  constructor(opening: OpenGroup, options: MembershipOptions) {
    this.#opening = opening;
    this.#window = options.window;
    this.#retry = options.retry ?? HANDLER_BACKOFF;
    this.#rejectAfter = options.rejectAfter ?? Infinity;
    this.#leases = options.leases ?? new Leases();
    this.#chance = options.chance ?? Math.random;
  }

  /** No handler runs, and all that was said is answered. */
  get isSettled(): boolean {
    return this.#running === 0 && this.#unsaid.length === 0 && this.#unanswered.length === 0;
  }

  /** Milliseconds until there is a lease to extend; undefined while nothing is in hand. */
  get dueMs(): number | undefined {
    return this.#leases.nextMs;
  }

  /** Handlers at work. */
  get running(): number {
    return this.#running;
  }

  /** Begin a new stream: what to send first. */
  restart(): ConsumeRequest {
    this.#granted = 0;
    this.#unsaid = [...this.#unanswered.flat(), ...this.#unsaid];
    this.#unanswered = [];
    return create(ConsumeRequestSchema, { message: { case: "open", value: this.#opening } });
  }

  /** Take in one message of the stream. */
  accept({ message }: ConsumeResponse): void {
    switch (message.case) {
      case "opened":
        this.terms = message.value.group;
        this.#leases.leaseMs = this.terms?.lease ? durationMs(this.terms.lease) : 0;
        break;
      case "events":
        this.#waiting.push(...message.value.deliveries);
        this.#granted = Math.max(0, this.#granted - message.value.deliveries.length);
        for (const { ackId } of message.value.deliveries) this.#leases.begin(ackId);
        break;
      case "settled":
        this.#noteOutcomes(this.#unanswered.shift() ?? [], message.value.outcomes);
        break;
      case "drain":
        this.leave();
        break;
      default: // a sign of life, or what a newer server says
    }
  }

  #noteOutcomes(said: Settlement[], outcomes: SettleOutcome[]): void {
    const named = said.flatMap(({ ackIds, action }) => ackIds.map((ackId) => ({ ackId, action })));
    for (const [n, { ackId, action }] of named.entries()) {
      if (outcomes[n] !== SettleOutcome.STALE) continue;
      if (action.case === "extend") this.#lose(ackId);
      else this.stale += 1;
    }
  }

  /** Note that another member has an event; a handler that has begun it will hear so when it is settled. */
  #lose(ackId: string): void {
    this.#leases.end(ackId);
    this.#waiting = this.#waiting.filter((delivery) => delivery.ackId !== ackId);
  }

  /** The next event to handle; the caller tells what became of it. */
  pop(): Delivery | undefined {
    const delivery = this.#waiting.shift();
    if (delivery !== undefined) this.#running += 1;
    return delivery;
  }

  /** Note that a handler is done. */
  succeeded(delivery: Delivery): void {
    this.#finish(delivery);
    const last = this.#unsaid.at(-1);
    if (last?.action.case === "ack" && last.ackIds.length < MAX_IDS) last.ackIds.push(delivery.ackId);
    else this.#unsaid.push(settlement(delivery, { case: "ack", value: {} }));
  }

  /** Note that a handler has thrown: the event comes again later and later, or is rejected. */
  failed(delivery: Delivery, error: unknown): void {
    this.#finish(delivery);
    const reason = reasonOf(error);
    if (error instanceof RejectEvent || delivery.attempt >= this.#rejectAfter) {
      this.#unsaid.push(settlement(delivery, { case: "reject", value: { reason } }));
    } else {
      const delay = durationFromMs(Math.round(this.#retry.pauseMs(delivery.attempt, this.#chance())));
      this.#unsaid.push(settlement(delivery, { case: "retryLater", value: { delay, reason } }));
    }
  }

  #finish(delivery: Delivery): void {
    this.#running -= 1;
    this.#leases.end(delivery.ackId);
  }

  /** Want no more; what was not begun is left to others. */
  leave(): void {
    this.isLeaving = true;
    for (const { ackId } of this.#waiting) this.#leases.end(ackId);
    this.#waiting = [];
  }

  /** Want events again, on a new stream. */
  comeBack(): void {
    this.isLeaving = false;
  }

  /** What there is to say: settlements, then credit, half a window or more at a time. */
  *outbox(): Generator<ConsumeRequest> {
    const due = this.#leases.due();
    for (let start = 0; start < due.length; start += MAX_IDS) {
      const ackIds = due.slice(start, start + MAX_IDS);
      this.#unsaid.push(create(SettlementSchema, { ackIds, action: { case: "extend", value: {} } }));
    }
    while (this.#unsaid.length > 0) {
      const settlements = this.#nextSettle();
      this.#unanswered.push(settlements);
      yield create(ConsumeRequestSchema, { message: { case: "settle", value: { settlements } } });
    }
    const events = this.#window - this.#granted - this.#running - this.#waiting.length;
    if (this.terms !== undefined && !this.isLeaving && 2 * events >= this.#window) {
      this.#granted += events;
      yield create(ConsumeRequestSchema, { message: { case: "credit", value: { events } } });
    }
  }

  /** Take from what is unsaid as much as one request may hold. */
  #nextSettle(): Settlement[] {
    let ids = 0;
    const over = this.#unsaid.findIndex((each) => (ids += each.ackIds.length) > MAX_IDS);
    return this.#unsaid.splice(0, over < 0 ? this.#unsaid.length : over);
  }
}

type Action = NonNullable<MessageInitShape<typeof SettlementSchema>["action"]>;

function settlement(delivery: Delivery, action: Action): Settlement {
  return create(SettlementSchema, { ackIds: [delivery.ackId], action });
}

function reasonOf(error: unknown): string {
  const name = error instanceof Error && !(error instanceof RejectEvent) ? `${error.name}: ` : "";
  const text = error instanceof Error ? error.message : String(error);
  return `${name}${text}`.replaceAll("\0", "").slice(0, MAX_REASON_CHARS);
}
