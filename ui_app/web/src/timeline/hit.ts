// Which mark is at a place, and which is next to another.

import { firstReaching, type Slab } from "./wire";

/** One mark of a lane. Times in ns since the profile's start. */
export interface Mark {
  lane: string;
  start: number;
  dur: number;
  name: string;
  exact: boolean;
  count: number;
  share: number;
}

export function markAt(slab: Slab, index: number, texts: string[]): Mark {
  return {
    lane: slab.lane,
    start: slab.start[index] as number,
    dur: slab.dur[index] as number,
    name: texts[slab.name[index] as number] as string,
    exact: slab.exact[index] === 1,
    count: slab.count[index] as number,
    share: slab.share[index] as number,
  };
}

/** Index of the mark at time `t`, or of the nearest within `slack`; the last one drawn wins. */
export function indexAt(slab: Slab, t: number, slack: number): number {
  let best = -1;
  let bestAway = Infinity;
  for (let i = firstReaching(slab, t - slack); i < slab.start.length; i += 1) {
    const start = slab.start[i] as number;
    if (start > t + slack) break;
    const end = start + (slab.dur[i] as number);
    const away = t < start ? start - t : t > end ? t - end : 0;
    if (away <= slack && away <= bestAway) [best, bestAway] = [i, away];
  }
  return best;
}

/** Index of the next (1) or previous (-1) mark after one that starts at `start`. */
export function neighbour(slab: Slab, start: number, direction: 1 | -1): number {
  let low = 0;
  let high = slab.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const value = slab.start[middle] as number;
    if (direction === 1 ? value <= start : value < start) low = middle + 1;
    else high = middle;
  }
  const found = direction === 1 ? low : low - 1;
  return found >= 0 && found < slab.start.length ? found : -1;
}
