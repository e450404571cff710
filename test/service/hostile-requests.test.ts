// What an outsider may send to every route: parameters, headers and bodies that are the largest, the emptiest and written to do
// harm. Nothing is answered with a 5xx, and nothing takes the thread that answers everybody for over 100 ms of its processor.
import { Agent, request } from 'node:http';
import test from 'ava';
import { watchTurns } from '../../bench/turns.ts';
import { type Operation, openOperations } from '../fuzz/operations.ts';
import { startTestService } from '../support/service.ts';
import { openSite } from '../support/sites.ts';

const MOST_MS = 100;
const ANSWER_MS = 280_000;

interface Hostile {
  what: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** A parameter or a field is wrong: who may not ask is refused before anybody reads it. */
  is_inside?: boolean;
}

const TEXTS: Record<string, string> = {
  empty: '',
  negative: '-1',
  digits: '9'.repeat(7000),
  exponent: '1e308',
  prototype: '__proto__',
  long: 'x'.repeat(7000),
  'half a percent sign': '%',
  'no UTF-8': '%ff%fe',
  NUL: '%00',
  parentheses: '('.repeat(7000),
  commas: '404,'.repeat(1700),
  dots: `a${'.'.repeat(6900)}:x`,
  'path up': '..%2f..%2f..%2fetc%2fpasswd',
  'half a pair': '%ed%a0%80',
};

const JSON_BODIES: Record<string, string> = {
  nothing: '',
  null: 'null',
  'a list': '[]',
  'deep lists': '['.repeat(60_000),
  'deep objects': '{"a":'.repeat(12_000),
  'deep and closed': `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
  'many names': `{${Array.from({ length: 6000 }, (_, n) => `"${n}":1`).join(',')}}`,
  'one name often': `{${Array(8000).fill('"a":1').join(',')}}`,
  'a long number': `{"a":${'9'.repeat(60_000)}}`,
  escapes: `{"a":"${'\\u0000'.repeat(10_000)}"}`,
  prototypes: '{"__proto__":{"a":1},"constructor":{"prototype":{}}}',
};

const VALUES = ['x'.repeat(2000), `a${'.'.repeat(2000)}:x`, 'İ'.repeat(2000), `http://${'a.'.repeat(1000)}`, '', '@'];
/** What stands for a field, as JSON; the lists are megabytes long, and made once. */
const FIELD_VALUES: [what: string, json: string][] = VALUES.flatMap((value, n) => [
  [`${n}`, JSON.stringify(value)],
  [`${n}, a list`, JSON.stringify(Array(1000).fill(value))],
]);

/** By the names of its fields: hostile values of each, and lists of a thousand such. */
function fieldBodies({ body }: Operation): Record<string, string> {
  const fields = Object.keys((body!.schema as { properties?: object }).properties ?? {});
  const bodies = fields.flatMap((field) =>
    FIELD_VALUES.map(([what, json]) => [`${field} ${what}`, `{${JSON.stringify(field)}:${json}}`]),
  );
  return Object.fromEntries(bodies);
}

const HEADERS: Record<string, Record<string, string>> = {
  'a bearer of dots': { authorization: `Bearer ${'.'.repeat(7000)}` },
  'a token without a signature': {
    authorization: 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJyb290Iiwicm9sZSI6ImFkbWluIn0.',
  },
  'an odd bearer': { authorization: `Bearer uc_live_${'A'.repeat(7000)}` },
  'many tags': { 'if-none-match': ',"'.repeat(3500) },
  'many addresses': { 'x-forwarded-for': '1.1.1.1,'.repeat(900) },
  'a position': { 'x-log-position': '9'.repeat(64) },
  'an event': { 'last-event-id': '9'.repeat(7000) },
  'an idempotency key': { 'idempotency-key': '"'.repeat(7000) },
  types: {
    accept: 'text/*;q=0.1,'.repeat(500),
    'accept-encoding': 'gzip;q=0,'.repeat(700),
    range: 'bytes=0-,'.repeat(10),
  },
  'a content type': { 'content-type': `multipart/form-data; boundary=${'-'.repeat(7000)}` },
  'a request id': { 'x-request-id': '<script>'.repeat(800) },
};

/** Reads go to the job of who asks; what changes something names none that is there. */
function attacksOn(operation: Operation, job_id: string): Hostile[] {
  const { path, parameters, method, body } = operation;
  const own = method === 'GET' && path.includes('/jobs/') ? job_id : 'x';
  const filled = (text = own) => path.replaceAll(/\{\w+\}/g, text);
  const attacks: Hostile[] = Object.entries(HEADERS).map(([what, headers]) => ({ what, path: filled(), headers }));
  for (const [what, text] of Object.entries(TEXTS)) {
    if (path.includes('{') && text !== '') attacks.push({ what: `path: ${what}`, path: filled(text) });
    for (const { name } of parameters.filter((one) => one.in === 'query'))
      attacks.push({ what: `${name}: ${what}`, path: `${filled()}?${name}=${text}`, is_inside: true });
  }
  attacks.push({ what: 'many parameters', path: `${filled()}?${'a&'.repeat(3000)}` });
  if (method === 'GET') return attacks;
  const headers = { 'content-type': 'application/json' };
  for (const [what, text] of Object.entries(JSON_BODIES)) attacks.push({ what, path: filled(), headers, body: text });
  for (const [what, text] of Object.entries(body?.kind === 'json' ? fieldBodies(operation) : {}))
    attacks.push({ what, path: filled(), headers, body: text, is_inside: true });
  const form = { 'content-type': 'multipart/form-data; boundary=x' };
  const parts = ['--x\r\n'.repeat(10_000), `--x\r\n${'a: b\r\n'.repeat(8000)}\r\n`, `--x--${'-'.repeat(60_000)}`, ''];
  for (const part of parts)
    attacks.push({ what: `form ${part.slice(0, 8)}`, path: filled(), headers: form, body: part });
  return attacks;
}

test('no hostile request gets a 5xx or blocks the thread', async (t) => {
  t.timeout(300_000);
  const service = await startTestService({ SIGNUP_CREDITS: '2' });
  const site = await openSite();
  t.teardown(() => Promise.all([service.stop(), site.close()]));
  const [eve, key] = [await service.client('eve'), await service.keyHolder('eve')];
  const { job_id } = (await eve.upload(`${site.url}/a\n${site.url}/status/404\n`)).body;
  await eve.ended(job_id);
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());

  /** Milliseconds of the processor that this thread took in the longest turn of its event loop until the answer. */
  async function ask(method: string, { path, headers = {}, body }: Hostile, token: string | null) {
    const turns = watchTurns();
    const status = await new Promise<number>((resolve) => {
      const sent = { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers };
      const asked = request(service.url + path, { method, agent, headers: sent, timeout: ANSWER_MS }, (response) => {
        if (response.headers['content-type']?.startsWith('text/event-stream')) response.destroy();
        response.resume().on('close', () => resolve(response.statusCode!));
      });
      asked.on('error', () => resolve(0)).on('timeout', () => asked.destroy());
      asked.end(body);
    });
    return { status, turn_ms: turns.longest() };
  }

  const faults: string[] = [];
  let count = 0;
  for (const operation of openOperations()) {
    for (const hostile of attacksOn(operation, job_id)) {
      const signed_in = operation.security === 'api_key' ? key.token : eve.token;
      const nobody = hostile.is_inside && operation.security !== null ? [] : [null];
      for (const token of [...nobody, signed_in]) {
        count++;
        const asked = () => ask(operation.method, hostile, token);
        let { status, turn_ms } = await asked();
        for (let again = 0; again < 2 && turn_ms > MOST_MS; again++)
          turn_ms = Math.min(turn_ms, (await asked()).turn_ms);
        const of = `${operation.name} (${hostile.what}${token === null ? '' : ', signed in'})`;
        if (status === 0 || status >= 500) faults.push(`${of}: ${status}`);
        if (turn_ms > MOST_MS) faults.push(`${of}: ${Math.round(turn_ms)} ms`);
      }
    }
  }
  t.log(`${count} requests`);
  t.deepEqual(faults, []);
  t.is((await fetch(`${service.url}/healthz`)).status, 200);
});
