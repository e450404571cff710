// The sample website of the demo and of test keys, on loopback, with the faults that links on the web have.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The port that `examples/urls.csv` names. */
export const SAMPLE_PORT = 8099;
/** The private address that has to be allowed for it. */
export const SAMPLE_ADDRESS = '127.0.0.1';
const SLOW_MS = 1500;

const page = (title: string, text: string) =>
  `<!doctype html><html lang="en"><head><title>${title} – Meadow Books</title></head>` +
  `<body><header>Meadow Books</header><main><h1>${title}</h1><p>${text}</p></main><footer>Since 1987</footer></body></html>`;

const PARAGRAPH =
  'We sell second-hand books by post, and have done so since 1987. Every book is described by somebody who has held it ' +
  'in their hands, and sent within two working days, wrapped in paper and a little care.';

const PAGES: Record<string, [title: string, text: string]> = {
  '/': ['Second-hand books by post', PARAGRAPH],
  '/catalogue': ['Catalogue', `${PARAGRAPH} Novels, travel, natural history, cookery and maps.`],
  '/about': ['About us', `${PARAGRAPH} There are four of us, and a dog.`],
  '/delivery': ['Delivery and returns', `${PARAGRAPH} What you do not like you may send back within a month.`],
  '/catalogue?page=2': ['Catalogue, page 2', `${PARAGRAPH} Poetry, plays, letters and diaries.`],
  '/new-arrivals': ['New arrivals', `${PARAGRAPH} This week: three boxes from a schoolmaster in Wells.`],
};

const REDIRECTS: Record<string, string> = {
  '/old-about': '/about',
  '/hop/1': '/hop/2',
  '/hop/2': '/hop/3',
  '/hop/3': '/hop/4',
  '/hop/4': '/hop/5',
  '/hop/5': '/new-arrivals',
  '/loop/a': '/loop/b',
  '/loop/b': '/loop/a',
};

const ERRORS: Record<string, [status: number, title: string]> = {
  '/withdrawn': [410, 'Gone'],
  '/basket': [500, 'Internal Server Error'],
  '/staff': [403, 'Forbidden'],
};

function answer(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? '/';
  const html = (status: number, body: string) =>
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(body);
  const found = PAGES[path];
  if (found) return void html(200, page(...found));
  const location = REDIRECTS[path];
  if (location) return void response.writeHead(301, { location }).end();
  if (path === '/reviews') {
    // As a website behind bot protection answers what it takes for a robot.
    response.writeHead(403, { 'content-type': 'text/html; charset=utf-8', 'cf-mitigated': 'challenge' });
    return void response.end(page('Just a moment...', 'Checking that you are human.'));
  }
  const error = ERRORS[path];
  if (error) return void html(error[0], page(error[1], 'Something is wrong.'));
  // Never answers.
  if (path.startsWith('/asleep/')) return;
  const [is_slow, number = '1'] = /^\/slow(?:\/([1-9]\d{0,2}))?$/.exec(path) ?? [];
  if (is_slow) {
    const slow = page(`Slow but sure, part ${number}`, `${PARAGRAPH} This is box ${number} of very many.`);
    return void setTimeout(() => html(200, slow), SLOW_MS);
  }
  // A soft 404: the shop answers 200 for a book that it does not have.
  if (path.startsWith('/books/')) return void html(200, page('Page not found', 'Sorry, this book is not here.'));
  html(404, page('Not found', 'There is no such page.'));
}

export interface SampleSite {
  port: number;
  url: string;
  close(): Promise<void>;
}

/** Listens on `SAMPLE_PORT`, or on a free port when that is taken. */
export async function openSampleSite(): Promise<SampleSite> {
  return (await openSampleSiteAt(SAMPLE_PORT)) ?? (await openSampleSiteAt(0))!;
}

/** On a free port, for jobs of test keys. All users share it, so that no page of it keeps a check for long. */
export async function openSandboxSite(): Promise<SampleSite> {
  const isLong = (path: string) => path.startsWith('/asleep') || path.startsWith('/slow');
  const site = await openSampleSiteAt(0, (request, response) => {
    if (isLong(request.url ?? '')) request.url = '/absent';
    answer(request, response);
  });
  return site!;
}

/** Null when the port is taken. */
export async function openSampleSiteAt(port: number, answering = answer): Promise<SampleSite | null> {
  const server = createServer(answering);
  try {
    await listen(server, port);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null;
    throw error;
  }
  const { port: own_port } = server.address() as AddressInfo;
  return {
    port: own_port,
    url: `http://${SAMPLE_ADDRESS}:${own_port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, SAMPLE_ADDRESS, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
