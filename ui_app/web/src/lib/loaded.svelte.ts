// The loaded profiles, asked for again while one of them is still loading.

import * as api from "./api";
import type { LoadedProfile } from "./types";

const POLL_MS = 400;

class Loaded {
  profiles = $state.raw<LoadedProfile[]>([]);
  known = $state(false);
  #timer: ReturnType<typeof setTimeout> | undefined;

  get(job: string): LoadedProfile | undefined {
    return this.profiles.find((profile) => profile.job_name === job);
  }

  async refresh(): Promise<void> {
    this.#take(await api.listLoaded());
  }

  async load(job: string): Promise<void> {
    this.#take(await api.load(job));
  }

  async unload(job: string): Promise<void> {
    this.#take(await api.unload(job));
  }

  /** Load a profile unless it is loaded, and wait until it is. */
  async ensure(job: string): Promise<void> {
    await this.refresh();
    if (!this.get(job)) await this.load(job);
    while (this.get(job)?.state === "loading") {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      await this.refresh();
    }
    const profile = this.get(job);
    if (profile?.state === "failed") {
      throw new api.CallError(profile.reason ?? "Loading failed.", "Unload it and try again.", 409);
    }
    if (!profile) {
      throw new api.CallError("The profile was unloaded.", "Load it again from Profiles.", 409);
    }
  }

  #take(answer: { loaded: LoadedProfile[] }): void {
    this.profiles = answer.loaded;
    this.known = true;
    clearTimeout(this.#timer);
    if (answer.loaded.some((profile) => profile.state === "loading")) {
      this.#timer = setTimeout(() => void this.refresh().catch(() => undefined), POLL_MS);
    }
  }
}

export const loaded = new Loaded();
