// The whole view stands in the hash, so a link restores it and no path reaches the server.

export const PAGES = ["profiles", "dashboard", "timeline", "compare", "report", "query", "info", "settings"] as const;
export type Page = (typeof PAGES)[number];
export type Params = Record<string, string>;

interface Route {
  page: Page;
  params: Params;
}

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const page = PAGES.find((name) => name === path) ?? "profiles";
  return { page, params: Object.fromEntries(new URLSearchParams(query)) };
}

export function hrefOf(page: Page, params: Params = {}): string {
  const filled = Object.entries(params).filter(([, value]) => value !== "");
  return `#/${page}${filled.length ? `?${new URLSearchParams(filled)}` : ""}`;
}

class Router {
  route = $state.raw<Route>(parse(location.hash));

  constructor() {
    window.addEventListener("hashchange", () => (this.route = parse(location.hash)));
  }

  get page(): Page {
    return this.route.page;
  }

  get params(): Params {
    return this.route.params;
  }

  /** Name of the profile that is shown; empty if none is. */
  get profile(): string {
    return this.route.params["p"] ?? "";
  }

  go(page: Page, params: Params = {}): void {
    location.hash = hrefOf(page, params);
  }

  /** Change parameters of the current page without a new entry in the history. */
  set(changes: Params): void {
    const params = { ...this.route.params, ...changes };
    history.replaceState(null, "", hrefOf(this.route.page, params));
    this.route = parse(location.hash);
  }
}

export const router = new Router();
