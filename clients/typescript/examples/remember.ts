/**
 * Write what an agent learnt, find it again, and see what happens when another agent disagrees.
 *
 *     hbus serve                            # in one terminal
 *     node examples/remember.ts             # in another, with Node.js 24
 */

import { connect, Decision, label, MemoryState } from "@hindsight-bus/client";

const FACTS = "user:zhangsan:facts";
const target = process.argv[2];

using support = connect(target, { agent: "support" });
using orders = connect(target, { agent: "orders" });

const subject = "preference.presentation";
const stored = await support.write(FACTS, "用户偏好用表格展示对比数据", { subject, confidence: 0.85 });
console.log("support:", label(Decision, stored.decision), stored.reason);

const other = await orders.write(FACTS, "用户更喜欢柱状图", { subject, confidence: 0.6 });
console.log("orders: ", label(Decision, other.decision), other.reason);
console.log("  it is", label(MemoryState, other.memory!.state));

// `after` makes the search see that write, on whatever server it lands.
const { hits } = await orders.search(FACTS, "对比数据该怎么展示?", { after: other.token });
for (const { score, memory } of hits) console.log(`  ${score.toFixed(2)}  ${memory!.text}`);
