/** What the client does with tasks. */

import { create } from "@bufbuild/protobuf";

import { Calls } from "./calls.js";
import type { CallOptions, ReadFields, Repeatable } from "./fields.js";
import {
  type FinishTaskResponse,
  FinishTaskRequestSchema,
  GetReflectionRequestSchema,
  type GetReflectionResponse,
  GetSkillRequestSchema,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  PromoteLessonRequestSchema,
  type PromoteLessonResponse,
  RecordSkillOutcomeRequestSchema,
  type RecordSkillOutcomeResponse,
  RecordStepsRequestSchema,
  type RecordStepsResponse,
  ReflectionService,
  ReflectOnTaskRequestSchema,
  type ReflectOnTaskResponse,
  SearchSkillsRequestSchema,
  type SearchSkillsResponse,
  StartTaskRequestSchema,
  type StartTaskResponse,
} from "./gen/hbus/v1/reflection_service_pb.js";
import type { Skill } from "./gen/hbus/v1/skill_pb.js";
import { ReflectionState, type Step, type Task, TaskOutcome } from "./gen/hbus/v1/task_pb.js";
import { pause } from "./pause.js";
import { consistency, newRequestId } from "./requests.js";
import { nameOf, number, type OutcomeName, type Ref } from "./values.js";

const MAX_STEPS = 500;
const FIRST_LOOK_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
const { method } = ReflectionService;

/** Which skills are wanted. */
export interface SkillFields {
  kind?: string;
  user?: string;
  agent?: string;
  topK?: number;
  minConfidence?: number;
  includeInReview?: boolean;
}

/** Calls of `hbus.v1.ReflectionService`, as a part of `Client`. */
export abstract class TaskCalls extends Calls {
  /** Start a task; the answer brings lessons of tasks like it, failures first, and skills that worked. */
  startTask(
    goal: string,
    options: { kind?: string; user?: string } & Repeatable & ReadFields & CallOptions = {},
  ): Promise<StartTaskResponse> {
    const { kind = "", user = "", requestId = newRequestId(), timeoutMs, signal, ...read } = options;
    const request = create(StartTaskRequestSchema, { goal, kind, user, requestId, ...consistency(read) });
    return this.call(method.startTask, request, { timeoutMs, signal });
  }

  /**
   * Record steps (see `steps`), 500 a call; a number that is recorded already is ignored.
   *
   * The last answer tells which numbers are missing so far. The deadline holds for each call.
   */
  async recordSteps(
    task: Ref,
    steps: readonly Step[],
    options: CallOptions = {},
  ): Promise<RecordStepsResponse[]> {
    const answers = [];
    for (let from = 0; from < steps.length; from += MAX_STEPS) {
      const batch = { task: nameOf(task), steps: steps.slice(from, from + MAX_STEPS) };
      answers.push(await this.call(method.recordSteps, create(RecordStepsRequestSchema, batch), options));
    }
    return answers;
  }

  /** End a task, and have the server reflect on it unless told otherwise. */
  finishTask(
    task: Ref,
    outcome: OutcomeName | TaskOutcome,
    options: { score?: number; judge?: string; reflect?: boolean } & CallOptions = {},
  ): Promise<FinishTaskResponse> {
    const { score, judge = "", reflect = true, ...call } = options;
    const request = create(FinishTaskRequestSchema, {
      task: nameOf(task),
      outcome: number(TaskOutcome, outcome, "outcome"),
      ...(score !== undefined && { score }),
      judge,
      skipReflection: !reflect,
    });
    return this.call(method.finishTask, request, call);
  }

  /** Read one task. */
  async task(task: Ref, options: CallOptions = {}): Promise<Task> {
    const answer = await this.call(
      method.getTask,
      create(GetTaskRequestSchema, { name: nameOf(task) }),
      options,
    );
    return answer.task!;
  }

  /** The steps of a task by number, fetched in parts as needed. */
  async *steps(task: Ref, options: CallOptions = {}): AsyncGenerator<Step, void> {
    const request = create(GetTaskRequestSchema, { name: nameOf(task), withSteps: true });
    for (;;) {
      const part = await this.call(method.getTask, request, options);
      yield* part.steps;
      if (part.nextAfterSequence === 0n) return;
      request.afterSequence = part.nextAfterSequence;
    }
  }

  /** The tasks done for one user, or by one agent for nobody else, newest first. */
  async *tasks(
    options: { user?: string; agent?: string; pageSize?: number } & CallOptions,
  ): AsyncGenerator<Task, void> {
    const { user = "", agent = "", pageSize = 0, ...call } = options;
    const request = create(ListTasksRequestSchema, { user, agent, pageSize });
    for await (const page of this.pages(method.listTasks, request, call)) yield* page.tasks;
  }

  /** Ask for the reflection on a task that has ended; it is done in the background, once. */
  reflect(task: Ref, options: CallOptions = {}): Promise<ReflectOnTaskResponse> {
    return this.call(
      method.reflectOnTask,
      create(ReflectOnTaskRequestSchema, { task: nameOf(task) }),
      options,
    );
  }

  /** How far the reflection on a task is; its end is waited for, but no longer than `waitMs`. */
  async reflection(
    task: Ref,
    { waitMs = 0, ...call }: { waitMs?: number } & CallOptions = {},
  ): Promise<GetReflectionResponse> {
    const request = create(GetReflectionRequestSchema, { task: nameOf(task) });
    const patience = performance.now() + waitMs;
    for (let ms = FIRST_LOOK_MS; ; ms = Math.min(1.5 * ms, LONGEST_PAUSE_MS)) {
      const answer = await this.call(method.getReflection, request, call);
      if (hasEnded(answer) || performance.now() + ms > patience) return answer;
      await pause(ms, call.signal);
    }
  }

  /** Find skills: the own ones of the caller (or of `agent`), and those that the agents of `user` share. */
  searchSkills(
    query: string,
    options: SkillFields & ReadFields & CallOptions = {},
  ): Promise<SearchSkillsResponse> {
    const { after, fullyConsistent, requireVectors, timeoutMs, signal, ...fields } = options;
    const fresh = consistency({ after, fullyConsistent, requireVectors });
    const request = create(SearchSkillsRequestSchema, { query, ...fields, ...fresh });
    return this.call(method.searchSkills, request, { timeoutMs, signal });
  }

  /** Read one skill, at its current version or an earlier one. */
  async skill(skill: Ref, options: { version?: number } & CallOptions = {}): Promise<Skill> {
    const { version = 0, ...call } = options;
    const request = create(GetSkillRequestSchema, { name: nameOf(skill), version });
    return (await this.call(method.getSkill, request, call)).skill!;
  }

  /** Count how a use of a skill went: success or failure. A task counts once, by reflection or by this call. */
  recordSkillOutcome(
    skill: Ref,
    outcome: OutcomeName | TaskOutcome,
    options: { task?: Ref; tool?: string; error?: string } & Repeatable & CallOptions = {},
  ): Promise<RecordSkillOutcomeResponse> {
    const { task = "", tool = "", error = "", requestId = newRequestId(), ...call } = options;
    const request = create(RecordSkillOutcomeRequestSchema, {
      skill: nameOf(skill),
      outcome: number(TaskOutcome, outcome, "outcome"),
      task: nameOf(task),
      tool,
      error,
      requestId,
    });
    return this.call(method.recordSkillOutcome, request, call);
  }

  /** Share a lesson or a skill of one agent with all agents of a user; no surer than it was. */
  promote(lesson: Ref | Skill, user: string, options: CallOptions = {}): Promise<PromoteLessonResponse> {
    // A skill stands for the memory that tells of it.
    const memory = typeof lesson === "object" && "memory" in lesson ? lesson.memory : nameOf(lesson);
    return this.call(method.promoteLesson, create(PromoteLessonRequestSchema, { memory, user }), options);
  }
}

function hasEnded({ reflection }: GetReflectionResponse): boolean {
  return reflection?.state === ReflectionState.SUCCEEDED || reflection?.state === ReflectionState.FAILED;
}
