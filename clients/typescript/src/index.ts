/**
 * The TypeScript client of Hindsight Bus, the memory that several agents share.
 *
 *     import { connect } from "@hindsight-bus/client";
 *
 *     using bus = connect("127.0.0.1:50051", { agent: "support" });
 *     await bus.write("user:zhangsan:facts", "用户偏好用表格展示对比数据", { subject: "preference.presentation" });
 *     const { hits } = await bus.search("user:zhangsan:facts", "对比数据该怎么展示?");
 */

export { Backoff, NO_RETRY } from "./backoff.js";
export { Client, connect, type ConnectOptions, type Outcome } from "./client.js";
export { Consumption, type Handler } from "./consumption.js";
export type { EndpointOptions } from "./endpoint.js";
export * as errors from "./errors.js";
export { decode, HbusError } from "./errors.js";
export type * from "./fields.js";
export { RejectEvent } from "./membership.js";
export { newRequestId, type Retrieved, type UpdateFields, write as writeRequest } from "./requests.js";
export * as steps from "./steps.js";
export type { SkillFields } from "./tasks.js";
export { Subscription } from "./subscription.js";
export { label } from "./values.js";
export type * from "./values.js";

export { BusService } from "./gen/hbus/v1/bus_service_pb.js";
export { type Conflict, ConflictState, ResolutionAction } from "./gen/hbus/v1/conflict_pb.js";
export { type Event, EventKind } from "./gen/hbus/v1/event_pb.js";
export type { DeadLetter, Delivery } from "./gen/hbus/v1/group_pb.js";
export { Cardinality, Channel, type Memory, MemoryState, MemoryType } from "./gen/hbus/v1/memory_pb.js";
export { Decision, MemoryService, TurnRole } from "./gen/hbus/v1/memory_service_pb.js";
export type { SearchHit, WriteMemoryRequest, WriteMemoryResponse } from "./gen/hbus/v1/memory_service_pb.js";
export { NamespaceService } from "./gen/hbus/v1/namespace_service_pb.js";
export { ReflectionService } from "./gen/hbus/v1/reflection_service_pb.js";
export {
  InsightKind,
  type Reflection,
  ReflectionState,
  type Step,
  type Task,
  TaskOutcome,
} from "./gen/hbus/v1/task_pb.js";
