// Calls to the server. All addresses are relative to the page, so any base path works.

import type {
  CompareData,
  DashboardData,
  HistogramPanel,
  EmptyPanel,
  InfoData,
  LoadedProfile,
  PanelData,
  ProfilesPage,
  QueryAnswer,
  QueryCatalog,
  Settings,
} from "./types";
import type { EventDetails, Meta, RangeAnswer, SearchAnswer } from "../timeline/types";

/** A failed call: what went wrong and what to do about it, both written by the server. */
export class CallError extends Error {
  readonly hint: string;
  readonly status: number;

  constructor(message: string, hint: string, status: number) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

async function ask(path: string, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { credentials: "same-origin", ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new CallError(
      "The server does not answer.",
      "Check that 'tracemill ui' still runs, then try again.",
      0,
    );
  }
}

async function call<T>(path: string, init?: RequestInit): Promise<T> {
  return answerOf<T>(await ask(path, init));
}

async function answerOf<T>(response: Response): Promise<T> {
  let body: unknown;
  try {
    body = await response.json();
  } catch {
    throw new CallError(
      `The server answered with status ${response.status} and no data.`,
      "If it runs behind a proxy, sign in there and try again.",
      response.status,
    );
  }
  if (!response.ok) {
    const { error, hint } = body as { error?: string; hint?: string };
    throw new CallError(error ?? "The call failed.", hint ?? "Try again.", response.status);
  }
  return body as T;
}

export type Query = Record<string, string>;

function withQuery(path: string, query: Query): string {
  const filled = Object.entries(query).filter(([, value]) => value !== "");
  return filled.length ? `${path}?${new URLSearchParams(filled)}` : path;
}

const jobPath = (job: string, what: string) => `api/profiles/${encodeURIComponent(job)}/${what}`;

export const listProfiles = (query: Query, signal?: AbortSignal) =>
  call<ProfilesPage>(withQuery("api/profiles", query), { signal });

export const listLoaded = () => call<{ loaded: LoadedProfile[] }>("api/loaded");

export const load = (job: string) =>
  call<{ loaded: LoadedProfile[] }>(`api/loaded/${encodeURIComponent(job)}`, { method: "POST" });

export const unload = (job: string) =>
  call<{ loaded: LoadedProfile[] }>(`api/loaded/${encodeURIComponent(job)}`, { method: "DELETE" });

export const getDashboard = (job: string, query: Query, signal?: AbortSignal) =>
  call<DashboardData>(withQuery(jobPath(job, "dashboard"), query), { signal });

export const getPanels = (job: string, query: Query, only: string[]) =>
  call<{ panels: PanelData[] }>(
    withQuery(jobPath(job, "dashboard"), { ...query, only: only.join(",") }),
  );

export const getHistogram = (job: string, query: Query, series: string) =>
  call<HistogramPanel | EmptyPanel>(withQuery(jobPath(job, "histogram"), { ...query, series }));

export const getInfo = (job: string) => call<InfoData>(jobPath(job, "info"));

export const getReports = (job: string) => call<{ formats: string[] }>(jobPath(job, "reports"));

export const reportPath = (job: string, format: string, download = false) =>
  withQuery(jobPath(job, "report"), { format, ...(download ? { download: "1" } : {}) });

export const getComparison = (a: string, b: string, signal?: AbortSignal) =>
  call<CompareData>(withQuery("api/compare", { a, b }), { signal });

export const getQueries = () => call<QueryCatalog>("api/queries");

const asJson = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

export const runQuery = (job: string, sql: string, signal?: AbortSignal) =>
  call<QueryAnswer>(jobPath(job, "query"), { ...asJson({ sql }), signal });

export const getSettings = () => call<Settings>("api/settings");

export const setSettings = (settings: { idle_hours: number }) =>
  call<Settings>("api/settings", asJson(settings));

export const getTimeline = (job: string) => call<Meta>(jobPath(job, "timeline/meta"));

export async function getWindow(
  job: string,
  window: { t0: number; t1: number; px: number; lanes: string[] },
  signal: AbortSignal,
): Promise<ArrayBuffer> {
  const { t0, t1, px, lanes } = window;
  const query = { t0: String(t0), t1: String(t1), px: String(px), lanes: lanes.join(",") };
  const response = await ask(withQuery(jobPath(job, "timeline/window"), query), { signal });
  if (!response.ok) await answerOf(response);
  return response.arrayBuffer();
}

export async function getPerfetto(job: string, t0: number, t1: number): Promise<Blob> {
  const query = { t0: String(Math.floor(t0)), t1: String(Math.ceil(t1)) };
  const response = await ask(withQuery(jobPath(job, "timeline/perfetto"), query));
  if (!response.ok) await answerOf(response);
  return response.blob();
}

export const getEvent = (
  job: string,
  event: { lane: string; start: number; dur?: number; name?: string },
  signal?: AbortSignal,
) => {
  const { lane, start, dur, name } = event;
  const query = {
    lane,
    start: String(start),
    dur: dur === undefined ? "" : String(dur),
    name: name && name.length < 1_000 ? name : "",
  };
  return call<EventDetails>(withQuery(jobPath(job, "timeline/event"), query), { signal });
};

export const searchEvents = (job: string, q: string, signal?: AbortSignal) =>
  call<SearchAnswer>(withQuery(jobPath(job, "timeline/search"), { q }), { signal });

export const getRange = (
  job: string,
  range: { t0: number; t1: number; lanes: string[] },
  signal?: AbortSignal,
) => {
  const query = {
    t0: String(Math.floor(range.t0)),
    t1: String(Math.ceil(range.t1)),
    lanes: range.lanes.join(","),
  };
  return call<RangeAnswer>(withQuery(jobPath(job, "timeline/range"), query), { signal });
};
