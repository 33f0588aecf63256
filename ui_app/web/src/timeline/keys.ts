// Keys of the timeline. Single letters can be switched off (WCAG 2.1.4); they never act while one
// writes.

export type Action =
  | "zoom-in" | "zoom-out" | "left" | "right" | "far-left" | "far-right" | "lane-up" | "lane-down"
  | "fit" | "mark" | "search" | "launch" | "run" | "whole" | "clear" | "help" | "next" | "previous"
  | "open" | "next-step" | "previous-step";

export const KEYS: { keys: string; text: string }[] = [
  { keys: "W S", text: "zoom in, out" },
  { keys: "A D, ← →", text: "move left, right; with Shift farther" },
  { keys: "↑ ↓", text: "event cursor: lane above, below" },
  { keys: ", .", text: "event cursor: previous, next event in the lane" },
  { keys: "Enter", text: "select the event under the cursor" },
  { keys: "F", text: "fit the selection or range" },
  { keys: "M", text: "mark the selected event, or what is in view, as a range" },
  { keys: "[ ]", text: "follow the arrow to the launch, to the run" },
  { keys: "P N", text: "previous, next step" },
  { keys: "0, Home", text: "the whole profile" },
  { keys: "/", text: "search; step_41 goes to that step; Enter, Shift + Enter: hits" },
  { keys: "Esc", text: "clear search, range, selection" },
  { keys: "?", text: "this help" },
];

const LETTERS: Record<string, Action> = {
  w: "zoom-in", s: "zoom-out", a: "left", d: "right", f: "fit", m: "mark", "/": "search",
  "[": "launch", "]": "run", "0": "whole", "?": "help", ".": "next", ",": "previous",
  n: "next-step", p: "previous-step",
};
const OTHERS: Record<string, Action> = {
  ArrowLeft: "left", ArrowRight: "right", ArrowUp: "lane-up", ArrowDown: "lane-down",
  Home: "whole", Escape: "clear", Enter: "open",
};
const STORED = "tracemill-single-keys";

export function singleKeys(): boolean {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

export function setSingleKeys(on: boolean): void {
  try {
    if (on) localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, "off");
  } catch {
    // Without storage the choice lasts until the page is left.
  }
}

/** What a key means; `inLanes` tells whether the lanes have the focus. */
export function actionOf(event: KeyboardEvent, inLanes: boolean, letters: boolean): Action | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  const target = event.target as HTMLElement | null;
  if (target?.closest("input, select, textarea, dialog[open]")) return undefined;
  const other = OTHERS[event.key];
  if (other === "clear") return other;
  if (other) {
    if (!inLanes) return undefined;
    if (event.shiftKey && other === "left") return "far-left";
    if (event.shiftKey && other === "right") return "far-right";
    return other;
  }
  if (!letters) return undefined;
  const action = LETTERS[event.key.toLowerCase()];
  if (event.shiftKey && action === "left") return "far-left";
  if (event.shiftKey && action === "right") return "far-right";
  return action;
}
