// Websites on loopback for tests of the whole service: they count what they are asked.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeHttp, listenOnLoopback } from './loopback.ts';

export interface Site {
  url: string;
  /** How often each path was asked for. */
  asked: Map<string, number>;
  close(): Promise<void>;
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const PAGE =
  '<!doctype html><title>A page</title><h1>A page</h1><p>There is enough on this page for nobody to think that it is empty: words, and more words after them.</p>';

export const page: Answer = (request, response) => {
  const status = Number(/^\/status\/(\d{3})/.exec(request.url ?? '')?.[1] ?? 200);
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(PAGE);
};

/** Answers 200 and a page, or the status of `/status/NNN`. */
export async function openSite(answer: Answer = page): Promise<Site> {
  const asked = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    asked.set(path, (asked.get(path) ?? 0) + 1);
    answer(request, response);
  });
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    close: () => closeHttp(server),
  };
}
