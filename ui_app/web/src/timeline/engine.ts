// The timeline itself, without any framework: keeps the view, draws it, finds what is pointed at.
// Redraws only when something has changed, at most once per frame.

import { LaneDrawer } from "./draw";
import { Feed, type FetchWindow } from "./feed";
import { indexAt, markAt, neighbour, type Mark } from "./hit";
import { Names } from "./names";
import {
  drawArrow,
  drawBox,
  drawOverviewGround,
  drawOverviewWindow,
  drawRange,
  drawRuler,
  type Box,
  type Steps,
} from "./overlay";
import { readPalette, type Palette } from "./palette";
import { areaHeight, eventsTop, LANE_HEIGHT, type Layout, type ShownRow } from "./rows";
import { around, clampView, panned, spanOf, wholeOf, zoomed, type View } from "./time";
import type { Slab } from "./wire";

export interface Surfaces {
  lanes: HTMLCanvasElement;
  overlay: HTMLCanvasElement;
  ruler: HTMLCanvasElement;
  overview: HTMLCanvasElement;
}

export interface Listener {
  fetchWindow: FetchWindow;
  onView: (view: View) => void;
  onError: (error: unknown) => void;
  onDrawn: () => void;
}

export interface Place {
  lane: string;
  start: number;
  dur: number;
}

/** What tests look at: the engine's state as plain data. */
export interface EngineState {
  idle: boolean;
  view: View;
  visible: number;
  strips: number;
  drawMs: number;
  calls: number;
  arrows: number;
  selected: Place | null;
  /** When events were first drawn, in ms since the page was asked for; 0 before. */
  paintedMs: number;
}

export const OVERVIEW_PX = 34;
export const RULER_PX = 38;
const ANIMATION_MS = 140;

export class TimelineEngine {
  readonly names = new Names();
  readonly #feed: Feed;
  readonly #drawer = new LaneDrawer();
  #layout: Layout = { pinned: [], rows: [], pinnedHeight: 0, height: 0, hidden: 0 };
  #scroll = 0;
  #width = 1;
  #height = 1;
  #palette: Palette;
  #view: View;
  #selected: Place | null = null;
  #cursor: Place | null = null;
  #range: View | null = null;
  #arrows: [Place, Place][] = [];
  #arrowsDrawn = 0;
  #overviewLanes: string[] = [];
  #frame = 0;
  #drawMs = 0;
  #paintedMs = 0;
  #ground: { canvas: HTMLCanvasElement; slabs: Slab[]; width: number; palette?: Palette } = {
    canvas: document.createElement("canvas"),
    slabs: [],
    width: 0,
  };
  #target: { from: View; to: View; since: number } | null = null;

  constructor(
    private readonly surfaces: Surfaces,
    private readonly listener: Listener,
    private readonly span: number,
    private readonly steps: Steps,
    private readonly stillness: () => boolean,
  ) {
    this.#palette = readPalette(surfaces.lanes.parentElement as HTMLElement);
    this.#view = wholeOf(span);
    this.#feed = new Feed(
      listener.fetchWindow,
      this.names,
      () => this.redraw(),
      listener.onError,
    );
  }

  get view(): View {
    return this.#view;
  }

  get width(): number {
    return this.#width;
  }

  get pixelNs(): number {
    return spanOf(this.#view) / this.#width;
  }

  state(): EngineState {
    return {
      idle: this.#feed.idle && this.#frame === 0 && this.#target === null,
      view: { ...this.#view },
      visible: this.#drawer.visible,
      strips: this.#drawer.strips,
      drawMs: this.#drawMs,
      calls: this.#feed.calls,
      arrows: this.#arrowsDrawn,
      selected: this.#selected,
      paintedMs: this.#paintedMs,
    };
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    this.#feed.close();
  }

  retry(): void {
    this.#feed.retry();
    this.redraw();
  }

  setSize(width: number, height: number): void {
    this.#width = Math.max(Math.floor(width), 1);
    this.#height = Math.max(Math.floor(height), 1);
    this.redraw();
  }

  setLayout(layout: Layout, scroll: number, overviewLanes: string[]): void {
    this.#layout = layout;
    this.#scroll = scroll;
    this.#overviewLanes = overviewLanes;
    this.redraw();
  }

  setTheme(): void {
    this.#palette = readPalette(this.surfaces.lanes.parentElement as HTMLElement);
    this.redraw();
  }

  setMarks(selected: Place | null, cursor: Place | null, arrows: [Place, Place][]): void {
    this.#selected = selected;
    this.#cursor = cursor;
    this.#arrows = arrows;
    this.redraw();
  }

  setRange(range: View | null): void {
    this.#range = range;
    this.redraw();
  }

  /** Show a view: at once while a hand moves it, else by a short glide. */
  setView(view: View, glide = false): void {
    const to = clampView(view, this.span);
    if (glide && !this.stillness()) {
      this.#target = { from: this.#view, to, since: performance.now() };
    } else {
      this.#target = null;
      this.#view = to;
      this.listener.onView(to);
    }
    this.redraw();
  }

  zoom(factor: number, at?: number, glide = false): void {
    const from = this.#target?.to ?? this.#view;
    this.setView(zoomed(from, at ?? (from.t0 + from.t1) / 2, factor, this.span), glide);
  }

  pan(share: number, glide = false): void {
    const from = this.#target?.to ?? this.#view;
    this.setView(panned(from, share * spanOf(from), this.span), glide);
  }

  fit(place: { start: number; dur: number }, share = 0.6): void {
    this.setView(around(place.start, place.dur, this.span, share), true);
  }

  whole(): void {
    this.setView(wholeOf(this.span), true);
  }

  /**
   * Move so that a place is in the middle, unless it can be seen already. With `close` also zoom in
   * on one that would be less than a line.
   */
  reveal(place: { start: number; dur: number }, close = false): void {
    const { t0, t1 } = this.#target?.to ?? this.#view;
    const middle = place.start + place.dur / 2;
    const seen = place.start >= t0 && place.start + place.dur <= t1;
    const thin = close && place.dur < (t1 - t0) / 4_000;
    const large = place.dur > t1 - t0;
    if (seen && !thin) return;
    if (thin || large) this.fit(place, thin ? 0.05 : 0.6);
    else this.setView({ t0: middle - (t1 - t0) / 2, t1: middle + (t1 - t0) / 2 }, true);
  }

  timeAt(x: number): number {
    return this.#view.t0 + x * this.pixelNs;
  }

  /** Time at a place of the overview. */
  overviewTime(x: number): number {
    const whole = wholeOf(this.span);
    return whole.t0 + (x / this.#width) * spanOf(whole);
  }

  rowAt(y: number): { shown: ShownRow; y: number } | undefined {
    return this.#rows().find((one) => y >= one.y && y < one.y + one.shown.height);
  }

  /** The mark and row at a place of the lanes. */
  at(x: number, y: number): { shown: ShownRow; mark: Mark | null } | undefined {
    const hit = this.rowAt(y);
    if (!hit) return undefined;
    const { area, events } = hit.shown;
    const index = Math.floor((y - hit.y - eventsTop(hit.shown)) / LANE_HEIGHT);
    const inArea = area !== "" && y - hit.y < areaHeight(hit.shown);
    const lane = inArea ? area : events[Math.min(Math.max(index, 0), events.length - 1)];
    const slab = lane ? this.#slab(lane) : undefined;
    const found = slab ? indexAt(slab, this.timeAt(x), 3 * this.pixelNs) : -1;
    return { shown: hit.shown, mark: slab && found >= 0 ? markAt(slab, found, this.names.texts) : null };
  }

  /** The mark before or after a place in its lane; without a place the first in view. */
  next(lane: string, start: number | null, direction: 1 | -1): Mark | null {
    const slab = this.#slab(lane);
    if (!slab) return null;
    const from = start ?? (direction === 1 ? this.#view.t0 - 1 : this.#view.t1);
    const found = neighbour(slab, from, direction);
    return found < 0 ? null : markAt(slab, found, this.names.texts);
  }

  /** Events and bins in view, row by row, up to a limit. */
  marksInView(limit: number): { shown: ShownRow; mark: Mark }[] {
    const found: { shown: ShownRow; mark: Mark }[] = [];
    for (const shown of this.#layout.rows) {
      for (const lane of shown.events) {
        const slab = this.#slab(lane);
        for (let i = 0; slab && i < slab.start.length && found.length < limit; i += 1) {
          const mark = markAt(slab, i, this.names.texts);
          if (mark.start > this.#view.t1) break;
          if (mark.start + mark.dur >= this.#view.t0) found.push({ shown, mark });
        }
      }
    }
    return found;
  }

  redraw(): void {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame((now) => {
      this.#frame = 0;
      this.#step(now);
      this.#draw();
      if (this.#target) this.redraw();
    });
  }

  #step(now: number): void {
    const target = this.#target;
    if (!target) return;
    const passed = Math.min(Math.max((now - target.since) / ANIMATION_MS, 0), 1);
    const share = 1 - (1 - passed) ** 3;
    const between = (a: number, b: number) => a + (b - a) * share;
    this.#view =
      passed === 1
        ? target.to
        : { t0: between(target.from.t0, target.to.t0), t1: between(target.from.t1, target.to.t1) };
    if (passed < 1) return;
    this.#target = null;
    this.listener.onView(this.#view);
  }

  #slab(lane: string) {
    return this.#feed.cache.best(lane, this.#view, this.pixelNs);
  }

  /** The rows on the screen with their place on it; pinned ones last, so they lie above. */
  #rows(): { shown: ShownRow; y: number }[] {
    const { pinned, rows, pinnedHeight } = this.#layout;
    const scrolled = rows
      .map((shown) => ({ shown, y: shown.y - this.#scroll + pinnedHeight }))
      .filter(({ shown, y }) => y + shown.height > pinnedHeight && y < this.#height);
    return [...pinned.map((shown) => ({ shown, y: shown.y })), ...scrolled];
  }

  #draw(): void {
    const began = performance.now();
    const rows = this.#rows();
    const lanes = this.#context(this.surfaces.lanes, this.#width, this.#height);
    const scene = {
      view: this.#view,
      width: this.#width,
      height: this.#height,
      palette: this.#palette,
      names: this.names,
      slab: (lane: string) => this.#slab(lane),
    };
    const edge = this.#layout.pinnedHeight;
    const scrolled = rows.filter(({ shown }) => !shown.pinned);
    this.#drawer.draw(lanes, { ...scene, rows: scrolled });
    const pinned = rows.filter(({ shown }) => shown.pinned);
    if (pinned.length) {
      const visible = this.#drawer.visible;
      lanes.save();
      lanes.beginPath();
      lanes.rect(0, 0, this.#width, edge);
      lanes.clip();
      this.#drawer.draw(lanes, { ...scene, rows: pinned });
      lanes.restore();
      this.#drawer.visible += visible;
      lanes.fillStyle = this.#palette.muted;
      lanes.fillRect(0, edge - 1, this.#width, 1);
    }
    this.#drawOverlay(rows);
    this.#drawRulers();
    this.#drawMs = performance.now() - began;
    if (!this.#paintedMs && this.#drawer.visible) this.#paintedMs = performance.now();
    const target = this.#target?.to ?? this.#view;
    const shown = rows.flatMap(({ shown }) => (shown.area ? [shown.area, ...shown.events] : shown.events));
    this.#feed.want([...new Set([...shown, ...this.#lanesOfArrows()])], target, this.#pixels, this.span);
    this.#wantOverview();
    this.listener.onDrawn();
  }

  #lanesOfArrows(): string[] {
    const visible = new Set(this.#layout.rows.flatMap((shown) => shown.events));
    return this.#arrows.flat().map((place) => place.lane).filter((lane) => visible.has(lane));
  }

  /** The overview's lanes are asked for once: the whole profile is never out of date. */
  #wantOverview(): void {
    const whole = wholeOf(this.span);
    const missing = this.#overviewLanes.filter(
      (lane) => !this.#feed.cache.has(lane, whole, spanOf(whole) / this.#width),
    );
    if (missing.length && this.#feed.idle) this.#feed.want(missing, whole, this.#width, this.span);
  }

  get #pixels(): number {
    return this.#width;
  }

  #drawOverlay(rows: { shown: ShownRow; y: number }[]): void {
    const context = this.#context(this.surfaces.overlay, this.#width, this.#height);
    context.clearRect(0, 0, this.#width, this.#height);
    if (this.#range) {
      drawRange(context, this.#view, this.#range, this.#width, this.#height, this.#palette);
    }
    if (this.#cursor) this.#outline(context, rows, this.#cursor, this.#palette.accent, 2);
    if (this.#selected) this.#outline(context, rows, this.#selected, this.#palette.text, 2.5);
    this.#arrowsDrawn = 0;
    for (const [from, to] of this.#arrows) {
      const [a, b] = [this.#boxOf(rows, from), this.#boxOf(rows, to)];
      if (!a || !b) continue;
      drawArrow(context, a, b, this.#palette);
      this.#arrowsDrawn += 1;
    }
  }

  #outline(
    context: CanvasRenderingContext2D,
    rows: { shown: ShownRow; y: number }[],
    place: Place,
    colour: string,
    line: number,
  ): void {
    const box = this.#boxOf(rows, place);
    if (box && box.x < this.#width && box.x + box.width > 0) drawBox(context, box, colour, line);
  }

  /** Where an event is on the screen; outside it at its edge, so that arrows still point there. */
  #boxOf(rows: { shown: ShownRow; y: number }[], place: Place): Box | undefined {
    const scale = this.#width / spanOf(this.#view);
    const x0 = Math.min(Math.max((place.start - this.#view.t0) * scale, -12), this.#width + 12);
    const end = (place.start + place.dur - this.#view.t0) * scale;
    const x1 = Math.min(Math.max(end, -12), this.#width + 12);
    const hit =
      rows.find(({ shown }) => shown.events.includes(place.lane)) ?? this.#offScreen(place.lane);
    if (!hit) return undefined;
    const at = hit.shown.events.indexOf(place.lane);
    return {
      x: x0,
      y: hit.y + eventsTop(hit.shown) + at * LANE_HEIGHT,
      width: Math.max(x1 - x0, 1.5),
      height: LANE_HEIGHT - 2,
    };
  }

  #offScreen(lane: string): { shown: ShownRow; y: number } | undefined {
    const shown = this.#layout.rows.find((one) => one.events.includes(lane));
    if (!shown) return undefined;
    return { shown, y: shown.y - this.#scroll + this.#layout.pinnedHeight };
  }

  #drawRulers(): void {
    const { ruler, overview } = this.surfaces;
    const tall = RULER_PX;
    drawRuler(
      this.#context(ruler, this.#width, tall),
      this.#view,
      this.#width,
      tall,
      this.#palette,
      this.steps,
    );
    const whole = wholeOf(this.span);
    const slabs = this.#overviewLanes.flatMap(
      (lane) => this.#feed.cache.best(lane, whole, spanOf(whole) / this.#width) ?? [],
    );
    const high = OVERVIEW_PX;
    const known = this.#ground;
    if (
      known.palette !== this.#palette ||
      known.width !== this.#width ||
      known.slabs.length !== slabs.length ||
      known.slabs.some((slab, at) => slab !== slabs[at])
    ) {
      this.#ground = { ...known, palette: this.#palette, width: this.#width, slabs };
      const context = this.#context(known.canvas, this.#width, high);
      drawOverviewGround(context, whole, this.#width, high, this.#palette, slabs, this.steps);
    }
    const context = this.#context(overview, this.#width, high);
    context.drawImage(known.canvas, 0, 0, this.#width, high);
    drawOverviewWindow(context, whole, this.#view, this.#width, high, this.#palette);
  }

  /** A canvas's context, sized for the screen's pixels and measured in CSS pixels. */
  #context(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d", { alpha: true }) as CanvasRenderingContext2D;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }

  /** Draw frames of a moving view; returns ms of each for the work and until its pixels are there. */
  measure(frames: number): { work: number; drawn: number }[] {
    const context = this.surfaces.lanes.getContext("2d") as CanvasRenderingContext2D;
    const view = this.#view;
    const times = [];
    for (let frame = 0; frame < frames; frame += 1) {
      const by = spanOf(view) * 0.002 * (frame % 20);
      const began = performance.now();
      this.#view = { t0: view.t0 + by, t1: view.t1 + by };
      this.#draw();
      const work = performance.now() - began;
      context.getImageData(0, 0, 1, 1);
      times.push({ work, drawn: performance.now() - began });
    }
    this.#view = view;
    this.redraw();
    return times;
  }
}
