/** Requests of the contract from plain values. Pure: nothing here calls anything. */

import { clone, create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";

import type {
  EventFields,
  FilterFields,
  GroupFields,
  MemoryChanges,
  ReadFields,
  Said,
  SearchFields,
  Start,
  WriteFields,
} from "./fields.js";
import { OpenGroupSchema, type StartSchema, SubscribeRequestSchema } from "./gen/hbus/v1/bus_service_pb.js";
import type {
  EventFilterSchema,
  MeaningSchema,
  OpenGroup,
  SubscribeRequest,
} from "./gen/hbus/v1/bus_service_pb.js";
import type { ConsistencySchema } from "./gen/hbus/v1/common_pb.js";
import { EventKind } from "./gen/hbus/v1/event_pb.js";
import {
  Cardinality,
  Channel,
  type MemoryFilterSchema,
  MemorySchema,
  MemoryState,
  MemoryType,
} from "./gen/hbus/v1/memory_pb.js";
import {
  type BuildContextResponse,
  type ConversationTurnSchema,
  SearchMemoriesRequestSchema,
  TurnRole,
  UpdateMemoryRequestSchema,
  WriteMemoryRequestSchema,
} from "./gen/hbus/v1/memory_service_pb.js";
import type {
  SearchMemoriesRequest,
  SearchMemoriesResponse,
  UpdateMemoryRequest,
  WriteMemoryRequest,
} from "./gen/hbus/v1/memory_service_pb.js";
import { RankingProfile } from "./gen/hbus/v1/namespace_pb.js";
import { moment, nameOf, number, numbers, type Ref, several, tokens } from "./values.js";

export const MAX_BATCH = 500;

/** What a search or a context answered, or the memories that an agent was given. */
export type Retrieved = BuildContextResponse | SearchMemoriesResponse | readonly Ref[];

/** A fresh requestId: it makes a mutation safe to send again. */
export function newRequestId(): string {
  return crypto.randomUUID();
}

/** Build a write; the type is SEMANTIC and the requestId a fresh one unless given. */
export function write(namespace: string, text: string, fields: WriteFields = {}): WriteMemoryRequest {
  const { supersedes = [], channel, source = "", requestId = newRequestId(), ...memory } = fields;
  return create(WriteMemoryRequestSchema, {
    namespace,
    memory: {
      ...memoryValues({ type: MemoryType.SEMANTIC, ...memory }),
      text,
      supersedes: supersedes.map(nameOf),
    },
    requestId,
    channel: channelOf(channel),
    source,
  });
}

/** Return the write with a requestId. */
export function identified(request: WriteMemoryRequest): WriteMemoryRequest {
  if (request.requestId !== "") return request;
  return Object.assign(clone(WriteMemoryRequestSchema, request), { requestId: newRequestId() });
}

/** What may be said about an update beside the changes. */
export type UpdateFields = Pick<WriteFields, "channel" | "source" | "requestId"> & {
  /** Must match when given. */
  etag?: string;
};

/** Build an update of exactly the fields named in `changes`; throws a `TypeError` when there is none. */
export function update(
  memory: Ref,
  changes: MemoryChanges,
  { etag = "", channel, source = "", requestId = newRequestId() }: UpdateFields,
): UpdateMemoryRequest {
  const named = Object.keys(changes);
  if (named.length === 0) throw new TypeError("name at least one field to change");
  return create(UpdateMemoryRequestSchema, {
    memory: { name: nameOf(memory), etag, text: changes.text ?? "", ...memoryValues(changes) },
    updateMask: { paths: named.map(protoName) },
    requestId,
    channel: channelOf(channel),
    source,
  });
}

function protoName(property: string): string {
  const field = MemorySchema.fields.find((each) => each.localName === property);
  if (field === undefined) throw new TypeError(`a memory has no field '${property}'`);
  return field.name;
}

function channelOf(given: WriteFields["channel"]): Channel {
  return given === undefined ? Channel.UNSPECIFIED : number(Channel, given, "channel");
}

function memoryValues({ type, cardinality, eventTime, expireTime, ...plain }: MemoryChanges) {
  const given = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined));
  return {
    ...given,
    ...(type !== undefined && { type: number(MemoryType, type, "type") }),
    ...(cardinality !== undefined && { cardinality: number(Cardinality, cardinality, "cardinality") }),
    ...(eventTime && { eventTime: moment(eventTime, "eventTime") }),
    ...(expireTime && { expireTime: moment(expireTime, "expireTime") }),
  } satisfies MessageInitShape<typeof MemorySchema>;
}

/** Build a search. */
export function search(
  namespaces: string | readonly string[],
  query: string,
  fields: SearchFields & { maxTokens?: number },
): SearchMemoriesRequest {
  const { after, fullyConsistent, requireVectors, filter = {}, profile, queryTime, ...plain } = fields;
  return create(SearchMemoriesRequestSchema, {
    ...plain,
    namespaces: [...several(namespaces)],
    query,
    filter: memoryFilter(filter),
    profile: profile === undefined ? RankingProfile.UNSPECIFIED : number(RankingProfile, profile, "profile"),
    ...(queryTime && { queryTime: moment(queryTime, "queryTime") }),
    ...consistency({ after, fullyConsistent, requireVectors }),
  });
}

/** One turn of a conversation. */
export function turn({ role, text, time }: Said): MessageInitShape<typeof ConversationTurnSchema> {
  return { role: number(TurnRole, role, "role"), text, ...(time && { time: moment(time, "time") }) };
}

/** Names of the memories that an agent was given. */
export function retrieved(given: Retrieved): string[] {
  if (!("$typeName" in given)) return given.map(nameOf);
  if (given.$typeName === "hbus.v1.BuildContextResponse") return given.memories;
  return given.hits.map((hit) => hit.memory?.name ?? "");
}

/** Build conditions on memories. */
export function memoryFilter(fields: FilterFields): MessageInitShape<typeof MemoryFilterSchema> {
  const { types = [], states = [], eventAfter, eventBefore, createAfter, createBefore, ...plain } = fields;
  return {
    ...plain,
    types: numbers(MemoryType, types, "types"),
    states: numbers(MemoryState, states, "states"),
    ...(eventAfter && { eventAfter: moment(eventAfter, "eventAfter") }),
    ...(eventBefore && { eventBefore: moment(eventBefore, "eventBefore") }),
    ...(createAfter && { createAfter: moment(createAfter, "createAfter") }),
    ...(createBefore && { createBefore: moment(createBefore, "createBefore") }),
  };
}

/** The freshness asked for, to be spread into a request; nothing = whatever the server has now. */
export function consistency(read: { [key in keyof ReadFields]: ReadFields[key] | undefined }): {
  consistency?: MessageInitShape<typeof ConsistencySchema>;
} {
  const seen = tokens(read.after);
  const requireVectors = read.requireVectors ?? false;
  if (read.fullyConsistent) {
    return { consistency: { requirement: { case: "fullyConsistent", value: true }, requireVectors } };
  }
  if (seen.length > 0) {
    return { consistency: { requirement: { case: "atLeast", value: { tokens: seen } }, requireVectors } };
  }
  return requireVectors ? { consistency: { requireVectors } } : {};
}

/** Build a subscription. */
export function subscribe(
  namespaces: string | readonly string[],
  start: Start | "snapshot",
  filter: EventFields,
): SubscribeRequest {
  return create(SubscribeRequestSchema, {
    namespaces: [...several(namespaces)],
    filter: eventFilter(filter),
    start: startOf(start),
  });
}

/** Build the introduction of a member. */
export function openGroup(name: string, member: string, fields: GroupFields & EventFields): OpenGroup {
  const {
    namespaces = [],
    start = "now",
    ordered = false,
    leaseMs,
    maxAttempts = 0,
    lifetimeMs,
    ...filter
  } = fields;
  return create(OpenGroupSchema, {
    member,
    group: {
      name,
      namespaces: [...several(namespaces)],
      filter: eventFilter(filter),
      ordered,
      maxAttempts,
      start: startOf(start),
      ...(leaseMs !== undefined && { lease: durationFromMs(leaseMs) }),
      ...(lifetimeMs !== undefined && { lifetime: durationFromMs(lifetimeMs) }),
    },
  });
}

function eventFilter(fields: EventFields): MessageInitShape<typeof EventFilterSchema> {
  const { types = [], kinds = [], meaning, threshold, ...plain } = fields;
  return {
    ...plain,
    types: numbers(MemoryType, types, "types"),
    kinds: numbers(EventKind, kinds, "kinds"),
    ...meaningOf(meaning, threshold),
  };
}

function meaningOf(
  given: string | number[] | undefined,
  threshold: number | undefined,
): { meaning?: MessageInitShape<typeof MeaningSchema> } {
  if (given !== undefined) {
    const what = typeof given === "string" ? { text: given } : { vector: given };
    return { meaning: threshold === undefined ? what : { ...what, threshold } };
  }
  if (threshold !== undefined) throw new TypeError("threshold: give a meaning with it");
  return {};
}

function startOf(start: Start | "snapshot"): MessageInitShape<typeof StartSchema> {
  if (start === "now" || start === "beginning" || start === "snapshot") {
    return { from: { case: start, value: {} } };
  }
  const seen = tokens(start);
  if (seen.length === 0) {
    throw new TypeError("start: give now, beginning, snapshot or a token that is not empty");
  }
  return { from: { case: "tokens", value: { tokens: seen } } };
}
