// Mouse and touch on the lanes, ruler and overview.

import type { TimelineEngine } from "./engine";
import { spanOf } from "./time";

export interface PointerActions {
  onHover: (x: number, y: number) => void;
  onLeave: () => void;
  onClick: (x: number, y: number) => void;
  onDouble: (x: number, y: number) => void;
  onRange: (t0: number, t1: number, done: boolean) => void;
}

const DRAG_FROM_PX = 4;
const WHEEL_STEP = 1.0016;

/** Listen on the lanes; returns what ends it. */
export function listenLanes(
  target: HTMLElement,
  engine: TimelineEngine,
  actions: PointerActions,
): () => void {
  const stop = new AbortController();
  const options = { signal: stop.signal };
  let drag: { x: number; t: number; pan: boolean; moved: boolean; last: number } | null = null;
  const place = (event: MouseEvent) => {
    const box = target.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  target.addEventListener(
    "wheel",
    (event) => {
      const { x } = place(event);
      const size = event.deltaMode === 1 ? 16 : 1;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        engine.zoom(WHEEL_STEP ** (event.deltaY * size), engine.timeAt(x));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        const by = event.deltaX || event.deltaY;
        engine.pan((by * size) / engine.width);
      }
    },
    { ...options, passive: false },
  );
  target.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button > 1) return;
      const { x } = place(event);
      const pan = event.shiftKey || event.button === 1;
      drag = { x, t: engine.timeAt(x), pan, moved: false, last: x };
      target.setPointerCapture(event.pointerId);
    },
    options,
  );
  target.addEventListener(
    "pointermove",
    (event) => {
      const { x, y } = place(event);
      if (!drag) return actions.onHover(x, y);
      if (Math.abs(x - drag.x) > DRAG_FROM_PX) drag.moved = true;
      if (!drag.moved) return;
      if (drag.pan) engine.pan((drag.last - x) / engine.width);
      else actions.onRange(...ordered(drag.t, engine.timeAt(x)), false);
      drag.last = x;
    },
    options,
  );
  target.addEventListener(
    "pointerup",
    (event) => {
      const { x, y } = place(event);
      const ended = drag;
      drag = null;
      if (!ended) return;
      if (!ended.moved) actions.onClick(x, y);
      else if (!ended.pan) actions.onRange(...ordered(ended.t, engine.timeAt(x)), true);
    },
    options,
  );
  target.addEventListener("pointercancel", () => (drag = null), options);
  target.addEventListener("pointerleave", () => actions.onLeave(), options);
  target.addEventListener(
    "dblclick",
    (event) => {
      const { x, y } = place(event);
      actions.onDouble(x, y);
    },
    options,
  );
  return () => stop.abort();
}

/** Move the window in the overview by a click or a drag. */
export function listenOverview(target: HTMLElement, engine: TimelineEngine): () => void {
  const stop = new AbortController();
  const options = { signal: stop.signal };
  let held = false;
  const centre = (event: PointerEvent) => {
    const t = engine.overviewTime(event.clientX - target.getBoundingClientRect().left);
    const half = spanOf(engine.view) / 2;
    engine.setView({ t0: t - half, t1: t + half });
  };
  target.addEventListener(
    "pointerdown",
    (event) => {
      held = true;
      target.setPointerCapture(event.pointerId);
      centre(event);
    },
    options,
  );
  target.addEventListener("pointermove", (event) => held && centre(event), options);
  target.addEventListener("pointerup", () => (held = false), options);
  target.addEventListener("pointercancel", () => (held = false), options);
  return () => stop.abort();
}

const ordered = (a: number, b: number): [number, number] => (a < b ? [a, b] : [b, a]);
