// Sends requests and holds every answer to the documents; what the service gives out is remembered for later requests.
import { type Descriptions, descriptions } from '../support/described.ts';
import { type Answer, answerOf } from '../support/service.ts';
import { kindOf, type Place, type Planned } from './operations.ts';

export interface Session {
  send(planned: Planned, authorization: string | null): Promise<Answer>;
  /** A good request of a chain; `path` with its parameters filled in by `places`. */
  ask(
    method: string,
    path: string,
    as: string,
    more?: {
      places?: Record<string, string>;
      query?: Record<string, string>;
      body?: unknown;
      headers?: Record<string, string>;
    },
  ): Promise<Answer>;
  count: number;
  /** Requests by operation and status. */
  statuses: Map<string, Map<number, number>>;
  /** What was not as it should be. */
  faults: string[];
}

const KEPT = 40;
/** How long the read models of a busy machine may be behind. */
const BEHIND_MS = 280_000;

/** Asks again, as clients do, while the answer is a 503 that says when to. */
async function whenCaughtUp(ask: () => Promise<Response>): Promise<Response> {
  const end = performance.now() + BEHIND_MS;
  for (;;) {
    const response = await ask();
    if (response.status !== 503 || !response.headers.has('retry-after') || performance.now() > end) return response;
    await response.arrayBuffer();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const shown = (body: RequestInit['body']) =>
  (body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body ?? '')).slice(0, 200);

export function openSession(base_url: string): Session {
  const described: Descriptions = descriptions();
  const known = new Map<string, string[]>([
    ['docs', ['page.js', 'page.css', 'favicon-32x32.png']],
    ['blocked', ['example.com', 'shop.example.org']],
    ['checkouts', ['done', 'cancelled']],
    ['user-activity', ['alice', 'bob']],
    // Nobody else's requests depend on what administrators do to this user.
    ['users', ['erin']],
    // The kind of a place is what its path has before it.
    ['{session_id}', ['cancel', 'renew', 'fail']],
  ]);
  const session: Session = { send, ask, count: 0, statuses: new Map(), faults: [] };

  function textOf(place: Place): string {
    if ('text' in place) return place.text;
    const ids = known.get(place.known) ?? [];
    return ids.length === 0 ? 'unknown' : ids[place.nth % ids.length]!;
  }
  /** Ids of what the answer shows, under the kind that paths name them by. */
  function learn(name: string, body: unknown): void {
    const { job_id, id, token, session_id, note_id, items } = (body ?? {}) as Record<string, unknown>;
    const remember = (kind: string, value: unknown) => {
      if (typeof value !== 'string') return;
      const ids = known.get(kind) ?? [];
      if (!ids.includes(value)) known.set(kind, [...ids, value].slice(-KEPT));
    };
    remember('jobs', job_id);
    remember('downloads', job_id);
    remember('share', token);
    remember('growth-notes', note_id);
    remember(name.includes('/portal') ? 'portal' : 'checkout', session_id);
    // Keys are not learnt from lists, which have those that are asked with.
    if (name === 'POST /users/me/api-keys') remember('api-keys', id);
    const own = name.includes('/deliveries') ? 'deliveries' : 'endpoints';
    if (name.includes('/endpoints'))
      for (const one of [{ id }, ...((items as { id: unknown }[]) ?? [])]) remember(own, one.id);
  }

  async function request(name: string, path: string, init: RequestInit, wrong: string | null): Promise<Answer> {
    const [method, template] = name.split(' ') as [string, string];
    session.count++;
    const response = await whenCaughtUp(() => fetch(base_url + path, { ...init, method, redirect: 'manual' }));
    const is_stream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (is_stream) await response.body!.cancel();
    const answer = is_stream
      ? { status: response.status, headers: response.headers, body: '' }
      : await answerOf(response);
    const { status, body } = answer;
    const by_status = session.statuses.get(name) ?? new Map<number, number>();
    session.statuses.set(name, by_status.set(status, (by_status.get(status) ?? 0) + 1));
    const problem = described.problemOf(method, template, answer);
    const what = `${wrong ?? 'good'}: ${method} ${path.slice(0, 300)} ${shown(init.body)}`;
    if (problem !== null) session.faults.push(`${what}\n    ${problem}`);
    // On a busy machine a role may be late to say that it lives.
    else if (status >= 500 && name !== 'GET /readyz') session.faults.push(`${what}\n    is answered with ${status}`);
    else if (wrong !== null && (status < 400 || status > 499)) session.faults.push(`${what}\n    is taken (${status})`);
    else if (template.startsWith('/api/v2') && !template.endsWith('/export') && typeof body === 'string' && body !== '')
      session.faults.push(`${what}\n    is no JSON`);
    return answer;
  }

  async function send({ operation, wrong, places, query, headers, body }: Planned, authorization: string | null) {
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const text = textOf(places[name] ?? { known: kindOf(operation.path, name), nth: 0 });
      // A dot segment would be another path.
      return encodeURIComponent(text === '..' ? '...' : text);
    });
    const search = new URLSearchParams([...query] as [string, string][]).toString();
    const init: RequestInit = { headers: { ...headers, ...(authorization === null ? {} : { authorization }) } };
    if (body && 'file' in body) {
      const form = new FormData();
      form.append('file', new Blob([body.file]), body.filename);
      init.body = form;
    } else if (body) {
      init.body = body.text;
      if (body.content_type !== null) init.headers = { ...init.headers, 'content-type': body.content_type };
    }
    const answer = await request(operation.name, search === '' ? path : `${path}?${search}`, init, wrong);
    // What chains make is left to them.
    if (answer.status < 300 && wrong === null) learn(operation.name, answer.body);
    return answer;
  }

  async function ask(
    method: string,
    path: string,
    as: string,
    { places = {}, query = {}, body, headers = {} }: Parameters<Session['ask']>[3] = {},
  ) {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(places[name]!));
    const search = new URLSearchParams(query).toString();
    const is_json = body !== undefined && !(body instanceof FormData);
    const init: RequestInit = {
      headers: { authorization: as, ...headers, ...(is_json ? { 'content-type': 'application/json' } : {}) },
      ...(body === undefined ? {} : { body: is_json ? JSON.stringify(body) : (body as FormData) }),
    };
    return await request(`${method} ${path}`, search === '' ? filled : `${filled}?${search}`, init, null);
  }
  return session;
}
