// Where the URLs of the torture lead and where its webhooks go: it knows what it answered, to whom and when.
import { hash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Verdict } from '../../events/checks.ts';
import { fairNow } from './fair-clock.ts';
import type { Random } from './random.ts';

const HOSTS = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'];
const SLOW_MS = 300;
/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.9:9';

const VERDICTS = {
  ok: 'ok',
  slow: 'ok',
  moved: 'redirected',
  missing: 'broken',
  fault: 'broken',
  refused: 'unreachable',
} as const satisfies Record<string, Verdict>;
type Kind = keyof typeof VERDICTS;
const KINDS: readonly Kind[] = ['ok', 'ok', 'ok', 'ok', 'slow', 'moved', 'missing', 'fault', 'refused'];

/** So begins the name of an endpoint whose receiver wants no more. */
export const GONE = 'gone-';

/** `path` begins with the tag that its submitter gave the job. */
const kindOf = (url: string) => new URL(url).pathname.split('/')[2] as Kind;
const tagOf = (url: string) => new URL(url, 'http://target').pathname.split('/')[1]!;

export interface Notice {
  endpoint: string;
  job_id: string;
  status_code: number;
}

export interface Target {
  /** So many different URLs under a tag. */
  urls(tag: string, count: number, random: Random): string[];
  /** What is to be found of it. */
  verdictOf(url: string): Verdict;
  tagOf(url: string): string;
  /** How often it was asked for; a URL that leads nowhere was never. */
  asked(url: string): number;
  leadsHere(url: string): boolean;
  /** When each request under the tag came, by the fair clock. */
  requests(tag: string): readonly number[];
  total(): number;
  hook(endpoint: string): string;
  /** Every receiver answers 500. */
  receivers_fail: boolean;
  notices: Notice[];
  close(): Promise<void>;
}

/** Each page is about something else; what has no number is not there. */
function page(path: string, response: ServerResponse): void {
  if (!/\/\d+$/.test(path)) return void response.writeHead(404).end('no');
  const words = Array.from({ length: 40 }, (_, n) =>
    hash('sha1', `${path} ${n}`, 'hex').replace(/\d/g, '').slice(0, 8),
  );
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  response.end(`<!doctype html><title>${words.slice(0, 3).join(' ')}</title><p>${words.join(' ')}</p>`);
}

export async function openTarget(random: Random): Promise<Target> {
  const asked = new Map<string, number>();
  const requests = new Map<string, number[]>();
  const notices: Notice[] = [];
  let total = 0;

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '/';
    const [, tag, kind] = path.split('/');
    if (tag === 'hook') return void hear(request, response, kind!);
    total++;
    const whole = `http://${request.headers.host}${path}`;
    asked.set(whole, (asked.get(whole) ?? 0) + 1);
    const times = requests.get(tag!) ?? [];
    times.push(fairNow());
    requests.set(tag!, times);
    if (kind === 'slow') setTimeout(page, SLOW_MS, path, response);
    else if (kind === 'moved') response.writeHead(302, { location: `/${tag}/ok/${path.split('/')[3]}000` }).end();
    else if (kind === 'missing' || kind === 'fault') response.writeHead(kind === 'fault' ? 500 : 404).end('no');
    else page(path, response);
  }

  /** Some events are refused the first time: they come again. */
  async function hear(request: IncomingMessage, response: ServerResponse, endpoint: string): Promise<void> {
    try {
      const { data } = JSON.parse(await text(request)) as { data: { job_id: string } };
      const known = notices.some((notice) => notice.endpoint === endpoint && notice.job_id === data.job_id);
      const fails = target.receivers_fail || (!known && random.chance(0.2));
      const status_code = endpoint.startsWith(GONE) ? 410 : fails ? 500 : 200;
      notices.push({ endpoint, job_id: data.job_id, status_code });
      response.writeHead(status_code).end();
    } catch {
      response.destroy(); // its sender was killed
    }
  }

  const servers: Server[] = [];
  for (const host of HOSTS) {
    const server = createServer(answer);
    server.keepAliveTimeout = 60_000;
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    servers.push(server);
  }
  const bases = servers.map((server, n) => `http://${HOSTS[n]}:${(server.address() as { port: number }).port}`);

  const target: Target = {
    receivers_fail: false,
    urls(tag, count, drawn) {
      return Array.from({ length: count }, (_, n) => {
        const kind = drawn.pick(KINDS);
        return `${kind === 'refused' ? NOWHERE : drawn.pick(bases)}/${tag}/${kind}/${n}`;
      });
    },
    verdictOf: (url) => VERDICTS[kindOf(url)],
    tagOf,
    asked: (url) => asked.get(url) ?? 0,
    leadsHere: (url) => !url.startsWith(NOWHERE),
    requests: (tag) => requests.get(tag) ?? [],
    total: () => total,
    hook: (endpoint) => `${bases[0]}/hook/${endpoint}`,
    notices,
    async close() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
  return target;
}
