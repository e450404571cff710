// Traces of a whole service, sent to a receiver of OTLP: one trace leads from a request over commands, appends and projections to the
// batches of a checker. A receiver that is away changes nothing.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import type { RecordedEvent } from '../../events/event-store.ts';
import { freePort } from '../support/free-port.ts';
import { startTestService } from '../support/service.ts';
import { openSite } from '../support/sites.ts';
import { openFolderLog } from '../support/stores.ts';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  links?: { traceId: string }[];
  /** Of OTLP: 2 is a server's, 3 a client's. */
  kind: number;
  /** Of OTLP: 2 is an error. */
  status: { code: number };
  attributes: { key: string; value: { stringValue?: string; intValue?: number | string } }[];
}

async function startReceiver(t: ExecutionContext) {
  const spans: Span[] = [];
  const server = http.createServer(async (request, response) => {
    const body = (await json(request)) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
    if (request.url === '/v1/traces')
      spans.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
    response.setHeader('content-type', 'application/json').end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => void server.close());
  return { spans, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const URLS = 30;

/** Runs a job of a caller that sends a traceparent; returns what the log has of it. */
async function runJob(t: ExecutionContext, endpoint: string) {
  const site = await openSite();
  const service = await startTestService({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
  let events: RecordedEvent[] = [];
  try {
    const client = await service.keyHolder('alice');
    const urls = Array.from({ length: URLS }, (_, n) => `${site.url}/${n}`);
    const traceparent = `00-${TRACE}-${CALLER}-01`;
    const { status, body } = await client.ask('POST', '/api/v2/jobs', { urls }, { traceparent });
    t.is(status, 201);
    t.like(await client.ended(body.job_id ?? body.id), { status: 'completed', completed_urls: URLS });
  } finally {
    await service.stop(async (data_dir) => {
      const log = await openFolderLog(data_dir);
      events = await Array.fromAsync(log.readAll());
      await log.close();
    });
    await site.close();
  }
  return events;
}

test.serial('one trace leads from a request to the batches of a checker and to the read models', async (t) => {
  const { spans, url } = await startReceiver(t);
  const events = await runJob(t, url);
  const of_trace = spans.filter(({ traceId }) => traceId === TRACE);
  const named = (name: string) => of_trace.filter((span) => span.name === name);
  const [request] = named('POST /api/v2/jobs');
  t.is(request?.parentSpanId, CALLER);
  const [command] = named('command job');
  t.is(command?.parentSpanId, request!.spanId);
  const append = named('append job').find(({ parentSpanId }) => parentSpanId === command!.spanId);
  t.truthy(append);
  t.true(named('check batch').length > 0);
  const ids = new Set(of_trace.map(({ spanId }) => spanId));
  for (const span of named('check batch')) t.true(ids.has(span.parentSpanId!));
  // The events say which step appended them, and the read models follow from these.
  const of_job = events.filter(({ type }) => ['UrlsListed', 'JobCreated', 'URLChecked'].includes(type));
  t.true(of_job.length >= 3);
  for (const { type, metadata } of of_job) t.is(metadata.traceparent?.split('-')[1], TRACE, type);
  const linked = spans
    .filter(({ name }) => name === 'project')
    .flatMap(({ links = [], traceId }) => [traceId, ...links.map((link) => link.traceId)]);
  t.true(linked.includes(TRACE));
  // No span has what a client may not have sent to others: URLs, tokens, addresses.
  t.notRegex(JSON.stringify(spans), /uc_live_|eyJ|127\.0\.0\.1:\d+\/\d|alice@/);
});

test.serial('a receiver that is away costs spans and nothing else', async (t) => {
  const events = await runJob(t, `http://127.0.0.1:${await freePort()}`);
  t.is(events.filter(({ type }) => type === 'JobCompleted').length, 1);
});

test.serial('a caller decides neither that its request is traced, nor that it is not', async (t) => {
  for (const [ratio, flag] of [
    ['0', '01'],
    ['1', '00'],
  ] as const) {
    const { spans, url } = await startReceiver(t);
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_SAMPLER_ARG: ratio, ROLES: 'http' };
    const service = await startTestService(settings);
    try {
      // The id of the lowest value would be kept at any ratio.
      for (const trace of [TRACE, `${'0'.repeat(31)}1`]) {
        const headers = { traceparent: `00-${trace}-${CALLER}-${flag}` };
        t.is((await fetch(`${service.url}/credits/packages`, { headers })).status, 200);
      }
    } finally {
      await service.stop();
    }
    t.is(spans.filter(({ name }) => name === 'GET /credits/packages').length, ratio === '0' ? 0 : 2);
  }
});

test.serial('what a caller sends as a traceparent is no more than that', async (t) => {
  const { spans, url } = await startReceiver(t);
  const service = await startTestService({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ROLES: 'http,projector' });
  try {
    const hostile = [
      'x'.repeat(8_000),
      '00-0-0-0',
      `00-${'0'.repeat(32)}-${CALLER}-01`,
      `ff-${TRACE}-${CALLER}-01`,
      'é',
    ];
    for (const traceparent of hostile)
      t.is((await fetch(`${service.url}/healthz`, { headers: { traceparent } })).status, 200);
    t.is((await fetch(`${service.url}/a/b/c?d=secret-of-a-path`)).status, 404);
  } finally {
    await service.stop();
  }
  t.true(spans.length > 5);
  t.false(spans.some(({ traceId }) => traceId === TRACE));
  t.true(spans.some(({ name, attributes }) => name === 'GET' && !attributes.some(({ key }) => key === 'http.route')));
  t.notRegex(JSON.stringify(spans), /secret-of-a-path|xxxxx/);
});

test.serial(
  'a 5xx is an error of its span and of the forwarded request that caused it, and a 4xx is none',
  async (t) => {
    const { spans, url } = await startReceiver(t);
    const away = await freePort();
    const SERVICE_URLS = `billing=http://127.0.0.1:${away}`;
    const service = await startTestService({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ROLES: 'http', SERVICE_URLS });
    try {
      t.is((await fetch(`${service.url}/credits/packages`)).status, 502);
      t.is((await fetch(`${service.url}/users/me`)).status, 401);
    } finally {
      await service.stop();
    }
    const of = ({ attributes }: Span, name: string) => {
      const value = attributes.find(({ key }) => key === name)?.value;
      return value?.stringValue ?? value?.intValue;
    };
    const server = spans.find(({ name }) => name === 'GET /credits/packages')!;
    t.like(server, { kind: 2, status: { code: 2 } });
    t.deepEqual([of(server, 'http.response.status_code'), of(server, 'error.type')], [502, '502']);
    const client = spans.find(({ parentSpanId }) => parentSpanId === server.spanId)!;
    t.like(client, { kind: 3, name: 'GET', status: { code: 2 } });
    t.deepEqual([of(client, 'server.port'), of(client, 'error.type')], [away, 'bad_gateway']);
    const refused = spans.find(({ name }) => name === 'GET /users/me')!;
    t.like(refused, { status: { code: 0 } });
    t.is(of(refused, 'error.type'), undefined);
  },
);
