// The page of the OpenAPI documents, from outside: it is whole, loads nothing from elsewhere, and leads nowhere else.
import { request } from 'node:http';
import test from 'ava';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
test.before(async () => {
  service = await startTestService({ PUBLIC_URL: 'https://example.com/checker' });
});
test.after.always(() => service?.stop());

const get = (path: string, headers = {}) => fetch(service.url + path, { headers });

/** As it is written, without what `fetch` makes of dots. */
const rawStatus = (path: string) =>
  new Promise<number>((resolve, reject) => {
    const { hostname, port } = new URL(service.url);
    request({ hostname, port, path }, (response) => resolve(response.resume().statusCode!))
      .on('error', reject)
      .end();
  });

test('the service serves the page and all its files, and nothing from other hosts', async (t) => {
  const page = await get('/docs');
  t.is(page.status, 200);
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8');
  const html = await page.text();
  const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
  t.true(links.length >= 7);
  const types: Record<string, string> = {
    js: 'text/javascript',
    css: 'text/css',
    png: 'image/png',
    json: 'application/json',
  };
  for (const link of links) {
    // Relative, so that they lead to the service under any path of `PUBLIC_URL`.
    t.regex(link, /^[a-z][\w./-]+$/);
    const file = await get(`/${link}`);
    t.is(file.status, 200, link);
    t.is(file.headers.get('content-type')!.split(';')[0], types[link.split('.').at(-1)!], link);
    t.true((await file.arrayBuffer()).byteLength > 0);
  }
});

test('the page shows both documents', async (t) => {
  const script = await (await get('/docs/page.js')).text();
  const urls = [...script.matchAll(/url: at\('([^']+)'\)/g)].map((match) => match[1]!);
  t.deepEqual(urls, ['api/v2/openapi.json', 'openapi.json']);
  t.is((await get('/docs?urls.primaryName=Gateway')).status, 200);
});

test("the page's policy lets only the service's scripts run", async (t) => {
  const policy = (await get('/docs')).headers.get('content-security-policy')!;
  t.regex(policy, /default-src 'none'/);
  t.regex(policy, /script-src 'self';/);
  t.regex(policy, /frame-ancestors 'none'/);
  t.false(/unsafe|http|\*/.test(policy));
  const html = await (await get('/docs')).text();
  t.false(/<script(?![^>]* src=)|\son\w+=|style=/.test(html), 'nothing that the policy would stop');
});

test('browsers cache the files and revalidate them', async (t) => {
  const first = await get('/docs/page.js');
  t.is(first.headers.get('cache-control'), 'public, no-cache');
  const etag = first.headers.get('etag')!;
  const again = await get('/docs/page.js', { 'if-none-match': etag });
  t.deepEqual([again.status, await again.text()], [304, '']);
  t.is((await get('/docs/page.js', { 'if-none-match': '"other"' })).status, 200);
});

test('the service compresses large files for clients that accept it', async (t) => {
  const sizeOf = async (encoding: string) => {
    const response = await get('/docs/swagger-ui-bundle.js', { 'accept-encoding': encoding });
    t.is(response.headers.get('vary'), 'Accept-Encoding');
    return [response.headers.get('content-encoding'), Number(response.headers.get('content-length'))] as const;
  };
  const [[plain, plain_bytes], [gzip, gzip_bytes]] = [await sizeOf('identity'), await sizeOf('gzip')];
  t.deepEqual([plain, gzip], [null, 'gzip']);
  t.true(gzip_bytes < plain_bytes / 3);
});

test('no path reaches a file outside the list', async (t) => {
  const paths = ['../package.json', '..%2fpackage.json', '%2e%2e/package.json', '..%5cpackage.json', 'index.html'];
  const others = ['package.json', 'swagger-initializer.js', 'swagger-ui.js.map', 'page.js/', '__proto__', 'toString'];
  for (const path of [...paths, ...others]) t.is(await rawStatus(`/docs/${path}`), 404, path);
  t.is(await rawStatus('/docs/page.js%00.png'), 422);
});

test('the documents name the path under which clients reach the service', async (t) => {
  for (const path of ['/openapi.json', '/api/v2/openapi.json']) {
    const document = (await (await get(path)).json()) as { servers: { url: string }[] };
    t.is(document.servers[0]!.url, '/checker');
  }
});
