// What the timeline's endpoints answer in JSON. Times in ns since the start of the profile.

import type { Steps } from "./overlay";
import type { TreeRow } from "./rows";

export interface Meta {
  job_name: string;
  start_ns: string;
  span_ns: number;
  levels: number[];
  tree: TreeRow[];
  steps: Steps;
  /** All steps of the profile: `steps` holds the first of very many. */
  steps_total: number;
  notes: string[];
  partial: boolean;
  simulated: boolean;
}

export interface EventHead {
  lane: string;
  start: number;
  dur: number;
  name: string;
}

export interface Connection extends EventHead {
  relation: string;
}

export interface EventField {
  name: string;
  label: string;
  value: string | number | boolean;
  unit: string;
  about: string;
}

export interface EventDetails extends EventHead {
  table: string;
  fields: EventField[];
  connections: Connection[];
}

export interface SearchAnswer {
  total: number;
  complete: boolean;
  names_total: number;
  names: { name: string; table: string; count: number }[];
  hits: EventHead[];
}

export interface RangeRow {
  name?: string;
  category?: string;
  count: number;
  total_ns: number;
  busy_ns: number;
  max_ns: number;
}

export interface RangeAnswer {
  start: number;
  dur: number;
  exact: boolean;
  lanes: number;
  count: number;
  total_ns: number;
  busy_ns: number;
  names_total: number;
  by_name: RangeRow[];
  by_category: RangeRow[];
}
