/**
 * Every error that a call can throw, grouped by what the caller can do about it.
 *
 *     HbusError
 *       InvalidRequest                 mend the request
 *         AgentRequired
 *         TooLarge
 *       Denied                         get other credentials
 *       NotFound                       it is not there
 *       Refused                        it does not fit the present state
 *         WrongState
 *         SupersedesIncomplete
 *         ProfileMismatch
 *         GroupMismatch
 *         RequestIdReused
 *         SchemaTooNew
 *       LimitReached                   use less, or later: see retryAfterMs
 *         QuotaExceeded
 *         SubjectFull
 *         TooManyStreams
 *       TryAgain                       the same call may succeed later
 *         Unavailable                  nothing was changed; the client has retried within the deadline
 *         OutcomeUnknown               retry with the same requestId
 *         Contended
 *         IndexBehind
 *         EmbedderUnavailable
 *         DeadlineExpired              a mutation may or may not have happened
 *       EtagMismatch                   read again, then decide again
 *       PositionLost                   subscribe anew from a place that exists
 *         RevisionCompacted
 *         LogDiverged
 *       ServerError                    a defect of the server, or a call that it does not know
 *
 * Reasons are the names of `hbus.v1.ErrorReason` without their prefix.
 */

import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";

import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import type { ItemError } from "./gen/hbus/v1/common_pb.js";

/** What an error carries beside its message. */
export interface ErrorDetails {
  code?: Code;
  reason?: string;
  fields?: Record<string, string>;
  metadata?: Record<string, string>;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** Base of every error that a call throws. */
export class HbusError extends Error {
  /** Canonical status of the call. */
  readonly code: Code;
  /** Why, for machines; empty when the failure came from the network or from a proxy. */
  readonly reason: string;
  /** Request fields at fault, for example `memory.confidence`, and what is wrong with each. */
  readonly fields: Readonly<Record<string, string>>;
  /** Typed fields of the reason, as text; `error_reason.proto` lists them. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Milliseconds after which the server expects a retry to succeed, where it says so. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.name = new.target.name;
    this.code = details.code ?? Code.Unknown;
    this.reason = details.reason ?? "";
    this.fields = details.fields ?? {};
    this.metadata = details.metadata ?? {};
    this.retryAfterMs = details.retryAfterMs;
  }

  /** The first request field at fault; empty where none is. */
  get field(): string {
    return Object.keys(this.fields)[0] ?? "";
  }
}

/** The request itself is at fault: `fields` says where. Sending it again changes nothing. */
export class InvalidRequest extends HbusError {}
/** A mutation needs the agent's name: `connect(target, { agent: "support" })`. */
export class AgentRequired extends InvalidRequest {}
/** A text or request is over its size limit. */
export class TooLarge extends InvalidRequest {}

/** The credential is missing or wrong, or does not allow this. */
export class Denied extends HbusError {}

/** Nothing of that name, or nothing that this caller may see. */
export class NotFound extends HbusError {}

/** The request is well formed but does not fit the present state. */
export class Refused extends HbusError {}
/** The memory or conflict is not in a state that allows this. */
export class WrongState extends Refused {}
/** `supersedes` leaves out live memories of the subject. */
export class SupersedesIncomplete extends Refused {
  /** Names of the memories left out. */
  get missing(): string[] {
    return (this.metadata["missing"] ?? "").split(",").filter((name) => name !== "");
  }
}
/** The namespace keeps its vectors in another embedding profile. */
export class ProfileMismatch extends Refused {}
/** The consumer group was created by other terms; `metadata.terms` names them. */
export class GroupMismatch extends Refused {}
/** The requestId was used before with another payload. */
export class RequestIdReused extends Refused {}
/** A record was written by a newer server. */
export class SchemaTooNew extends Refused {}

/** A limit on use was reached. */
export class LimitReached extends HbusError {}
/** The day's quota is used up; `retryAfterMs` says when it is renewed. */
export class QuotaExceeded extends LimitReached {}
/** The subject holds as many claims as it can. */
export class SubjectFull extends LimitReached {}
/** The agent has as many open streams as it may have. */
export class TooManyStreams extends LimitReached {}

/** Not now; the same call may succeed later. */
export class TryAgain extends HbusError {}
/** The server or its store cannot be reached, or the server is stopping. */
export class Unavailable extends TryAgain {}
/** The connection was lost mid-call. A retry with the same requestId is safe. */
export class OutcomeUnknown extends TryAgain {}
/** Too many writers at once on one subject; nothing was changed. */
export class Contended extends TryAgain {}
/** The view did not catch up with the tokens asked for within the deadline. */
export class IndexBehind extends TryAgain {}
/** The query needs a vector and the embedder cannot answer. */
export class EmbedderUnavailable extends TryAgain {}
/** The deadline came first. A mutation may or may not have happened: retry it with the same requestId. */
export class DeadlineExpired extends TryAgain {}

/** Somebody changed it since it was read: read again, then decide again. */
export class EtagMismatch extends HbusError {}

/** The place to resume from does not exist any more. Nothing was skipped in silence: subscribe anew. */
export class PositionLost extends HbusError {
  /** Partition of the change log. */
  get partition(): number {
    return Number(this.metadata["partition"] ?? 0);
  }

  /** Newest revision of the partition. */
  get current(): bigint {
    return BigInt(this.metadata["current"] ?? 0);
  }
}
/** The position is older than what the log retains. */
export class RevisionCompacted extends PositionLost {
  /** Oldest revision that is retained. */
  get oldest(): bigint {
    return BigInt(this.metadata["oldest"] ?? 0);
  }
}
/** The position is not of this log: the log was lost or restored since. */
export class LogDiverged extends PositionLost {}

/** A defect of the server (`metadata.incident` is in its log), or a call that it does not know. */
export class ServerError extends HbusError {}

type ErrorClass = new (message: string, details?: ErrorDetails) => HbusError;

const BY_REASON: ReadonlyMap<string, ErrorClass> = new Map<string, ErrorClass>([
  ["INVALID_FIELD", InvalidRequest],
  ["AGENT_REQUIRED", AgentRequired],
  ["TOO_LARGE", TooLarge],
  ["NOT_FOUND", NotFound],
  ["ETAG_MISMATCH", EtagMismatch],
  ["CONTENDED", Contended],
  ["REQUEST_ID_REUSED", RequestIdReused],
  ["WRONG_STATE", WrongState],
  ["SUPERSEDES_INCOMPLETE", SupersedesIncomplete],
  ["PROFILE_MISMATCH", ProfileMismatch],
  ["QUOTA_EXCEEDED", QuotaExceeded],
  ["SUBJECT_FULL", SubjectFull],
  ["TOO_MANY_STREAMS", TooManyStreams],
  ["REVISION_COMPACTED", RevisionCompacted],
  ["LOG_DIVERGED", LogDiverged],
  ["INDEX_BEHIND", IndexBehind],
  ["STORE_UNAVAILABLE", Unavailable],
  ["OUTCOME_UNKNOWN", OutcomeUnknown],
  ["DRAINING", Unavailable],
  ["DEADLINE", DeadlineExpired],
  ["SCHEMA_TOO_NEW", SchemaTooNew],
  ["INTERNAL", ServerError],
  ["EMBEDDER_UNAVAILABLE", EmbedderUnavailable],
  ["GROUP_MISMATCH", GroupMismatch],
]);

const BY_CODE: ReadonlyMap<Code, ErrorClass> = new Map<Code, ErrorClass>([
  [Code.InvalidArgument, InvalidRequest],
  [Code.Unauthenticated, Denied],
  [Code.PermissionDenied, Denied],
  [Code.NotFound, NotFound],
  [Code.FailedPrecondition, Refused],
  [Code.AlreadyExists, Refused],
  [Code.ResourceExhausted, LimitReached],
  [Code.Unavailable, Unavailable],
  [Code.DeadlineExceeded, DeadlineExpired],
  [Code.OutOfRange, PositionLost],
  // What the network, a proxy or the HTTP/2 stack says when a connection breaks; the server gives a reason with these.
  [Code.Aborted, OutcomeUnknown],
  [Code.Unknown, OutcomeUnknown],
  [Code.Internal, OutcomeUnknown],
  [Code.Canceled, OutcomeUnknown],
]);

/** The class for a reason; for none or an unknown one, the class for the status code. */
export function errorClass(code: Code, reason: string): ErrorClass {
  return BY_REASON.get(reason) ?? BY_CODE.get(code) ?? ServerError;
}

/** Decode what a call threw, with its rich error details. */
export function decode(thrown: unknown): HbusError {
  if (thrown instanceof HbusError) return thrown;
  const error = ConnectError.from(thrown);
  const info = error.findDetails(ErrorInfoSchema)[0];
  const violations = error.findDetails(BadRequestSchema).flatMap((each) => each.fieldViolations);
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return new (errorClass(error.code, info?.reason ?? ""))(error.rawMessage, {
    code: error.code,
    reason: info?.reason ?? "",
    fields: Object.fromEntries(violations.map(({ field, description }) => [field, description])),
    metadata: info?.metadata ?? {},
    retryAfterMs: delay && durationMs(delay),
    cause: thrown,
  });
}

/** Decode the refusal of one item of a batch. */
export function fromItem(item: ItemError): HbusError {
  const code = item.code in Code ? (item.code as Code) : Code.Unknown;
  const fields = item.field === "" ? {} : { [item.field]: item.message };
  return new (errorClass(code, item.reason))(item.message, { code, reason: item.reason, fields });
}
