/** Waiting that can be broken off. */

import { setTimeout } from "node:timers/promises";

/** Wait so long, or until the signal is aborted; it tells no difference. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, signal && { signal }).catch((error: unknown) => {
    if (signal?.aborted !== true) throw error;
  });
}
