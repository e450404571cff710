// Traces by OpenTelemetry's SDK, sent as OTLP over HTTP. A receiver that is away costs spans and nothing else. Decision 90 says why.
import { context, ROOT_CONTEXT, type SpanContext, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Step, Tracer } from '../../events/tracing.ts';

export interface OpenTelemetryOptions {
  /** The receiver's base URL: spans go to `/v1/traces` of it. */
  endpoint: string;
  /** The share of traces that are kept, from 0 to 1. */
  ratio: number;
  version: string;
  /** The roles of this thread. */
  roles: readonly string[];
}

export interface OpenTelemetry extends Tracer {
  /** Sends what is left, for at most 2 s. */
  close(): Promise<void>;
}

const EXPORT_MS = 5_000;
const CLOSE_MS = 2_000;
/** More causes of one step are not linked. */
const MAX_LINKS = 32;
const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER };

/**
 * A request is kept or not by this service alone: what a caller sends as a traceparent names a trace, and neither its flag nor its id, which
 * the caller chose, decides. Every later step does as the request that caused it.
 */
function openSampler(ratio: number): Sampler {
  const of_steps = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  return {
    shouldSample(within, trace_id, name, kind, attributes, links) {
      if (kind !== SpanKind.SERVER) return of_steps.shouldSample(within, trace_id, name, kind, attributes, links);
      return { decision: Math.random() < ratio ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD };
    },
    toString: () => `requests and steps, ${ratio}`,
  };
}

/** For one thread, which has one at a time. */
export function openOpenTelemetry({ endpoint, ratio, version, roles }: OpenTelemetryOptions): OpenTelemetry {
  const own = { 'service.name': 'url-checker', 'service.version': version, 'url_checker.roles': roles.join() };
  const provider = new TracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
    resource: defaultResource()
      .merge(resourceFromAttributes(own))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: openSampler(ratio),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({
          url: `${endpoint}${endpoint.endsWith('/') ? '' : '/'}v1/traces`,
          timeoutMillis: EXPORT_MS,
        }),
        scheduledDelayMillis: 1_000,
      }),
    ],
  });
  const contexts = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(contexts);
  const w3c = new W3CTraceContextPropagator();
  const tracer = provider.getTracer('url-checker', version);

  const getter = {
    get: (carrier: string, key: string) => (key === 'traceparent' ? carrier : undefined),
    keys: () => [],
  };
  function contextOf(traceparent: string): SpanContext | undefined {
    return trace.getSpanContext(w3c.extract(ROOT_CONTEXT, traceparent, getter));
  }
  function placeOf({ causes }: Step) {
    if (causes === undefined) return { parent: context.active(), links: [] };
    const of_causes = [...new Set(causes)].slice(0, MAX_LINKS).flatMap((cause) => contextOf(cause) ?? []);
    const [first] = of_causes;
    if (of_causes.length === 1) return { parent: trace.setSpanContext(ROOT_CONTEXT, first!), links: [] };
    return { parent: ROOT_CONTEXT, links: of_causes.map((each) => ({ context: each })) };
  }
  return {
    run(step, work) {
      const { parent, links } = placeOf(step);
      const { name, kind, attributes = {} } = step;
      const span = tracer.startSpan(name, { kind: kind ? KINDS[kind] : SpanKind.INTERNAL, attributes, links }, parent);
      const fail = (type: string) => {
        span.setAttribute('error.type', type);
        span.setStatus({ code: SpanStatusCode.ERROR });
      };
      return context.with(trace.setSpan(parent, span), async () => {
        try {
          return await work({
            rename: (next) => void span.updateName(next),
            set: (more) => void span.setAttributes(more),
            fail,
          });
        } catch (error) {
          // Without the message, which may have what a client sent.
          const { name: type = 'Error', code } = error as { name?: string; code?: unknown };
          fail(typeof code === 'string' ? code : type);
          throw error;
        } finally {
          span.end();
        }
      });
    },
    traceparent() {
      const carrier: { traceparent?: string } = {};
      w3c.inject(context.active(), carrier, {
        set: (to, key, value) => void (key === 'traceparent' && (to.traceparent = value)),
      });
      return carrier.traceparent;
    },
    async close() {
      const timer = Promise.withResolvers<void>();
      const ends = setTimeout(timer.resolve, CLOSE_MS);
      await Promise.race([provider.shutdown().catch(() => {}), timer.promise]);
      clearTimeout(ends);
      context.disable();
    },
  };
}
