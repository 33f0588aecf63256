// What the server answers. Every number and order is computed there; see panels/model.py.

export type Unit = "ns" | "share" | "count" | "bytes" | "bytes/s" | "text" | "step" | "row" | "";
export type Cell = string | number | boolean | null;
export type Row = Record<string, Cell>;

export interface Column {
  key: string;
  label: string;
  unit: Unit;
}

export interface Stat {
  label: string;
  value: Cell;
  unit: Unit;
}

export interface PanelOption {
  name: string;
  label: string;
  type: "choice" | "int";
  value: string | number;
  choices?: { value: string; label: string }[];
  min?: number;
  max?: number;
}

export interface Part {
  label: string;
  value: number;
  share: number;
}

export interface Series {
  name: string;
  x: number[];
  y: number[];
}

interface PanelBase {
  id: string;
  title: string;
  help: string;
  unit: Unit;
  window: string;
  span: number;
  options: PanelOption[];
  stats: Stat[];
}

export interface EmptyPanel extends PanelBase {
  kind: "empty";
  empty: string;
}
export interface SharesPanel extends PanelBase {
  kind: "shares";
  parts: Part[];
  total: number;
}
export interface BarsPanel extends PanelBase {
  kind: "bars";
  rows: Part[];
  total: number;
}
export interface LinesPanel extends PanelBase {
  kind: "lines";
  x_unit: Unit;
  y_max: number | null;
  series: Series[];
}
export interface HistogramPanel extends PanelBase {
  kind: "histogram";
  edges: number[];
  counts: number[];
  count_unit: string;
}
export interface StackedPanel extends PanelBase {
  kind: "stacked";
  parts: { key: string; label: string }[];
  rows: { label: string; values: number[]; total: number }[];
  total_label?: string;
}
export interface TablePanel extends PanelBase {
  kind: "table";
  columns: Column[];
  rows: Row[];
}

export type PanelData =
  | EmptyPanel
  | SharesPanel
  | BarsPanel
  | LinesPanel
  | HistogramPanel
  | StackedPanel
  | TablePanel;

export interface ProfileRow {
  job_name: string;
  state: "recorded" | "processed" | "broken";
  reason: string | null;
  created_ms: number | null;
  status: string | null;
  completeness: string | null;
  source: string | null;
  framework: string | null;
  instance_type: string | null;
  device_name: string | null;
  nodes: number | null;
  gpus: number | null;
  ranks: number | null;
  dur_ns: number | null;
  steps: number | null;
  gpu_utilization: number | null;
  cpu_utilization: number | null;
  findings: number | null;
  simulated: boolean | null;
}

export interface ProfilesPage {
  store: string;
  total: number;
  matched: number;
  offset: number;
  limit: number;
  rows: ProfileRow[];
}

export interface LoadedProfile {
  job_name: string;
  state: "loading" | "loaded" | "failed";
  reason: string | null;
  tables_done: number;
  tables: number;
}

export interface Finding {
  rule: string;
  severity: "high" | "medium" | "low" | "info";
  title: string;
  advice: string;
  at_stake_ns: number;
  gpu_hours: number;
}

export interface DashboardData {
  job_name: string;
  job: Row;
  choices: { nodes: string[]; ranks: number[]; devices: number[] };
  notes: string[];
  findings: { total: number; abstained: number; top: Finding[] };
  panels: PanelData[];
  series: string[];
}

export interface CompareData {
  a: string;
  b: string;
  same: boolean;
  summary: string[];
  notes: string[];
  panels: PanelData[];
  findings: Record<"gained" | "lost" | "kept" | "unknown", Row[]>;
}

export interface NamedQuery {
  name: string;
  question: string;
  sql: string;
}

export interface SqlTable {
  name: string;
  doc: string;
  columns: { name: string; type: string; unit: string; doc: string }[];
}

export interface QueryCatalog {
  queries: NamedQuery[];
  tables: SqlTable[];
  max_rows: number;
  time_limit_s: number;
}

export interface QueryAnswer {
  columns: string[];
  rows: Cell[][];
  truncated: boolean;
  dur_ms: number;
}

export interface Settings {
  idle_hours: number;
  idle_choices: number[];
}

export interface InfoData {
  job_name: string;
  job: Row;
  about: Record<string, string>;
  units: Record<string, string>;
  processes: Row[];
  processes_total: number;
  drops: Row[];
  drops_total: number;
}
