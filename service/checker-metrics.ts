// The metrics of the checker of this process.
import type { Registry } from 'prom-client';
import type { Tallies } from '../checkers/tallies.ts';
import { VERDICTS } from '../events/checks.ts';
import { openCounter, openGauge } from '../http/frame/metrics.ts';

export interface CheckerParts {
  tallies: Tallies;
  /** The number of threads that the service has replaced since its start. */
  threads_replaced: () => number;
}

export function openCheckerMetrics(registry: Registry, { tallies, threads_replaced }: CheckerParts): void {
  openCounter(
    registry,
    { name: 'checker_checks_total', help: 'URLs that this process has checked, by verdict.', labelNames: ['verdict'] },
    () => VERDICTS.map((verdict) => [{ verdict }, tallies.read(verdict)]),
  );
  openCounter(
    registry,
    {
      name: 'checker_host_back_offs_total',
      help: 'Times that the checker slowed its requests to a host that throttled it.',
    },
    () => tallies.read('host_back_offs'),
  );
  openGauge(
    registry,
    {
      name: 'checker_hosts_held',
      help: 'Hosts to which the checker may start no request now, because they asked it to wait or a gap has not passed.',
    },
    () => tallies.read('hosts_held'),
  );
  openGauge(registry, { name: 'checker_urls_in_flight', help: 'URLs that the checker requests now.' }, () =>
    tallies.read('urls_in_flight'),
  );
  openGauge(
    registry,
    {
      name: 'checker_urls_waiting',
      help: 'URLs in hand that wait for a slot, for their host or for their next attempt.',
    },
    () => tallies.read('urls_waiting'),
  );
  openCounter(
    registry,
    {
      name: 'checker_threads_replaced_total',
      help: 'Checker threads of this process that the service replaced because they hung or crashed.',
    },
    threads_replaced,
  );
}
