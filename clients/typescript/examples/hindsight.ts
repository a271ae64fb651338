/** One agent fails and the next one knows better: `node examples/hindsight.ts [HOST:PORT]` against `hbus serve`. */

import { connect, InsightKind, label, steps } from "@hindsight-bus/client";

const user = "zhangsan";
const kind = "refund";
const target = process.argv[2];

using support = connect(target, { agent: "support" });
using aftersales = connect(target, { agent: "after-sales" });

const { task } = await support.startTask("Refund order 1001 for the customer", { kind, user });
await support.recordSteps(task!, [
  steps.thought(1, "I need the order first"),
  steps.toolCall(2, "get_order", { id: 1001 }, { error: "401 Unauthorized: token expired" }),
]);
await support.finishTask(task!, "failure", { score: 0, judge: "user" });
const { reflection } = await support.reflection(task!, { waitMs: 10_000 });
for (const insight of reflection!.insights) {
  console.log(`${label(InsightKind, insight.kind)}: ${insight.text} (steps ${insight.steps.join(", ")})`);
}

const started = await aftersales.startTask("Refund order 1002 for the customer", { kind, user });
for (const { score, memory } of started.lessons) console.log(score.toFixed(2), memory!.text);
