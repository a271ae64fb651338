/** The client. */

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";

import { create } from "@bufbuild/protobuf";

import { Backoff, Outage, STREAM_BACKOFF } from "./backoff.js";
import { Consumption, type Handler } from "./consumption.js";
import { Cursor } from "./cursor.js";
import { DEFAULT_TARGET, Endpoint, type EndpointOptions } from "./endpoint.js";
import { fromItem, type HbusError } from "./errors.js";
import type {
  CallOptions,
  EventFields,
  FilterFields,
  GroupFields,
  MemberFields,
  MemoryChanges,
  ReadFields,
  Repeatable,
  Said,
  SearchFields,
  Start,
  StreamOptions,
  WriteFields,
} from "./fields.js";
import {
  BusService,
  type ConsumeRequest,
  GetConflictRequestSchema,
  ListConflictsRequestSchema,
  ResolveConflictRequestSchema,
  type ResolveConflictResponse,
} from "./gen/hbus/v1/bus_service_pb.js";
import { type Conflict, ConflictState, ResolutionAction } from "./gen/hbus/v1/conflict_pb.js";
import type { Memory, MemoryVersion } from "./gen/hbus/v1/memory_pb.js";
import { Leases } from "./leases.js";
import {
  BatchWriteMemoriesRequestSchema,
  BuildContextRequestSchema,
  type BuildContextResponse,
  ExtractMemoriesRequestSchema,
  type ExtractMemoriesResponse,
  ForgetMemoryRequestSchema,
  type ForgetMemoryResponse,
  GetMemoryRequestSchema,
  ListMemoriesRequestSchema,
  ListMemoryVersionsRequestSchema,
  MemoryService,
  RecordUsageRequestSchema,
  type RecordUsageResponse,
  RestoreMemoryRequestSchema,
  type RestoreMemoryResponse,
  type SearchMemoriesResponse,
  type UpdateMemoryResponse,
  type WriteMemoryRequest,
  type WriteMemoryResponse,
} from "./gen/hbus/v1/memory_service_pb.js";
import { Membership } from "./membership.js";
import * as requests from "./requests.js";
import { ownerHeaders } from "./routing.js";
import { Subscription } from "./subscription.js";
import { TaskCalls } from "./tasks.js";
import { type ActionName, type ConflictStateName, nameOf, number, numbers, type Ref } from "./values.js";

const DEFAULT_TIMEOUT_MS = 5_000;
const WINDOW_PER_HANDLER = 2;
const { method: memories } = MemoryService;
const { method: bus } = BusService;

/** Who calls, and how patiently. */
export interface ConnectOptions extends EndpointOptions {
  /** Deadline of each unary call in milliseconds, retries included; default 5,000. */
  timeoutMs?: number;
  /** When a call is sent again. */
  backoff?: Backoff;
}

/** What became of one write of many: the answer, or why it was refused. */
export type Outcome = WriteMemoryResponse | HbusError;

/**
 * Return a client of the server at `target` (`host:port`, or `https://host:port` for TLS). It dials at the first call.
 *
 * Throws a `TypeError` for a malformed target.
 */
export function connect(target: string = DEFAULT_TARGET, options: ConnectOptions = {}): Client {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, backoff = new Backoff(), ...identity } = options;
  return new Client(new Endpoint(target, identity), timeoutMs, backoff);
}

/**
 * The memory of agents. Close it when done; a `using` declaration does.
 *
 * Calls return the messages of `hbus.v1` and throw an `HbusError`. Every mutation carries a `requestId`, a fresh one
 * unless given, so it is sent again within the deadline when the server was out of reach or its answer was lost, and
 * has one effect all the same.
 */
export class Client extends TaskCalls {
  // --- memories ---

  /**
   * Write what the agent learnt; the answer says what became of it, and comes when it is durable.
   *
   * `namespace` is `scope:owner:kind`. The type is `semantic` unless given.
   */
  write(
    namespace: string,
    text: string,
    options: WriteFields & CallOptions = {},
  ): Promise<WriteMemoryResponse> {
    const { timeoutMs, signal, ...fields } = options;
    return this.call(memories.writeMemory, requests.write(namespace, text, fields), { timeoutMs, signal });
  }

  /**
   * Write many (see `writeRequest`), 500 a call; return an answer or an error for each, in order.
   *
   * Never atomic: each succeeds or fails on its own. The deadline holds for each call.
   */
  async writeMany(writes: readonly WriteMemoryRequest[], options: CallOptions = {}): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (let from = 0; from < writes.length; from += requests.MAX_BATCH) {
      const batch = { writes: writes.slice(from, from + requests.MAX_BATCH).map(requests.identified) };
      const request = create(BatchWriteMemoriesRequestSchema, batch);
      const { results } = await this.call(memories.batchWriteMemories, request, options);
      outcomes.push(
        ...results.map(({ result }) => (result.case === "error" ? fromItem(result.value) : result.value!)),
      );
    }
    return outcomes;
  }

  /**
   * Find memories by meaning, words, subject and conditions; best first.
   *
   * Texts of all that comes back take at most `maxTokens` together; default no limit.
   */
  search(
    namespaces: string | readonly string[],
    query: string,
    options: SearchFields & { maxTokens?: number } & CallOptions = {},
  ): Promise<SearchMemoriesResponse> {
    const { timeoutMs, signal, ...fields } = options;
    return this.call(memories.searchMemories, requests.search(namespaces, query, fields), {
      timeoutMs,
      signal,
    });
  }

  /**
   * Find memories as `search` does, rendered as a block for a prompt of at most `maxTokens` (default 1,000).
   *
   * Nothing in the block can close it; it is empty where nothing relevant is found. `advice` of the answer says where in
   * a prompt it belongs. Tell `recordUsage` afterwards what the answer used.
   */
  context(
    namespaces: string | readonly string[],
    query: string,
    options: SearchFields & { maxTokens?: number; language?: "zh" | "en" } & CallOptions = {},
  ): Promise<BuildContextResponse> {
    const { maxTokens = 0, language = "", timeoutMs, signal, ...fields } = options;
    const search = requests.search(namespaces, query, fields);
    const request = create(BuildContextRequestSchema, { search, maxTokens, language });
    return this.call(memories.buildContext, request, { timeoutMs, signal });
  }

  /**
   * Tell which memories that the agent was given its answer used; use lifts their importance.
   *
   * `retrieved` is what `search` or `context` answered, or memories. Name those that were `used`, or give the `answer`
   * (and the `query`, whose words do not count) to have it estimated.
   */
  recordUsage(
    retrieved: requests.Retrieved,
    options: { used?: Ref[]; answer?: string; query?: string } & Repeatable & CallOptions,
  ): Promise<RecordUsageResponse> {
    const { used = [], answer = "", query = "", requestId = requests.newRequestId(), ...call } = options;
    const names = { retrieved: requests.retrieved(retrieved), used: used.map(nameOf) };
    const request = create(RecordUsageRequestSchema, { ...names, answer, query, requestId });
    return this.call(memories.recordUsage, request, call);
  }

  /**
   * Find in a conversation what is worth remembering, and write it; with `dryRun` only tell what would be written.
   *
   * By the server's model where it has one, unless `rulesOnly`.
   */
  extract(
    namespace: string,
    turns: readonly Said[],
    options: { conversation?: string; source?: string; dryRun?: boolean; rulesOnly?: boolean } & Repeatable &
      CallOptions = {},
  ): Promise<ExtractMemoriesResponse> {
    const { requestId = requests.newRequestId(), timeoutMs, signal, ...fields } = options;
    const said = turns.map(requests.turn);
    const request = create(ExtractMemoriesRequestSchema, { namespace, turns: said, requestId, ...fields });
    return this.call(memories.extractMemories, request, { timeoutMs, signal });
  }

  /** Read one memory, at its current version or an earlier one. */
  async get(
    memory: Ref,
    options: { version?: number | bigint } & ReadFields & CallOptions = {},
  ): Promise<Memory> {
    const { version = 0, timeoutMs, signal, ...read } = options;
    const request = create(GetMemoryRequestSchema, {
      name: nameOf(memory),
      version: BigInt(version),
      ...requests.consistency(read),
    });
    return (await this.call(memories.getMemory, request, { timeoutMs, signal })).memory!;
  }

  /** The memories of a namespace in order of creation, fetched page by page as needed. */
  async *list(
    namespace: string,
    options: { filter?: FilterFields; pageSize?: number } & ReadFields & CallOptions = {},
  ): AsyncGenerator<Memory, void> {
    const { filter = {}, pageSize = 0, timeoutMs, signal, ...read } = options;
    const conditions = { filter: requests.memoryFilter(filter), ...requests.consistency(read) };
    const request = create(ListMemoriesRequestSchema, { namespace, pageSize, ...conditions });
    for await (const page of this.pages(memories.listMemories, request, { timeoutMs, signal }))
      yield* page.memories;
  }

  /**
   * Change exactly the fields named; `undefined` or an empty value clears one.
   *
   * Where others claim the memory too it is treated, and answered, as a write by this agent.
   */
  update(
    memory: Ref,
    changes: MemoryChanges,
    options: requests.UpdateFields & CallOptions = {},
  ): Promise<UpdateMemoryResponse> {
    const { timeoutMs, signal, ...fields } = options;
    return this.call(memories.updateMemory, requests.update(memory, changes, fields), { timeoutMs, signal });
  }

  /** Forget a memory; what it had overridden returns. `restore` brings it back until it is purged. */
  forget(
    memory: Ref,
    options: { etag?: string } & Repeatable & CallOptions = {},
  ): Promise<ForgetMemoryResponse> {
    const { etag = "", requestId = requests.newRequestId(), ...call } = options;
    const request = create(ForgetMemoryRequestSchema, { name: nameOf(memory), etag, requestId });
    return this.call(memories.forgetMemory, request, call);
  }

  /** Bring back a forgotten, superseded or expired memory, or an earlier version of a live one. */
  restore(
    memory: Ref,
    options: { version?: number | bigint; etag?: string } & Repeatable & CallOptions = {},
  ): Promise<RestoreMemoryResponse> {
    const { version = 0, etag = "", requestId = requests.newRequestId(), ...call } = options;
    const request = create(RestoreMemoryRequestSchema, {
      name: nameOf(memory),
      version: BigInt(version),
      etag,
      requestId,
    });
    return this.call(memories.restoreMemory, request, call);
  }

  /** The versions of a memory, newest first, each with what happened to the memory under it. */
  async *versions(
    memory: Ref,
    options: { pageSize?: number } & CallOptions = {},
  ): AsyncGenerator<MemoryVersion, void> {
    const { pageSize = 0, ...call } = options;
    const request = create(ListMemoryVersionsRequestSchema, { name: nameOf(memory), pageSize });
    for await (const page of this.pages(memories.listMemoryVersions, request, call)) yield* page.versions;
  }

  // --- the bus ---

  /**
   * Hear of what happens in namespaces or patterns (`user:*:facts`), from where `start` says; `snapshot` means first
   * all that is known, see `Subscription.snapshot`.
   *
   * It resolves once the server has confirmed, and is waited for as long as a call may take; after it a cut is mended.
   */
  subscribe(
    namespaces: string | readonly string[],
    options: { start?: Start | "snapshot" } & EventFields & StreamOptions = {},
  ): Promise<Subscription> {
    const { start = "now", maxOutageMs, signal, ...filter } = options;
    const request = requests.subscribe(namespaces, start, filter);
    const cursor = new Cursor(request, STREAM_BACKOFF, { openingMs: this.timeoutMs, maxOutageMs });
    const stub = this.streaming(BusService);
    const headers = ownerHeaders(request);
    return Subscription.open(
      (each, ended) => stub.subscribe(each, { signal: ended, headers }),
      cursor,
      signal,
    );
  }

  /**
   * Work off the events of a group, shared with its other members; each comes at least once. It resolves once the group
   * stands.
   *
   * Failed events come again after `retry`, and are dead letters after the group's `maxAttempts`, or after
   * `rejectAfter` where that is less; a handler that throws a `RejectEvent` makes one of its event at once. Aborting the
   * signal stops it gracefully.
   */
  consume(
    handler: Handler,
    options: { group: string } & GroupFields & MemberFields & EventFields & StreamOptions,
  ): Promise<Consumption> {
    const {
      group,
      member = newMember(),
      concurrency = 8,
      retry,
      rejectAfter,
      maxLeaseMs,
      maxOutageMs,
      signal,
      ...terms
    } = options;
    const opening = requests.openGroup(group, member, terms);
    const membership = new Membership(opening, {
      window: WINDOW_PER_HANDLER * concurrency,
      retry,
      rejectAfter,
      leases: new Leases(maxLeaseMs),
    });
    const stub = this.streaming(BusService);
    const open = (requests: AsyncIterable<ConsumeRequest>, left: AbortSignal) =>
      stub.consume(requests, { signal: left });
    const outage = new Outage(STREAM_BACKOFF, maxOutageMs);
    return Consumption.open(open, membership, handler, { concurrency, outage, signal });
  }

  /** The conflicts of a namespace, newest first; open and suspected ones unless asked for others. */
  async *conflicts(
    namespace: string,
    options: { states?: (ConflictStateName | ConflictState)[]; pageSize?: number } & CallOptions = {},
  ): AsyncGenerator<Conflict, void> {
    const { states = [], pageSize = 0, ...call } = options;
    const wanted = numbers(ConflictState, states, "states");
    const request = create(ListConflictsRequestSchema, { namespace, states: wanted, pageSize });
    for await (const page of this.pages(bus.listConflicts, request, call)) yield* page.conflicts;
  }

  /** Read one conflict. */
  async conflict(conflict: Ref, options: CallOptions = {}): Promise<Conflict> {
    const request = create(GetConflictRequestSchema, { name: nameOf(conflict) });
    return (await this.call(bus.getConflict, request, options)).conflict!;
  }

  /** Decide a conflict: `choose` the memory that holds, `merge` the sides, or `keep_all`. */
  resolve(
    conflict: Ref,
    action: ActionName | ResolutionAction,
    options: { memory?: Ref; rationale?: string; etag?: string } & Repeatable & CallOptions = {},
  ): Promise<ResolveConflictResponse> {
    const { memory = "", rationale = "", etag = "", requestId = requests.newRequestId(), ...call } = options;
    const request = create(ResolveConflictRequestSchema, {
      name: nameOf(conflict),
      action: number(ResolutionAction, action, "action"),
      memory: nameOf(memory),
      rationale,
      etag,
      requestId,
    });
    return this.call(bus.resolveConflict, request, call);
  }
}

/** A name for this process: machine, process id and a random part. */
function newMember(): string {
  const machine = hostname()
    .replaceAll(/[^0-9A-Za-z._-]/g, "-")
    .slice(0, 32);
  return `${machine}-${process.pid}-${randomUUID().slice(0, 8)}`;
}
