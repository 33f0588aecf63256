// The tree's rows as they lie below each other: what is open, pinned, filtered out.

export interface TreeRow {
  id: string;
  label: string;
  kind: "group" | "util" | "value" | "events";
  lanes: string[];
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
  pinned: boolean;
  parent: string;
  /** The names of the rows above it, for readers and tables. */
  path: string;
}

export interface Layout {
  pinned: ShownRow[];
  rows: ShownRow[];
  pinnedHeight: number;
  height: number;
}

export interface TreeState {
  /** Rows whose state differs from the server's proposal. */
  toggled: ReadonlySet<string>;
  pinned: ReadonlySet<string>;
  filter: string;
}

export const LANE_HEIGHT = 17;
const EVENTS_PADDING = 7;
const UTIL_HEIGHT = 28;
const GROUP_HEIGHT = 24;

export function heightOf(row: TreeRow): number {
  if (row.kind === "group") return GROUP_HEIGHT;
  if (row.kind === "events") return row.lanes.length * LANE_HEIGHT + EVENTS_PADDING;
  return UTIL_HEIGHT;
}

export function layOut(tree: TreeRow[], state: TreeState): Layout {
  const layout: Layout = { pinned: [], rows: [], pinnedHeight: 0, height: 0 };
  const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);

  const matches = (path: string) => words.every((word) => path.toLowerCase().includes(word));
  const anyMatches = (row: TreeRow, path: string): boolean =>
    matches(path) || row.children.some((child) => anyMatches(child, `${path} ${child.label}`));

  function add(row: TreeRow, level: number, parent: string, path: string): void {
    if (words.length && !anyMatches(row, path)) return;
    const filtered = words.length > 0 && !matches(path);
    const open = filtered || row.open !== state.toggled.has(row.id);
    const shown = { row, level, open, parent, path, height: heightOf(row) };
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

/** The rows to open so that a lane is shown; empty if it is. */
export function pathTo(tree: TreeRow[], lane: string): TreeRow[] {
  for (const row of tree) {
    const below = pathTo(row.children, lane);
    if (below.length) return [row, ...below];
    if (row.kind === "events" && row.lanes.includes(lane)) return [row];
  }
  return [];
}
