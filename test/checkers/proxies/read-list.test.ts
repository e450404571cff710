// The list of proxies as providers send it: its forms, and providers that are away, slow, huge or send something else.
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { MAX_LIST_BYTES, parseProxyList, readProxyList } from '../../../checkers/proxies/read-list.ts';
import { MAX_PROXIES } from '../../../events/proxy-list.ts';

const NAMED = [
  { host: 'a.example', port: 8080, username: 'user', password: 'pa:ss' },
  { host: '2001:db8::1', port: 1080, username: '', password: '' },
];
const OBJECTS = [
  { protocol: 'http', host: 'a.example', port: 8080, username: 'user', password: 'pa:ss' },
  { scheme: 'SOCKS5', ip: '2001:db8::1', port: '1080' },
];
const FORMS: Readonly<Record<string, string>> = {
  'lines of URLs': '# ours\r\nhttp://user:pa%3Ass@a.example:8080\r\n\r\nsocks5://[2001:db8::1]:1080\n',
  'lines of host, port, user and password': 'a.example:8080:user:pa:ss\nsocks5://[2001:db8::1]',
  'an array of objects': JSON.stringify(OBJECTS),
  'an object with an array': JSON.stringify({ count: 2, next: null, results: OBJECTS }),
  'an array of texts': JSON.stringify(['a.example:8080:user:pa:ss', { url: 'socks5://[2001:db8::1]' }]),
};
for (const [form, text] of Object.entries(FORMS)) {
  test(`a list may be ${form}`, (t) => {
    const { proxies, bad, skipped } = parseProxyList(text);
    t.deepEqual(
      proxies.map(({ host, port, username, password }) => ({ host, port, username, password })),
      NAMED,
    );
    t.deepEqual([bad, skipped], [[], 0]);
  });
}

test('entries of JSON that name no proxy are counted, whatever they are', (t) => {
  const odd = [
    null,
    1,
    true,
    [],
    {},
    { host: 'a b', port: 1 },
    { host: 'a', port: 'x' },
    { host: ['a'] },
    'http://a/b',
  ];
  const { proxies, bad, skipped } = parseProxyList(JSON.stringify([...odd, 'b.example:80', 'http://b.example']));
  t.deepEqual(
    proxies.map(({ address }) => address),
    ['http://b.example:80'],
  );
  t.deepEqual(bad, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  t.is(skipped, 10);
});

test('a line of user, password, host and port is no proxy, so that no password becomes an address', (t) => {
  const { proxies, bad } = parseProxyList(
    'alice:12345:proxy.example:8080\nbob:777:10.0.0.1:3128\nlocalhost:3128:a.b:secret',
  );
  t.deepEqual([proxies.map(({ address }) => address), bad], [['http://localhost:3128'], [1, 2]]);
});

test('of a longer list the first thousand proxies are used', (t) => {
  const text = Array.from({ length: MAX_PROXIES + 500 }, (_, n) => `p${n}.example:80`).join('\n');
  const { proxies, bad, skipped } = parseProxyList(text);
  t.deepEqual([proxies.length, bad, skipped], [MAX_PROXIES, [], 500]);
});

/** A provider that answers by `answer`; its URL holds a key, which no error may show. */
async function provider(t: ExecutionContext, answer: http.RequestListener): Promise<string> {
  const server = http.createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://key:secret@127.0.0.1:${(server.address() as AddressInfo).port}/list?token=secret`;
}

const HUGE = Buffer.alloc(64 * 1024, 'http://secret.example\n');
const WRONG: readonly (readonly [string, http.RequestListener, RegExp])[] = [
  ['refuses', (_, response) => response.writeHead(403).end('secret'), /^its provider answers with status 403$/],
  ['hangs up', (_, response) => response.destroy(), /^it cannot be read \(UND_ERR_SOCKET\)$/],
  ['says nothing', () => {}, /^it did not come within 0.2 s$/],
  ['stops in the middle', (_, response) => response.write('http://a.example\n'), /^it did not come within 0.2 s$/],
  [
    'sends without an end',
    (_, response) => {
      const more = () => void (response.destroyed || response.write(HUGE, more));
      more();
    },
    /^it has more than 1048576 bytes$/,
  ],
  ['sends a page', (_, response) => response.end('<html>\n<body>secret</body>\n</html>'), /^it names no proxy$/],
  ['sends bytes', (_, response) => response.end(Buffer.alloc(9999, '\u0000\ufffd\n')), /^it names no proxy$/],
  ['sends nothing', (_, response) => response.end(), /^it names no proxy$/],
  ['sends an empty array', (_, response) => response.end('[]'), /^it names no proxy$/],
  ['sends nested arrays', (_, response) => response.end('['.repeat(500_000)), /^it names no proxy$/],
  [
    'sends prose with an address',
    (_, response) => response.end('Quota used.\nCall\nsecret.example:80\nsoon'),
    /^it is no list of proxies: most of its entries name none$/,
  ],
];
for (const [what, answer, reason] of WRONG) {
  test(`a provider that ${what} gives no list, and a reason without secrets`, async (t) => {
    const url = await provider(t, answer);
    const limit_ms = reason.source.includes('within') ? 200 : 10_000;
    const error = await t.throwsAsync(readProxyList(url, undefined, { limit_ms }), { code: 'proxy_list_unreadable' });
    t.regex(error!.message, reason);
    t.notRegex(error!.message, /secret|key/);
  });
}

test('a provider may redirect, to a private address too', async (t) => {
  const moved = new URL(await provider(t, (_, response) => response.end('http://a.example:8080\n')));
  const url = await provider(t, (_, response) =>
    response.writeHead(302, { location: `http://localhost:${moved.port}/list` }).end(),
  );
  t.like(await readProxyList(url), { proxies: [{ host: 'a.example', port: 8080 }] });
});

test('a provider that is away gives no list', async (t) => {
  const gone = http.createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  gone.close();
  await once(gone, 'close');
  await t.throwsAsync(readProxyList(`http://key:secret@127.0.0.1:${port}/`), {
    message: 'it cannot be read (ECONNREFUSED)',
  });
});

test('a list may be a file, and anything else under its name is refused', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'proxies-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'proxies.txt');
  const url = pathToFileURL(path).href;
  await t.throwsAsync(readProxyList(url), { message: 'it cannot be read (ENOENT)' });
  await writeFile(path, 'a.example:80\n');
  t.is((await readProxyList(url)).proxies.length, 1);
  await writeFile(path, 'a.example:80\n'.repeat(MAX_LIST_BYTES / 10));
  await t.throwsAsync(readProxyList(url), { message: 'it has more than 1048576 bytes' });
  await t.throwsAsync(readProxyList(pathToFileURL(folder).href), { message: 'it is no file' });
});
