/** The arguments that calls share, with the types that they take. */

import type { JsonObject } from "@bufbuild/protobuf";

import type { Backoff } from "./backoff.js";
import type { Attachment, Cardinality, Channel, MemoryState, MemoryType } from "./gen/hbus/v1/memory_pb.js";
import type { EventKind } from "./gen/hbus/v1/event_pb.js";
import type { TurnRole } from "./gen/hbus/v1/memory_service_pb.js";
import type { RankingProfile, RankingWeights } from "./gen/hbus/v1/namespace_pb.js";
import type {
  CardinalityName,
  ChannelName,
  KindName,
  ProfileName,
  Ref,
  StateName,
  Token,
  TurnRoleName,
  TypeName,
} from "./values.js";

/** How long a call may take, and what ends it early. */
export interface CallOptions {
  /** Deadline in milliseconds, retries included; default that of the client. */
  timeoutMs?: number | undefined;
  /** Aborting it ends the call, which then throws the signal's reason. A mutation may have happened all the same. */
  signal?: AbortSignal | undefined;
}

/** What makes a mutation safe to send again. */
export interface Repeatable {
  /** One effect for one id, at most 128 characters; a fresh one unless given. */
  requestId?: string;
}

/** What a writer may say about a memory beside its text; `memory.proto` gives limits and defaults. */
export interface MemoryFields {
  type?: TypeName | MemoryType;
  subject?: string;
  value?: string;
  cardinality?: CardinalityName | Cardinality;
  aliases?: string[];
  tags?: string[];
  attributes?: JsonObject | undefined;
  about?: string;
  language?: string;
  attachments?: (Pick<Attachment, "uri"> & Partial<Pick<Attachment, "mediaType" | "title">>)[];
  vector?: number[];
  confidence?: number | undefined;
  importance?: number | undefined;
  explicit?: boolean;
  pinned?: boolean;
  eventTime?: Date | undefined;
  expireTime?: Date | undefined;
  conversation?: string;
  task?: string;
}

/** What a writer may say about a write beside namespace and text. */
export interface WriteFields extends MemoryFields, Repeatable {
  supersedes?: Ref[];
  channel?: ChannelName | Channel;
  source?: string;
}

/** Fields of a memory to change; `undefined` or an empty value clears. */
export interface MemoryChanges extends MemoryFields {
  text?: string;
}

/** Conditions on memories; all given ones must hold. */
export interface FilterFields {
  types?: (TypeName | MemoryType)[];
  states?: (StateName | MemoryState)[];
  tags?: string[];
  anyTags?: string[];
  subject?: string;
  subjectPrefix?: string;
  about?: string;
  languages?: string[];
  agents?: string[];
  minConfidence?: number;
  minImportance?: number;
  eventAfter?: Date;
  eventBefore?: Date;
  createAfter?: Date;
  createBefore?: Date;
  pinned?: boolean;
}

/** How fresh a read must be; default: what the server has now. */
export interface ReadFields {
  /** See everything that these tokens have seen. */
  after?: Token | undefined | readonly (Token | undefined)[];
  /** See everything committed before this call. */
  fullyConsistent?: boolean;
  /** Wait until memories are found by meaning too. */
  requireVectors?: boolean;
}

/** What a search may be asked beside namespaces and query; `memory_service.proto` gives limits and defaults. */
export interface SearchFields extends ReadFields {
  /** Hits at most, 1 to 100; default 5. Fewer, or none, come back where fewer are relevant. */
  topK?: number;
  vector?: number[];
  asAgent?: string;
  forUser?: string;
  filter?: FilterFields;
  weights?: Pick<RankingWeights, "relevance" | "recency" | "importance">;
  profile?: ProfileName | RankingProfile;
  /** When the query is asked, for the dates that it names; default now. */
  queryTime?: Date;
}

/** Conditions on events; all given ones must hold. */
export interface EventFields {
  types?: (TypeName | MemoryType)[];
  tags?: string[];
  minConfidence?: number;
  kinds?: (KindName | EventKind)[];
  subjectPrefix?: string;
  notMyOwn?: boolean;
  /**
   * What the memory must be about, in any words, or a vector for it. The events are of kind INDEXED then: they come when
   * the memory's vector has arrived.
   */
  meaning?: string | number[];
  /** Cosine from which a memory is about it, above 0 to 1; default what fits the server's embedding profile. */
  threshold?: number;
}

/** One thing that was said: by whom, in which words, and when, if that is known. */
export interface Said {
  role: TurnRoleName | TurnRole;
  text: string;
  time?: Date;
}

/** Where to start: `now`, `beginning` (the oldest event retained), or right after what tokens have seen. */
export type Start = "now" | "beginning" | Token | readonly Token[];

/** How a cut of a stream is mended, and what ends the stream. */
export interface StreamOptions {
  /** Give up after so many milliseconds without a message; default never. */
  maxOutageMs?: number;
  /** Aborting it ends the stream. */
  signal?: AbortSignal | undefined;
}

/** Terms of a group; all its members give the same, `start` apart. */
export interface GroupFields {
  /** Namespaces or patterns; without them the group must exist. */
  namespaces?: string | readonly string[];
  /** Where a new group starts; default `now`. */
  start?: Start;
  /** One event of an owner at a time, in order. */
  ordered?: boolean;
  /** How long without a word from its member until an event goes to another one; 1 s to 1 h, default 30 s. */
  leaseMs?: number;
  /** Deliveries after which an event becomes a dead letter; 1 to 100, default 5. */
  maxAttempts?: number;
  /** How long a group lasts without a member; default 7 days. */
  lifetimeMs?: number;
}

/** How one member works. */
export interface MemberFields {
  /** Its name; one of this process's own unless given. Who comes back under it within the lease goes on where it was. */
  member?: string;
  /** Handlers that run at a time; default 8. */
  concurrency?: number;
  /** When a failed event comes again; default after 1 s, then later and later up to 60 s. */
  retry?: Backoff;
  /** Attempts after which this member makes a failed event a dead letter; default the group's `maxAttempts`. */
  rejectAfter?: number;
  /** How long the lease of an event is extended while it is in hand: a handler that hangs loses it; default an hour. */
  maxLeaseMs?: number;
}
