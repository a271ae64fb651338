/** Steps of a task, as `recordSteps` takes them: one function a kind, each with the step's number from 1. */

import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";

import { Channel } from "./gen/hbus/v1/memory_pb.js";
import { Rating, type Step, StepSchema } from "./gen/hbus/v1/task_pb.js";
import { type ChannelName, moment, number, type RatingName } from "./values.js";

/** When a step happened, as the agent says. */
export interface At {
  time?: Date;
}

/** What the agent thought. */
export function thought(sequence: number, text: string, at: At = {}): Step {
  return step(sequence, { case: "thought", value: text }, at);
}

/** What the agent did without a tool. */
export function action(sequence: number, text: string, at: At = {}): Step {
  return step(sequence, { case: "action", value: text }, at);
}

/** What the agent saw. */
export function observation(sequence: number, text: string, at: At = {}): Step {
  return step(sequence, { case: "observation", value: text }, at);
}

/** A call of a tool, with what it returned or failed with; an object of arguments becomes JSON. */
export function toolCall(
  sequence: number,
  tool: string,
  given: string | JsonObject = "",
  { result = "", error = "", ms, ...at }: { result?: string; error?: string; ms?: number } & At = {},
): Step {
  const text = typeof given === "string" ? given : JSON.stringify(given);
  const took = ms === undefined ? {} : { duration: durationFromMs(ms) };
  return step(sequence, { case: "toolCall", value: { tool, arguments: text, result, error, ...took } }, at);
}

/** What somebody said of the work, the user unless told otherwise. */
export function feedback(
  sequence: number,
  text: string,
  {
    rating,
    channel = "user",
    ...at
  }: { rating?: RatingName | Rating; channel?: ChannelName | Channel } & At = {},
): Step {
  const value = {
    text,
    rating: rating === undefined ? Rating.UNSPECIFIED : number(Rating, rating, "rating"),
    channel: number(Channel, channel, "channel"),
  };
  return step(sequence, { case: "feedback", value }, at);
}

type Content = NonNullable<MessageInitShape<typeof StepSchema>["content"]>;

function step(sequence: number, content: Content, { time }: At): Step {
  return create(StepSchema, {
    sequence: BigInt(sequence),
    content,
    ...(time && { time: moment(time, "time") }),
  });
}
