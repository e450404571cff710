// The metrics of requests, and how any metric is registered: names, help texts and units as Prometheus asks. A metric is read when
// Prometheus scrapes it. No label has a value that a client chooses.
import {
  Counter,
  type CounterConfiguration,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Registry,
} from 'prom-client';

export interface Measured extends Pick<CounterConfiguration<string>, 'name' | 'help'> {
  labelNames?: readonly string[];
}

/** The value of a metric without labels, or the value for each set of labels. */
export type Values = number | readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

const rowsOf = (values: Values) => (typeof values === 'number' ? [[{}, values] as const] : values);

/**
 * Registers a gauge. It calls `read` each time that Prometheus scrapes the metrics. A process that reopens its stores registers again.
 * @example openGauge(registry, { name: 'http_connections', help: 'Open connections.' }, () => sockets.size);
 */
export function openGauge(
  registry: Registry,
  { labelNames = [], ...measured }: Measured,
  read: () => Values | Promise<Values>,
): void {
  registry.removeSingleMetric(measured.name);
  new Gauge({
    ...measured,
    labelNames: [...labelNames],
    registers: [registry],
    async collect() {
      const values = await read();
      // What has no value now has no line: a gauge without labels would be 0.
      this.reset();
      if (labelNames.length === 0) this.remove();
      for (const [labels, value] of rowsOf(values)) this.set(labels, value);
    },
  });
}

/** Registers a counter. It calls `read`, which returns the total, each time that Prometheus scrapes the metrics. */
export function openCounter(registry: Registry, { labelNames = [], ...measured }: Measured, read: () => Values): void {
  registry.removeSingleMetric(measured.name);
  new Counter({
    ...measured,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset();
      if (labelNames.length === 0) this.remove();
      for (const [labels, total] of rowsOf(read())) this.inc(labels, total);
    },
  });
}

/** The library's metrics of the process, but for gauges whose names would make them counters. */
export function openProcessMetrics(registry: Registry, version: string): void {
  if (registry.getSingleMetric('service_build_info')) return;
  collectDefaultMetrics({ register: registry });
  for (const what of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`nodejs_active_${what}`);
    registry.removeSingleMetric(`nodejs_active_${what}_total`);
  }
  const labelNames = ['version'];
  openGauge(registry, { name: 'service_build_info', help: 'The version of the service; always 1.', labelNames }, () => [
    [{ version }, 1],
  ]);
}

/** A client may send any of thirty more. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function openHttpMetrics(registry: Registry) {
  for (const name of ['http_request_duration_seconds', 'http_requests_in_flight', 'http_lasting_streams']) {
    registry.removeSingleMetric(name);
  }
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of requests by route and status.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  const in_flight = new Gauge({
    name: 'http_requests_in_flight',
    help: 'Requests without a complete answer.',
    registers: [registry],
  });
  const open_streams = new Gauge({
    name: 'http_lasting_streams',
    help: 'Open streams of server-sent events.',
    registers: [registry],
  });
  return {
    started: () => in_flight.inc(),
    /** `route` is the path pattern, because each distinct path would be a time series of its own. */
    finished(request: { method: string; route: string; status: number; duration_ms: number }): void {
      const { method, duration_ms, ...labels } = request;
      in_flight.dec();
      durations.observe({ method: METHODS.has(method) ? method : '(other)', ...labels }, duration_ms / 1000);
    },
    /** Adds to the number of open event streams. An open stream does not count as a request in flight. */
    openStreams: (delta: 1 | -1) => open_streams.inc(delta),
  };
}
