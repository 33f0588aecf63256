// The tree's rows as they lie below each other: what is open, pinned, hidden, filtered out.

export interface TreeRow {
  id: string;
  label: string;
  kind: "group" | "util" | "value" | "events";
  lanes: string[];
  /** Event lanes that the row shows while it is closed. */
  summary?: string[];
  open: boolean;
  children: TreeRow[];
  unit?: string;
  scale?: number;
}

export interface ShownRow {
  row: TreeRow;
  level: number;
  /** Top edge: within the pinned rows, or within the scrolled ones. */
  y: number;
  height: number;
  open: boolean;
  /** Whether it can be opened and closed. */
  opens: boolean;
  pinned: boolean;
  parent: string;
  /** The names of the rows above it, for readers and tables. */
  path: string;
  /** Lane that is drawn as an area; empty if none is. */
  area: string;
  /** Event lanes, one below the other, under the area. */
  events: string[];
}

export interface Layout {
  pinned: ShownRow[];
  rows: ShownRow[];
  pinnedHeight: number;
  height: number;
  /** Rows that are hidden by choice. */
  hidden: number;
}

export interface TreeState {
  /** Rows whose state differs from the server's proposal. */
  toggled: ReadonlySet<string>;
  pinned: ReadonlySet<string>;
  hidden: ReadonlySet<string>;
  filter: string;
}

export const LANE_HEIGHT = 17;
const EVENTS_PADDING = 7;
const AREA_HEIGHT = 28;
const GROUP_HEIGHT = 24;
/** Of deep stacks a closed row shows the outermost levels. */
const FOLDED_LANES = 4;

export const opens = (row: TreeRow): boolean =>
  row.children.length > 0 || row.lanes.length > FOLDED_LANES + 1;

/** Where a row's event lanes begin below its top. */
export const eventsTop = (shown: ShownRow): number => (shown.area ? AREA_HEIGHT - 3 : 0) + 3;

export const areaHeight = (shown: ShownRow): number => (shown.area ? AREA_HEIGHT : 0);

function parts(row: TreeRow, open: boolean): { area: string; events: string[]; height: number } {
  const area = row.kind === "util" || row.kind === "value" ? (row.lanes[0] ?? "") : "";
  let events: string[] = [];
  if (row.kind !== "events") events = open ? [] : (row.summary ?? []);
  else events = open || !opens(row) ? row.lanes : row.lanes.slice(0, FOLDED_LANES);
  let height = area ? AREA_HEIGHT : 0;
  if (events.length) height += events.length * LANE_HEIGHT + (area ? 4 : EVENTS_PADDING);
  return { area, events, height: height || GROUP_HEIGHT };
}

/** The words of a filter, "quoted words" as one. */
const wordsOf = (filter: string): string[] =>
  [...filter.toLowerCase().matchAll(/"([^"]+)"|[^\s"]+/g)].map((match) => match[1] ?? match[0]);

export function layOut(tree: TreeRow[], state: TreeState): Layout {
  const layout: Layout = { pinned: [], rows: [], pinnedHeight: 0, height: 0, hidden: 0 };
  const words = wordsOf(state.filter);

  const matches = (path: string) => words.every((word) => path.toLowerCase().includes(word));
  const anyMatches = (row: TreeRow, path: string): boolean =>
    matches(path) || row.children.some((child) => anyMatches(child, `${path} › ${child.label}`));

  function add(row: TreeRow, level: number, parent: string, path: string): void {
    if (words.length && !anyMatches(row, path)) return;
    if (state.hidden.has(row.id)) {
      layout.hidden += 1;
      return;
    }
    const filtered = words.length > 0 && !matches(path);
    const open = filtered || row.open !== state.toggled.has(row.id);
    const shown = { row, level, open, opens: opens(row), parent, path, ...parts(row, open) };
    if (state.pinned.has(row.id)) {
      layout.pinned.push({ ...shown, y: layout.pinnedHeight, pinned: true });
      layout.pinnedHeight += shown.height;
    }
    layout.rows.push({ ...shown, y: layout.height, pinned: false });
    layout.height += shown.height;
    if (!open) return;
    for (const child of row.children) add(child, level + 1, row.id, `${path} › ${child.label}`);
  }

  for (const row of tree) add(row, 1, "", row.label);
  return layout;
}

/** All rows of a tree, from top to bottom. */
export function* allRows(tree: TreeRow[]): Generator<TreeRow> {
  for (const row of tree) {
    yield row;
    yield* allRows(row.children);
  }
}

/** The rows above a lane's row, and that row last; empty if no row shows it. */
export function pathTo(tree: TreeRow[], lane: string): TreeRow[] {
  for (const row of tree) {
    const below = pathTo(row.children, lane);
    if (below.length) return [row, ...below];
    if (row.kind === "events" && row.lanes.includes(lane)) return [row];
  }
  return [];
}

/** Which rows of a path must change their state so that the lane at its end is shown. */
export function toOpen(path: TreeRow[], lane: string, toggled: ReadonlySet<string>): TreeRow[] {
  const last = path.at(-1);
  const folded = last && opens(last) && last.lanes.indexOf(lane) >= FOLDED_LANES ? [last] : [];
  return [...path.slice(0, -1), ...folded].filter((row) => row.open === toggled.has(row.id));
}
