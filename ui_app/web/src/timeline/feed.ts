// Asks the server for what the view lacks, half a screen more on each side. One question is under
// way at a time: while a hand moves the view, each answer is drawn before the next is asked for.

import { SlabCache } from "./cache";
import type { Names } from "./names";
import { spanOf, wholeOf, type View } from "./time";
import { decodeWindow } from "./wire";

interface WindowQuery {
  t0: number;
  t1: number;
  px: number;
  lanes: string[];
}

export type FetchWindow = (query: WindowQuery, signal: AbortSignal) => Promise<ArrayBuffer>;

interface Wish {
  lanes: string[];
  view: View;
  width: number;
  span: number;
}

const DEBOUNCE_MS = 25;
/** Few lanes per call: calls run side by side, and no answer gets large. */
const LANES_PER_CALL = 16;
const MAX_PX = 8_192;
/** How much of a view's length is fetched beyond each of its ends. */
const AHEAD = 0.5;

export class Feed {
  readonly cache = new SlabCache();
  calls = 0;
  #wish: Wish | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked: { control: AbortController; view: View } | undefined;
  /** What failed: it is not asked for again until someone tries again. */
  #failed = new Set<string>();

  constructor(
    private readonly fetchWindow: FetchWindow,
    private readonly names: Names,
    private readonly onData: () => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** See to it that these lanes can be drawn in this view. */
  want(lanes: string[], view: View, width: number, span: number): void {
    const pixelNs = spanOf(view) / Math.max(width, 1);
    const needed = inside(view, span);
    const missing = lanes.filter((lane) => !this.cache.has(lane, needed, pixelNs));
    this.#wish = missing.length ? { lanes: missing, view, width, span } : undefined;
    if (!this.#wish) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      return;
    }
    if (this.#failed.has(keyOf(this.#wish))) return;
    if (this.#asked && useless(this.#asked.view, view)) this.#cancel();
    if (this.#asked || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.#ask(), DEBOUNCE_MS);
  }

  get idle(): boolean {
    return this.#asked === undefined && this.#timer === undefined;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#cancel();
  }

  /** Forget what failed, so that it is asked for again. */
  retry(): void {
    this.#failed.clear();
  }

  #cancel(): void {
    this.#asked?.control.abort();
    this.#asked = undefined;
  }

  async #ask(): Promise<void> {
    this.#timer = undefined;
    const wish = this.#wish;
    if (!wish) return;
    const { lanes, view, width, span } = wish;
    const more = spanOf(view) * AHEAD;
    const wide = inside({ t0: view.t0 - more, t1: view.t1 + more }, span);
    const t0 = Math.floor(wide.t0);
    const t1 = Math.max(Math.ceil(wide.t1), t0 + 1);
    const px = Math.min(Math.max(Math.ceil((width * (t1 - t0)) / spanOf(view)), 1), MAX_PX);
    const asked = (this.#asked = { control: new AbortController(), view });
    const calls = [];
    for (let at = 0; at < lanes.length; at += LANES_PER_CALL) {
      const part = lanes.slice(at, at + LANES_PER_CALL);
      calls.push(this.#call({ t0, t1, px, lanes: part }, asked.control.signal));
    }
    const results = await Promise.allSettled(calls);
    if (this.#asked !== asked) return;
    this.#asked = undefined;
    const failed = results.find((one) => one.status === "rejected");
    if (failed) {
      this.#failed.add(keyOf(wish));
      this.onError(failed.reason);
    }
    this.onData();
  }

  async #call(query: WindowQuery, signal: AbortSignal): Promise<void> {
    this.calls += 1;
    const buffer = await this.fetchWindow(query, signal);
    if (signal.aborted) return;
    for (const slab of decodeWindow(buffer, this.names)) this.cache.put(slab);
    this.onData();
  }
}

const keyOf = ({ lanes, view, width }: Wish): string =>
  `${lanes.join()} ${view.t0} ${view.t1} ${width}`;

/** Whether an answer for one view would show nothing in another, or only a blur. */
function useless(asked: View, view: View): boolean {
  const apart = asked.t1 < view.t0 || asked.t0 > view.t1;
  return apart || spanOf(asked) > 16 * spanOf(view);
}

/** The part of a view where the profile is: nothing lies outside. */
function inside(view: View, span: number): View {
  const whole = wholeOf(span);
  return { t0: Math.max(view.t0, whole.t0), t1: Math.min(view.t1, whole.t1) };
}
