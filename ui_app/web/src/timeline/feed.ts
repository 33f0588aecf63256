// Asks the server for what the view lacks: a screen more on each side, old questions cancelled.

import { SlabCache } from "./cache";
import type { Names } from "./names";
import { spanOf, wholeOf, type View } from "./time";
import { decodeWindow } from "./wire";

export type FetchWindow = (
  query: { t0: number; t1: number; px: number; lanes: string[] },
  signal: AbortSignal,
) => Promise<ArrayBuffer>;

const DEBOUNCE_MS = 35;
const LANES_PER_CALL = 48;
const MAX_PX = 8_192;
/** How much of a view's length is fetched beyond each of its ends. */
const AHEAD = 0.5;

export class Feed {
  readonly cache = new SlabCache();
  /** Calls that have not been answered, and one that waits to be sent. */
  pending = 0;
  calls = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked: AbortController | undefined;
  #key = "";

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
    if (!missing.length) {
      // What is under way may have been asked for a view that was left: it is kept all the same.
      clearTimeout(this.#timer);
      this.#timer = undefined;
      return;
    }
    const key = `${missing.join()} ${view.t0} ${view.t1} ${width}`;
    if (key === this.#key) return;
    this.#key = key;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(missing, view, width, span), DEBOUNCE_MS);
  }

  get idle(): boolean {
    return this.pending === 0 && this.#timer === undefined;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#asked?.abort();
  }

  /** Forget what failed or was cancelled, so that it is asked for again. */
  retry(): void {
    this.#key = "";
  }

  async #ask(lanes: string[], view: View, width: number, span: number): Promise<void> {
    this.#timer = undefined;
    this.#asked?.abort();
    const asked = (this.#asked = new AbortController());
    const more = spanOf(view) * AHEAD;
    const wide = inside({ t0: view.t0 - more, t1: view.t1 + more }, span);
    const t0 = Math.floor(wide.t0);
    const t1 = Math.max(Math.ceil(wide.t1), t0 + 1);
    const px = Math.ceil((width * (t1 - t0)) / spanOf(view));
    const calls = [];
    for (let at = 0; at < lanes.length; at += LANES_PER_CALL) {
      const part = lanes.slice(at, at + LANES_PER_CALL);
      calls.push(this.#call({ t0, t1, px: Math.min(Math.max(px, 1), MAX_PX), lanes: part }, asked));
    }
    await Promise.all(calls);
  }

  async #call(
    query: { t0: number; t1: number; px: number; lanes: string[] },
    asked: AbortController,
  ): Promise<void> {
    this.pending += 1;
    this.calls += 1;
    try {
      const buffer = await this.fetchWindow(query, asked.signal);
      for (const slab of decodeWindow(buffer, this.names)) this.cache.put(slab);
    } catch (error) {
      const cancelled = error instanceof DOMException && error.name === "AbortError";
      if (!cancelled) this.onError(error);
    } finally {
      this.pending -= 1;
      this.onData();
    }
  }
}

/** The part of a view where the profile is: nothing lies outside. */
function inside(view: View, span: number): View {
  const whole = wholeOf(span);
  return { t0: Math.max(view.t0, whole.t0), t1: Math.min(view.t1, whole.t1) };
}
