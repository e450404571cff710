// The engine checks thousands of URLs at a time.
import type { Outcome } from '../../events/checks.ts';
import { CheckInHand } from './check-in-hand.ts';
import { Lifecycle } from './lifecycle.ts';
import { withoutUser } from './redirects.ts';
import { Suspects } from './suspects.ts';
import type { CheckOptions, Engine, EngineParts, EngineSettings, HostOwnership } from './types.ts';
import { abortError, NotStarted } from './types.ts';
import { Grants } from './wishes.ts';
import { checkerFault, invalidUrl } from './without-answer.ts';

export type { CheckOptions, Engine, EngineParts, EngineSettings, HostOwnership } from './types.ts';
export { NotStarted, Released } from './types.ts';

/**
 * Makes an engine that checks URLs from this process.
 *
 * @example
 * const engine = createEngine({
 *   concurrency: 100, per_host: 2, timeout_ms: 15_000, retries: 2, allow_addresses: [], user_agent: 'docs-check/1.0',
 * });
 * const { verdict, status_code } = await engine.check('https://example.com/');
 * await engine.close();
 */
export function createEngine(settings: EngineSettings, parts: EngineParts = {}): Engine {
  return new CheckerEngine(settings, parts);
}

class CheckerEngine implements Engine {
  readonly #checks: Lifecycle;
  readonly #suspects: Suspects;
  readonly #grants = new Grants();

  constructor(settings: EngineSettings, parts: EngineParts) {
    const { now = () => performance.now() } = parts;
    this.#checks = new Lifecycle(settings, parts, now);
    this.#suspects = new Suspects(now);
  }

  get free(): number {
    return this.#checks.free;
  }

  get backlog(): number {
    return this.#checks.backlog;
  }

  get areNamesAway(): boolean {
    return this.#checks.areNamesAway;
  }

  get running(): number {
    return this.#checks.running;
  }

  get hosts_held(): number {
    return this.#checks.origins.hosts.held;
  }

  check(url: string, options: CheckOptions = {}): Promise<Outcome> {
    const { owner = '', group = '', signal, hold, wishes } = options;
    if (this.#checks.isClosed || signal?.aborted === true) return Promise.reject(abortError());
    if (hold?.aborted === true) return Promise.reject(new NotStarted());
    const parsed = URL.parse(url);
    if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) {
      return Promise.resolve(invalidUrl());
    }
    withoutUser(parsed);
    if (this.#suspects.has(parsed)) return Promise.resolve(checkerFault());
    return new Promise((resolve, reject) => {
      const check = new CheckInHand(parsed, owner, group, 'url', this.#checks.rules, { resolve, reject });
      if (wishes !== undefined) check.granted = this.#grants.of(wishes);
      this.#checks.begin(check, signal, hold);
    });
  }

  suspect(url: string): void {
    this.#suspects.add(url);
  }

  get suspects(): readonly string[] {
    return this.#suspects.all;
  }

  share(ownership: HostOwnership | null): void {
    this.#checks.share(ownership);
  }

  release(isMoved: (host: string) => boolean, now: boolean): number {
    return this.#checks.release(isMoved, now);
  }

  close(): Promise<void> {
    return this.#checks.close();
  }
}
