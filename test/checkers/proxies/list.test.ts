// The list of proxies: the form of its lines, and its updates.

import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { type ProxyEndpoint, parseProxy } from '../../../checkers/proxies/endpoint.ts';
import { followProxyList } from '../../../checkers/proxies/list.ts';
import { parseProxyList } from '../../../checkers/proxies/read-list.ts';
import { silent } from '../../support/stores.ts';

const LINES: [line: string, expected: Partial<ProxyEndpoint> | null][] = [
  ['http://proxy.example:8080', { protocol: 'http:', host: 'proxy.example', port: 8080, username: '', password: '' }],
  [
    'http://user:pa%3Ass@proxy.example:8080',
    { username: 'user', password: 'pa:ss', address: 'http://proxy.example:8080' },
  ],
  ['https://proxy.example', { protocol: 'https:', port: 443 }],
  ['http://proxy.example/', { port: 80 }],
  [
    'socks5://user-session-1:x@Gate.example',
    { protocol: 'socks5:', host: 'gate.example', port: 1080, username: 'user-session-1' },
  ],
  ['socks5://[2001:db8::1]:1080', { host: '2001:db8::1', address: 'socks5://[2001:db8::1]:1080' }],
  ['http://10.0.0.1:3128', { host: '10.0.0.1' }],
  ['proxy.example:8080', null],
  ['ftp://proxy.example', null],
  ['socks4://proxy.example', null],
  ['http://proxy.example/path', null],
  ['http://proxy.example:0', null],
  ['http://:8080', null],
  ['socks5://:1080', null],
  ['http://us%er@proxy.example', null],
  [`socks5://${'u'.repeat(256)}@proxy.example`, null],
];

for (const [line, expected] of LINES) {
  test(`the line ${line.slice(0, 60)} names ${expected === null ? 'no proxy' : 'a proxy'}`, (t) => {
    const parsed = parseProxy(line);
    if (expected === null) t.is(parsed, null);
    else t.like(parsed, expected);
  });
}

test('a proxy keeps its id when its password changes, and has another id for another user', (t) => {
  const id = (line: string) => parseProxy(line)!.id;
  t.is(id('http://a:1@proxy.example:80'), id('http://a:2@proxy.example'));
  t.not(id('http://a:1@proxy.example'), id('http://b:1@proxy.example'));
  t.not(id('http://a:1@proxy.example:81'), id('http://a:1@proxy.example'));
});

test('the parser skips comments and empty lines, counts a proxy once, and names bad lines by number', (t) => {
  const text = '# ours\r\n\r\nhttp://a.example\r\nnonsense\r\nhttp://a.example:80\r\n  socks5://b.example  \r\n';
  const { proxies, bad } = parseProxyList(text);
  t.deepEqual(
    proxies.map(({ address }) => address),
    ['http://a.example:80', 'socks5://b.example:1080'],
  );
  t.deepEqual(bad, [4]);
});

test('the service fetches the list again, and a failed, empty or too long list changes nothing', async (t) => {
  const answers: ((response: http.ServerResponse) => void)[] = [
    (response) => response.end('http://first.example'),
    (response) => response.writeHead(500).end('http://wrong.example'),
    (response) => response.end('# none'),
    (response) => response.end(`http://wrong.example\n${'#'.repeat(2 * 1024 * 1024)}`),
    (response) => response.destroy(),
    (response) => response.end('http://second.example'),
  ];
  const asked: (string | undefined)[] = [];
  const server = http.createServer((request, response) => {
    asked.push(request.headers.authorization);
    answers[Math.min(asked.length, answers.length) - 1]!(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const stop = new AbortController();
  const listed: string[] = [];
  await followProxyList({
    url: `http://key:s%3Aecret@127.0.0.1:${(server.address() as AddressInfo).port}/list`,
    listed({ proxies }) {
      listed.push(...proxies.map(({ host }) => host));
      if (listed.includes('second.example')) stop.abort();
    },
    logger: silent,
    signal: stop.signal,
    refresh_ms: 1,
    first_retry_ms: 1,
  });
  t.deepEqual(listed, ['first.example', 'second.example']);
  t.is(asked.length, answers.length);
  t.is(asked[0], `Basic ${Buffer.from('key:s:ecret').toString('base64')}`);
});

test('the list is read at once when somebody asks, also while the log was away before', async (t) => {
  let reads = 0;
  const server = http.createServer((_request, response) => response.end(`http://p${reads++}.example`));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const stop = new AbortController();
  const looks = [Promise.resolve(false), Promise.reject(new Error('away')), Promise.resolve(true)];
  for (const look of looks) look.catch(() => {});
  const listed: string[] = [];
  await followProxyList({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    listed({ proxies }) {
      listed.push(...proxies.map(({ host }) => host));
      if (listed.length === 2) stop.abort();
    },
    wasAsked: () => looks.shift()!,
    logger: silent,
    signal: stop.signal,
    refresh_ms: 3_600_000,
    look_ms: 1,
  });
  t.deepEqual(listed, ['p0.example', 'p1.example']);
  t.is(looks.length, 0);
});
