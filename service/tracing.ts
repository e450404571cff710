// Opens the traces of a thread, where a receiver is configured: only then their modules are loaded.
import { setTracer } from '../events/tracing.ts';
import { VERSION } from '../roles/version.ts';
import type { Config } from '../settings/config.ts';

/** Returns the function that ends them. */
export async function openTracing(
  { otel_exporter_otlp_endpoint: endpoint, otel_traces_sampler_arg: ratio }: Config,
  roles: readonly string[],
): Promise<() => Promise<void>> {
  if (endpoint === null) return async () => {};
  const { openOpenTelemetry } = await import('../adapters/tracing/opentelemetry.ts');
  const tracing = openOpenTelemetry({ endpoint, ratio, version: VERSION, roles });
  setTracer(tracing);
  return async () => {
    setTracer(null);
    await tracing.close();
  };
}
