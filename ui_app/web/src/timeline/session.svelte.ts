// What the timeline page shows and does: joins engine, server and address.

import * as api from "../lib/api";
import { save } from "../lib/download";
import { nanoseconds, write } from "../lib/format";
import { router } from "../lib/router.svelte";
import { TimelineEngine, type Place, type Surfaces } from "./engine";
import type { Mark } from "./hit";
import { singleKeys, type Action } from "./keys";
import {
  allRows,
  areaHeight,
  eventsTop,
  LANE_HEIGHT,
  layOut,
  pathTo,
  toOpen,
  type ShownRow,
  type TreeRow,
} from "./rows";
import { around, spanOf, timeText, wholeOf, type View } from "./time";
import type { Connection, EventDetails, Meta, RangeAnswer } from "./types";

const TABS = ["selection", "connections", "range", "table"] as const;
export type Tab = (typeof TABS)[number];

const WRITE_AFTER_MS = 250;
const OVERVIEW_LANES = 4;
const TABLE_ROWS = 300;
/** Share of the view that a step takes when it is the one that is looked at. */
const FILLING = 0.5;
const MAX_LANES_ASKED = 400;
const GPU_TABLES = new Set(["kernels", "memory_ops"]);
const separator = "~";

export class Session {
  toggled = $state.raw<ReadonlySet<string>>(new Set());
  pinned = $state.raw<ReadonlySet<string>>(new Set());
  hidden = $state.raw<ReadonlySet<string>>(new Set());
  filter = $state("");
  scroll = $state(0);
  view = $state.raw<View>({ t0: 0, t1: 1 });
  tab = $state<Tab>("selection");
  details = $state.raw<EventDetails | null>(null);
  range = $state.raw<View | null>(null);
  statistics = $state.raw<RangeAnswer | null>(null);
  cursor = $state.raw<Mark | null>(null);
  cursorLane = $state("");
  hovered = $state.raw<{ x: number; y: number; shown: ShownRow; mark: Mark | null } | null>(null);
  live = $state("");
  error = $state<unknown>();
  help = $state(false);
  letters = $state(singleKeys());
  drawn = $state(0);
  layout = $derived.by(() =>
    layOut(this.meta.tree, {
      toggled: this.toggled,
      pinned: this.pinned,
      hidden: this.hidden,
      filter: this.filter,
    }),
  );
  engine: TimelineEngine | undefined;
  searchBox: HTMLInputElement | undefined;
  #written: ReturnType<typeof setTimeout> | undefined;
  #asked = new AbortController();
  #askedRange = new AbortController();

  constructor(
    readonly job: string,
    readonly meta: Meta,
  ) {
    this.view = wholeOf(meta.span_ns);
  }

  /** Begin to draw, at the place the address names. */
  start(surfaces: Surfaces): () => void {
    const still = window.matchMedia("(prefers-reduced-motion: reduce)");
    const engine = new TimelineEngine(
      surfaces,
      {
        fetchWindow: (query, signal) => api.getWindow(this.job, query, signal),
        onView: (view) => this.#onView(view),
        onError: (error) => (this.error = error),
        onDrawn: () => (this.drawn += 1),
      },
      this.meta.span_ns,
      this.meta.steps,
      () => still.matches,
    );
    this.engine = engine;
    this.#restore(router.params);
    (window as unknown as Record<string, unknown>)["tracemillTimeline"] = {
      state: () => ({ ...engine.state(), range: this.range, statistics: this.statistics }),
      marks: () => engine.marksInView(10_000).map(({ mark }) => mark),
      boxOf: (lane: string) => this.#boxOf(lane),
      openAll: () => (this.toggled = new Set(closedOf(this.meta.tree))),
      measure: (frames: number) => engine.measure(frames),
    };
    return () => {
      engine.close();
      clearTimeout(this.#written);
      this.#asked.abort();
      this.#askedRange.abort();
      delete (window as unknown as Record<string, unknown>)["tracemillTimeline"];
    };
  }

  /** Where a lane lies below the top of the lanes, for tests and pictures. */
  #boxOf(lane: string): { y: number; height: number } | null {
    const shown = this.layout.rows.find((one) => one.area === lane || one.events.includes(lane));
    if (!shown) return null;
    const y = shown.y - this.scroll + this.layout.pinnedHeight;
    if (shown.area === lane) return { y, height: areaHeight(shown) };
    return { y: y + eventsTop(shown) + shown.events.indexOf(lane) * LANE_HEIGHT, height: LANE_HEIGHT };
  }

  setTab(tab: Tab): void {
    this.tab = tab;
    this.#write();
  }

  get overviewLanes(): string[] {
    const rows = [...allRows(this.meta.tree)];
    const gpus = rows.filter((row) => row.id.endsWith(".gpus"));
    const found = gpus.length ? gpus : rows.filter((row) => row.id.endsWith(".cpu"));
    const lanes = found.flatMap((row) => row.lanes);
    const events = rows.filter((row) => row.kind === "events").flatMap((row) => row.lanes);
    return (lanes.length ? lanes : events).slice(0, OVERVIEW_LANES);
  }

  #restore(params: Record<string, string>): void {
    const list = (name: string) => new Set((params[name] ?? "").split(separator).filter(Boolean));
    this.toggled = list("open");
    this.pinned = list("pin");
    this.hidden = list("hide");
    this.filter = params["rows"] ?? "";
    const view = pair(params["t0"], params["t1"]);
    const range = pair(params["r0"], params["r1"]);
    if (view) this.engine?.setView(view);
    else if (params["step"]) this.toStep(Number(params["step"]), false);
    const [lane, start, dur] = (params["sel"] ?? "").split(separator);
    const asked: Promise<void>[] = [];
    if (lane && start) {
      const place = { lane, start: Number(start), dur: Number(dur ?? 0) };
      asked.push(this.select(place, view ? "none" : "fit"));
    }
    if (range) asked.push(this.setRange(range.t0, range.t1, true));
    const tab = TABS.find((one) => one === params["tab"]);
    // Both answers turn to their own tab.
    if (tab) void Promise.all(asked).then(() => (this.tab = tab));
  }

  #onView(view: View): void {
    this.view = view;
    this.#write();
  }

  /** Put the state into the address, once it rests. */
  #write(): void {
    clearTimeout(this.#written);
    this.#written = setTimeout(() => {
      if (router.page !== "timeline" || router.profile !== this.job) return;
      const { t0, t1 } = this.view;
      const at = this.details;
      router.set({
        t0: String(Math.round(t0)),
        t1: String(Math.round(t1)),
        step: "",
        sel: at ? [at.lane, at.start, at.dur].join(separator) : "",
        r0: this.range ? String(Math.round(this.range.t0)) : "",
        r1: this.range ? String(Math.round(this.range.t1)) : "",
        open: [...this.toggled].join(separator),
        pin: [...this.pinned].join(separator),
        hide: [...this.hidden].join(separator),
        rows: this.filter,
        tab: this.tab === "selection" ? "" : this.tab,
      });
    }, WRITE_AFTER_MS);
  }

  toggle(id: string): void {
    this.toggled = flipped(this.toggled, id);
    this.#write();
  }

  pin(id: string): void {
    this.pinned = flipped(this.pinned, id);
    this.#write();
  }

  hide(id: string): void {
    this.hidden = flipped(this.hidden, id);
    this.#write();
  }

  showHidden(): void {
    this.hidden = new Set();
    this.#write();
  }

  setFilter(text: string): void {
    this.filter = text;
    this.#write();
  }

  /** Open the rows above a lane and scroll to it. */
  showLane(lane: string): void {
    const isShown = () => this.layout.rows.find((one) => one.events.includes(lane));
    if (!isShown()) {
      const path = pathTo(this.meta.tree, lane);
      if (path.some((row) => this.hidden.has(row.id))) this.hidden = new Set();
      const closed = toOpen(path, lane, this.toggled);
      this.toggled = closed.reduce<ReadonlySet<string>>((set, row) => flipped(set, row.id), this.toggled);
      if (!isShown() && path.length) this.filter = "";
    }
    const shown = isShown();
    if (shown) this.wantScroll = { y: shown.y, height: shown.height };
  }
  /** A row that must be scrolled into view; the page does it. */
  wantScroll = $state.raw<{ y: number; height: number } | null>(null);

  /** Select an event: ask for its fields and connections, show its lane. */
  async select(
    place: Place & { name?: string },
    move: "none" | "show" | "close" | "fit" = "show",
  ): Promise<void> {
    this.#asked.abort();
    this.#asked = new AbortController();
    try {
      const found = await api.getEvent(this.job, place, this.#asked.signal);
      this.details = found;
      this.error = undefined;
      this.live = `Selected ${found.name}, ${nanoseconds(found.dur)}`;
      if (this.tab === "range" || this.tab === "table") this.tab = "selection";
      this.showLane(found.lane);
      if (move === "fit") {
        this.engine?.setView(around(found.start, found.dur, this.meta.span_ns, 0.2));
      } else if (move !== "none") this.engine?.reveal(found, move === "close");
      this.#write();
    } catch (error) {
      if (!(error instanceof DOMException)) this.error = error;
    }
  }

  clearSelection(): void {
    this.#asked.abort();
    this.details = null;
    this.#write();
  }

  /** The arrows of the selection: from each launch to its run. */
  get arrows(): [Place, Place][] {
    const at = this.details;
    if (!at) return [];
    const launch = at.connections.find((one) => one.relation === "launched by");
    if (launch) return [[launch, at]];
    return at.connections
      .filter((one) => one.relation === "runs on the GPU")
      .map((run): [Place, Place] => [at, run]);
  }

  /** The partner in a direction of the arrow. */
  partner(direction: "launch" | "run"): Connection | undefined {
    const wanted = direction === "launch" ? ["launched by"] : ["runs on the GPU", "first GPU event"];
    return this.details?.connections.find((one) => wanted.includes(one.relation));
  }

  async setRange(t0: number, t1: number, done: boolean): Promise<void> {
    this.range = { t0: Math.round(t0), t1: Math.max(Math.round(t1), Math.round(t0) + 1) };
    this.statistics = null;
    if (!done) return;
    this.tab = "range";
    this.#write();
    this.#askedRange.abort();
    this.#askedRange = new AbortController();
    const asked = { ...this.range, lanes: this.#chosenLanes() };
    try {
      this.statistics = await api.getRange(this.job, asked, this.#askedRange.signal);
      const { count, dur, busy_ns } = this.statistics;
      this.live = `Range of ${nanoseconds(dur)}: ${write(count, "count")} events, busy ${nanoseconds(busy_ns)}`;
    } catch (error) {
      if (!(error instanceof DOMException)) this.error = error;
    }
  }

  /** The lanes a filter leaves; empty means all. */
  #chosenLanes(): string[] {
    if (!this.filter.trim()) return [];
    // A closed row matches itself: one that only has matches below is open.
    const rows = this.layout.rows.flatMap((one) => (one.open ? [one.row] : [...allRows([one.row])]));
    const lanes = rows.flatMap((row) => (row.kind === "events" ? row.lanes : []));
    const found = [...new Set(lanes)];
    return found.length <= MAX_LANES_ASKED ? found : [];
  }

  clearRange(): void {
    this.#askedRange.abort();
    this.range = null;
    this.statistics = null;
    if (this.tab === "range") this.tab = "selection";
    this.#write();
  }

  /** Position of a step in the list; by its number, the first of several. */
  toStep(number: number, glide = true): void {
    const at = this.meta.steps.step.indexOf(number);
    if (at >= 0) this.toStepAt(at, glide);
  }

  /** Position of the step that a text names (step_41, ProfilerStep#41, 41); -1 if it names none. */
  stepNamed(text: string): number {
    const match = /^(?:step|profilerstep)?[_ #]?(\d+)$/i.exec(text.trim());
    return match ? this.meta.steps.step.indexOf(Number(match[1])) : -1;
  }

  toStepAt(at: number, glide = true): void {
    const { step, start, end } = this.meta.steps;
    const from = start[at];
    if (from === undefined) return;
    const view = around(from, (end[at] as number) - from, this.meta.span_ns, 0.92);
    this.engine?.setView(view, glide);
    this.live = `step_${step[at]}, ${nanoseconds((end[at] as number) - from)}`;
  }

  /** The step in the middle of the view, or the last one before it; -1 without one. */
  get stepInView(): number {
    const middle = (this.view.t0 + this.view.t1) / 2;
    const { start } = this.meta.steps;
    let low = 0;
    let high = start.length;
    while (low < high) {
      const at = (low + high) >> 1;
      if ((start[at] as number) <= middle) low = at + 1;
      else high = at;
    }
    return low - 1;
  }

  /** That step if it fills most of the view; else -1. */
  get stepFilling(): number {
    const at = this.stepInView;
    const { start, end } = this.meta.steps;
    const length = (end[at] ?? 0) - (start[at] ?? 0);
    return length > FILLING * spanOf(this.view) ? at : -1;
  }

  tableRows(): { shown: ShownRow; mark: Mark }[] {
    return this.engine?.marksInView(TABLE_ROWS) ?? [];
  }

  /** The event lanes that are open, from top to bottom. */
  get lanes(): string[] {
    return this.layout.rows.flatMap((one) => one.events);
  }

  moveCursorLane(by: number): void {
    const lanes = this.lanes;
    if (!lanes.length) return;
    const at = lanes.indexOf(this.cursorLane || (this.details?.lane ?? ""));
    const lane = lanes[at < 0 ? 0 : Math.min(Math.max(at + by, 0), lanes.length - 1)] as string;
    this.cursorLane = lane;
    const from = this.cursor ? this.cursor.start - 1 : null;
    this.cursor = this.engine?.next(lane, from, 1) ?? null;
    this.showLane(lane);
    this.#tellCursor();
  }

  moveCursor(direction: 1 | -1): void {
    const lane = this.cursorLane || this.details?.lane || this.lanes[0];
    if (!lane) return;
    this.cursorLane = lane;
    const from = this.cursor?.lane === lane ? this.cursor.start : (this.details?.start ?? null);
    const mark = this.engine?.next(lane, from, direction);
    if (!mark) {
      this.live = "No further event here; move or zoom out.";
      return;
    }
    this.cursor = mark;
    this.showLane(lane);
    this.engine?.reveal(mark);
    this.#tellCursor();
  }

  #tellCursor(): void {
    const shown = this.layout.rows.find((one) => one.events.includes(this.cursorLane));
    const row = shown ? shown.path : "";
    const mark = this.cursor;
    this.live = mark
      ? `${describe(mark)}, at ${timeText(mark.start, 1)}. ${row}`
      : `${row}: nothing in view.`;
  }

  /** Select what a mark stands for; a bin of many is zoomed into. */
  choose(mark: Mark): void {
    this.cursor = mark;
    this.cursorLane = mark.lane;
    if (mark.exact) void this.select({ ...mark }, "none");
    else this.engine?.fit(mark, 0.5);
  }

  /** Save the window in view for Perfetto. */
  async saveWindow(): Promise<void> {
    this.saving = true;
    try {
      save(await api.getPerfetto(this.job, this.view.t0, this.view.t1), `${this.job}.pftrace`);
    } catch (error) {
      this.error = error;
    } finally {
      this.saving = false;
    }
  }
  saving = $state(false);

  act(action: Action): void {
    const { engine } = this;
    if (!engine) return;
    const middle = this.hovered ? engine.timeAt(this.hovered.x) : undefined;
    switch (action) {
      case "zoom-in":
        return engine.zoom(0.6, middle, true);
      case "zoom-out":
        return engine.zoom(1 / 0.6, middle, true);
      case "left":
        return engine.pan(-0.2, true);
      case "right":
        return engine.pan(0.2, true);
      case "far-left":
        return engine.pan(-0.8, true);
      case "far-right":
        return engine.pan(0.8, true);
      case "lane-up":
        return this.moveCursorLane(-1);
      case "lane-down":
        return this.moveCursorLane(1);
      case "next":
        return this.moveCursor(1);
      case "previous":
        return this.moveCursor(-1);
      case "open":
        return this.cursor ? this.choose(this.cursor) : undefined;
      case "fit":
        return this.#fit();
      case "mark":
        return this.#mark();
      case "launch":
      case "run": {
        const partner = this.partner(action);
        if (partner) void this.select(partner);
        return;
      }
      case "next-step":
        return this.toStepAt(Math.min(this.stepInView + 1, this.meta.steps.step.length - 1));
      case "previous-step":
        return this.toStepAt(Math.max(this.stepInView - 1, 0));
      case "whole":
        return engine.whole();
      case "search":
        return this.searchBox?.focus();
      case "help":
        this.help = true;
        return;
      case "clear":
        if (this.range) this.clearRange();
        else this.clearSelection();
        this.cursor = null;
    }
  }

  /** Fit what is chosen; once more fits it tightly. */
  #fit(): void {
    const { details, range, engine } = this;
    const place = range ? { start: range.t0, dur: spanOf(range) } : details;
    if (!place) return engine?.whole();
    const loose = around(place.start, place.dur, this.meta.span_ns);
    const fitted = Math.abs(loose.t0 - this.view.t0) < 2 && Math.abs(loose.t1 - this.view.t1) < 2;
    engine?.fit(place, fitted ? 0.96 : 0.6);
  }

  #mark(): void {
    const { details, view } = this;
    if (details) void this.setRange(details.start, details.start + details.dur, true);
    else void this.setRange(Math.max(view.t0, 0), Math.min(view.t1, this.meta.span_ns), true);
  }
}

const closedOf = (tree: TreeRow[]): string[] =>
  [...allRows(tree)].filter((row) => !row.open).map((row) => row.id);

export const isGpu = (table: string): boolean => GPU_TABLES.has(table);

export function describe(mark: Mark): string {
  if (mark.exact) return `${mark.name}, ${nanoseconds(mark.dur)}`;
  const events = `${write(mark.count, "count")} ${mark.count === 1 ? "event" : "events"}`;
  return `${events} in ${nanoseconds(mark.dur)}, longest ${mark.name}, busy ${write(mark.share, "share")}`;
}

function pair(first: string | undefined, second: string | undefined): View | null {
  const [t0, t1] = [Number(first), Number(second)];
  return first && second && t1 > t0 ? { t0, t1 } : null;
}

function flipped(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const copy = new Set(set);
  if (!copy.delete(id)) copy.add(id);
  return copy;
}
