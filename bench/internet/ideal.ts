// The schedule that no checker can beat: any number of requests at once, ten on a host, and so much processor time a URL of one core.
// A silent host is asked three times for each URL, until ten have failed.
import type { HostKind, World } from './world.ts';
import { requestMs } from './world.ts';

const TIMES = 3;
const GIVEN_UP_AFTER = 10;
const RETRY_MS = 560;

/** What an attempt takes where no page comes. */
const FAILURE_MS: Partial<Record<HostKind, number>> = {
  ...{ silent: 15_000, dropped: 10_000, no_dns: 5000 },
  ...{ refused: 100, no_name: 100, servfail: 100 },
};

export interface Ideal {
  /** Seconds until so much of the list has its outcome. */
  p50: number;
  p90: number;
  p99: number;
  end: number;
}

export function idealSchedule({ pages }: World, order: readonly number[], per_host: number, cpu_ms: number): Ideal {
  const done: number[] = [];
  /** When each of a host's places is free again. */
  const places = new Map<string, number[]>();
  const failed = new Map<string, number[]>();
  for (const [n, index] of order.entries()) {
    const { host, bytes, is_moved } = pages[index]!;
    const free = places.get(host.name) ?? Array(per_host).fill(0);
    places.set(host.name, free);
    const place = free.indexOf(Math.min(...free));
    const began = Math.max(free[place]!, (n + 1) * cpu_ms);
    const failures = failed.get(host.name) ?? [];
    failed.set(host.name, failures);
    const attempt_ms = FAILURE_MS[host.kind];
    const is_tried = host.kind === 'silent' || host.kind === 'dropped';
    const given_up_at = failures[GIVEN_UP_AFTER - 1] ?? Number.POSITIVE_INFINITY;
    if (began >= given_up_at) {
      done.push(began);
      continue;
    }
    let takes_ms = attempt_ms ?? requestMs(host, bytes) * (is_moved || host.kind === 'redirect' ? 2 : 1);
    if (is_tried) {
      failures.push(began + takes_ms);
      takes_ms = TIMES * takes_ms + RETRY_MS * (TIMES - 1);
    }
    free[place] = began + takes_ms;
    done.push(Math.min(free[place]!, Math.max(given_up_at, began)));
  }
  done.sort((a, b) => a - b);
  const at = (share: number) => done[Math.min(done.length - 1, Math.floor(share * done.length))]! / 1000;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), end: at(1) };
}
