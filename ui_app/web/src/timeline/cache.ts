// What was fetched, by lane; and which of it serves a view best.

import { spanOf, type View } from "./time";
import type { Slab } from "./wire";

const KEPT_PER_LANE = 5;
const MAX_BYTES = 96 * 1024 * 1024;
const BYTES_PER_MARK = 30;

export class SlabCache {
  #lanes = new Map<string, Slab[]>();
  #bytes = 0;

  put(slab: Slab): void {
    const kept = this.#lanes.get(slab.lane) ?? [];
    kept.push(slab);
    this.#bytes += slab.start.length * BYTES_PER_MARK;
    // The widest one stays: it is what a view far away is first drawn from.
    while (kept.length > KEPT_PER_LANE) this.#drop(kept);
    this.#lanes.delete(slab.lane);
    this.#lanes.set(slab.lane, kept);
    for (const [lane, slabs] of this.#lanes) {
      if (this.#bytes <= MAX_BYTES || lane === slab.lane) break;
      for (const old of slabs) this.#bytes -= old.start.length * BYTES_PER_MARK;
      this.#lanes.delete(lane);
    }
  }

  #drop(kept: Slab[]): void {
    const widest = kept.reduce((a, b) =>
      spanOf(b) > spanOf(a) || (spanOf(b) === spanOf(a) && b.pixelNs < a.pixelNs) ? b : a,
    );
    const [old] = kept.splice(kept[0] === widest ? 1 : 0, 1);
    if (old) this.#bytes -= old.start.length * BYTES_PER_MARK;
  }

  /** The slab to draw a view from: the finest that covers it, else the one that covers most. */
  best(lane: string, view: View, pixelNs: number): Slab | undefined {
    const slabs = this.#lanes.get(lane);
    let found: Slab | undefined;
    let foundScore = -Infinity;
    for (const slab of slabs ?? []) {
      const covered = Math.min(slab.t1, view.t1) - Math.max(slab.t0, view.t0);
      if (covered <= 0) continue;
      const whole = covered >= spanOf(view) - pixelNs;
      const fine = serves(slab, pixelNs);
      const score = (whole ? 4 : 0) + (fine ? 2 : 0) + covered / spanOf(view) - slab.pixelNs * 1e-18;
      if (score > foundScore) [found, foundScore] = [slab, score];
    }
    return found;
  }

  /** Whether a view can be drawn without asking the server; it ends where the profile ends. */
  has(lane: string, view: View, pixelNs: number): boolean {
    return (this.#lanes.get(lane) ?? []).some(
      (slab) => slab.t0 <= view.t0 && slab.t1 >= view.t1 && serves(slab, pixelNs),
    );
  }

  clear(): void {
    this.#lanes.clear();
    this.#bytes = 0;
  }
}

const serves = (slab: Slab, pixelNs: number): boolean =>
  slab.binNs === 0 || slab.pixelNs <= pixelNs * 1.05;
