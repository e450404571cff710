// The labelled pages of test/corpus/soft404, and a server that is the host of each: it serves the page, answers to names
// that cannot be there as the page's host does, and serves the other pages of the host that a job would have.
import { readFileSync } from 'node:fs';
import http, { type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { halfOf } from './halves.ts';
import { closeHttp, listenOnLoopback } from './loopback.ts';
import { html } from './test-site.ts';

export interface CorpusPage {
  id: string;
  label: 'soft' | 'fine';
  language: string;
  kind: string;
  set: 'tune' | 'measure';
  /** Path and query asked for, and those of the page that comes in the end. */
  url: string;
  final: string;
  status: 200;
  /** What the host answers to a name that cannot be there: 404, just the same, or another page with 200. */
  sibling: 'honest' | 'same' | 'other';
  /** Other URLs of the host in the job, which give the same page. */
  same?: string[];
  /** How many URLs of the host in the job have pages of their own. */
  distinct?: number;
}

const FOLDER = join(import.meta.dirname, '../corpus/soft404');

export const CORPUS: readonly CorpusPage[] = readFileSync(join(FOLDER, 'manifest.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

export function pageText(id: string): string {
  return readFileSync(join(FOLDER, 'pages', `${id}.html`), 'utf8');
}

/** Which half a page is in. */
export const setOf = halfOf;

/** The URLs of the page's host that a job holds beside it. */
export function others({ same = [], distinct = 0 }: CorpusPage): string[] {
  return [...same, ...Array.from({ length: distinct }, (_, i) => distinctPath(same[0] ?? '/', i))];
}

/** In the folder of the pages that are the same: it can show real ones. */
function distinctPath(beside: string, i: number): string {
  return `${beside.slice(0, beside.lastIndexOf('/') + 1)}real-${i}`;
}

export interface CorpusServer {
  url(page: CorpusPage, path: string): string;
  close(): Promise<void>;
}

const TOPICS = [
  'kettles',
  'lamps',
  'chairs',
  'boots',
  'maps',
  'clocks',
  'ropes',
  'drums',
  'seeds',
  'pens',
  'nets',
  'oars',
];

function realPage(path: string): string {
  const n = Number(/\d+$/.exec(path)?.[0] ?? path.length);
  const topic = TOPICS[n % TOPICS.length]!;
  return html(
    `All about ${topic}, part ${n}`,
    `${topic} ${n}`,
    `Here is what we know of ${topic}, and where to find them. `.repeat(6),
  );
}

export async function startCorpusServer(): Promise<CorpusServer> {
  const by_host = new Map(CORPUS.map((page) => [`${page.id}.test`, { page, text: pageText(page.id) }]));
  const server = http.createServer((request, response) => {
    const path = request.url!;
    const { page, text } = by_host.get(request.headers.host!.replace(/:\d+$/, ''))!;
    if (path === page.final) return send(response, 200, text);
    if (path === page.url || page.same?.includes(path)) return itself();
    if (/\/real-\d+$/.test(path)) return send(response, 200, realPage(path));
    if (path === '/') return send(response, 200, html('Home', 'Welcome', 'The front page of this site. '.repeat(10)));
    if (page.sibling === 'same') return itself();
    if (page.sibling === 'other') return send(response, 200, realPage(path));
    send(response, 404, html('Not Found', 'Not Found'));

    function itself(): void {
      if (page.final !== page.url) redirect(page.final);
      else send(response, 200, text.replaceAll(lastName(page.url), lastName(path)).replaceAll(page.url, path));
    }
    function redirect(to: string): void {
      response.writeHead(302, { location: to, 'content-length': '0' }).end();
    }
  });
  const port = await listenOnLoopback(server);
  return {
    url: (page, path) => `http://${page.id}.test:${port}${path}`,
    close: () => closeHttp(server),
  };
}

/** What an error page repeats of the URL. */
function lastName(path: string): string {
  return decodeURIComponent(
    path
      .replaceAll(/[+_]/g, ' ')
      .replace(/\/$/, '')
      .replace(/^.*[/=]/, ''),
  );
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/html' }).end(text);
}
