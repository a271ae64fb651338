/** Plain values for the contract's enums, tokens, names and times. */

import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";

import { type ConsistencyToken, ConsistencyTokenSchema } from "./gen/hbus/v1/common_pb.js";
import type { ConflictState, ResolutionAction } from "./gen/hbus/v1/conflict_pb.js";
import type { EventKind } from "./gen/hbus/v1/event_pb.js";
import type { Cardinality, Channel, MemoryState, MemoryType } from "./gen/hbus/v1/memory_pb.js";
import type { TurnRole } from "./gen/hbus/v1/memory_service_pb.js";
import type { RankingProfile } from "./gen/hbus/v1/namespace_pb.js";
import type { Rating, TaskOutcome } from "./gen/hbus/v1/task_pb.js";

/** A generated enum: names to numbers and back. */
type Enum = Record<string, number | string>;
/** The short names of an enum: those of the contract in lower case, without their prefix. */
type ShortName<E> = Lowercase<Exclude<keyof E & string, "UNSPECIFIED">>;

export type TypeName = ShortName<typeof MemoryType>;
export type StateName = ShortName<typeof MemoryState>;
export type CardinalityName = ShortName<typeof Cardinality>;
export type ChannelName = ShortName<typeof Channel>;
export type ConflictStateName = ShortName<typeof ConflictState>;
export type ActionName = ShortName<typeof ResolutionAction>;
export type KindName = ShortName<typeof EventKind>;
export type OutcomeName = ShortName<typeof TaskOutcome>;
export type TurnRoleName = ShortName<typeof TurnRole>;
export type RatingName = ShortName<typeof Rating>;
export type ProfileName = ShortName<typeof RankingProfile>;

/** Any token that a call returned, or its text. */
export type Token = ConsistencyToken | string;
/** A memory, conflict, task or skill as a call returned it, or its resource name. */
export type Ref = { readonly name: string } | string;

/**
 * The short name of an enum value: `label(MemoryState, memory.state) === "active"`.
 *
 * A number that this client does not know comes back as its digits.
 */
export function label(names: Enum, number: number): string {
  const name = names[number];
  return typeof name === "string" ? name.toLowerCase() : String(number);
}

/** The number of a short name; numbers pass. Throws a `TypeError` that names `field` and the choices. */
export function number<E extends Enum>(names: E, given: string | number, field: string): E[keyof E] & number {
  const found = typeof given === "number" ? given : names[given.toUpperCase()];
  if (typeof found === "number") return found as E[keyof E] & number;
  const choices = Object.keys(names).filter((key) => typeof names[key] === "number" && names[key] !== 0);
  throw new TypeError(`${field}: '${given}' is none of ${choices.join(", ").toLowerCase()}`);
}

/** The numbers of short names; a single one instead of several is taken as one. */
export function numbers<E extends Enum>(
  names: E,
  given: string | number | readonly (string | number)[],
  field: string,
): (E[keyof E] & number)[] {
  return several(given).map((each) => number(names, each, field));
}

/** One or several, as several. */
export function several<T extends string | number | object>(given: T | readonly T[]): readonly T[] {
  return Array.isArray(given) ? (given as readonly T[]) : [given as T];
}

/** One token or several as messages; empty and missing ones are left out. */
export function tokens(given: Token | undefined | readonly (Token | undefined)[]): ConsistencyToken[] {
  const all: readonly (Token | undefined)[] = Array.isArray(given) ? given : [given];
  return all
    .map((each) => (typeof each === "string" ? create(ConsistencyTokenSchema, { token: each }) : each))
    .filter((each): each is ConsistencyToken => each !== undefined && each.token !== "");
}

/** The resource name of a memory, conflict, task or skill. */
export function nameOf(resource: Ref): string {
  return typeof resource === "string" ? resource : resource.name;
}

/** A time as a message; throws a `TypeError` that names `field` for an invalid date. */
export function moment(time: Date, field: string): Timestamp {
  if (Number.isNaN(time.getTime())) throw new TypeError(`${field}: the date is invalid`);
  return timestampFromDate(time);
}
