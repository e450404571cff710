// Runs another link checker for Node over a list of URLs, in a process of its own, as fast as its options allow.
// node node-peer.ts linkinator|broken-link-checker FOLDER_OF_MODULES LIST CONCURRENCY: prints how many URLs were fine.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [peer, modules, list, concurrency_text] = process.argv.slice(2) as [string, string, string, string];
const concurrency = Number(concurrency_text);
const urls = readFileSync(list, 'utf8').split('\n');
const load = createRequire(join(modules, 'package.json'));

/** broken-link-checker checks the links of pages, so this serves one page with all links. */
async function linkinator(): Promise<number> {
  const { LinkChecker } = await import(pathToFileURL(load.resolve('linkinator')).href);
  const page = `<!doctype html>${urls.map((url) => `<a href="${url}">a</a>`).join('\n')}`;
  const server = http.createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(page);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const path = `http://127.0.0.1:${port}/`;
  const { links } = await new LinkChecker().check({ path, concurrency, recurse: false, retry: false, timeout: 15_000 });
  server.close();
  return (links as { url: string; state: string }[]).filter(({ url, state }) => url !== path && state === 'OK').length;
}

function brokenLinkChecker(): Promise<number> {
  const { UrlChecker } = load('broken-link-checker');
  return new Promise((resolve) => {
    let fine = 0;
    const options = {
      cacheResponses: false,
      filterLevel: 3,
      honorRobotExclusions: false,
      maxSockets: concurrency,
      maxSocketsPerHost: 64,
      rateLimit: 0,
    };
    const checker = new UrlChecker(options, {
      link(result: { broken: boolean }) {
        if (!result.broken) fine++;
      },
      end: () => resolve(fine),
    });
    for (const url of urls) checker.enqueue(url);
  });
}

console.log(await (peer === 'linkinator' ? linkinator() : brokenLinkChecker()));
process.exit();
