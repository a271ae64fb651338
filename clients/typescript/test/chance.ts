/** Chance that a seed repeats. */

/** Numbers from 0 to below `limit`, by Park and Miller's minimal standard generator. */
export function generator(seed: number): (limit: number) => number {
  let state = (seed % 2_147_483_646) + 1;
  return (limit) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
}
