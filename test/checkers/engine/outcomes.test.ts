// The outcome of everything that a server may do: the test checks each row over real sockets, and prints the table.
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { createSecureContext } from 'node:tls';
import test from 'ava';
import { createEngine, type EngineSettings } from '../../../checkers/engine/engine.ts';
import type { Lookup } from '../../../checkers/engine/resolver.ts';
import type { Outcome } from '../../../events/checks.ts';
import { ODD_ANSWERS } from '../../support/odd-answers.ts';
import { patientClock, startPatientTimer } from '../../support/patient-clock.ts';
import { startRawServer } from '../../support/raw-server.ts';
import { reset } from '../../support/reset.ts';
import { AUTHORITY, EXPIRED, GOOD, OTHER_HOST, SELF_SIGNED, SERVER_KEY } from '../../support/test-certificates.ts';
import { html, page, startTestSite, to } from '../../support/test-site.ts';
import { ANSWER_SECTIONS } from './answer-cases.ts';
import { CONNECTION_SECTIONS } from './connection-cases.ts';
import type { Case } from './outcome-rows.ts';

const SECTIONS = [...ANSWER_SECTIONS, ...CONNECTION_SECTIONS];
const SETTINGS: Omit<EngineSettings, 'timeout_ms'> = {
  concurrency: 8,
  per_host: 8,
  retries: 2,
  allow_addresses: ['127.0.0.0/8', '::1/128'],
  user_agent: 'test',
};
/** The waits between attempts, and the delays of a busy machine. */
const SLACK_MS = 60_000;

const lookup: Lookup = (name, done) =>
  setImmediate(() =>
    done(name.endsWith('dead.example') ? { code: 'dns_not_found' } : { addresses: ['127.0.0.1'], ttl_s: 60 }),
  );

/** Starts the servers of all rows. Returns their ports by name. */
async function startServers() {
  const ports: Record<string, number> = {};
  const plain = await startTestSite({
    behaviours: {
      ...ODD_ANSWERS,
      '/fine-then-reset': (_request, socket) => {
        page(socket, html('Things', 'Things'));
        socket.removeAllListeners('data');
        socket.once('data', () => reset(socket));
      },
      '/to-tls': (...args) => to(`https://localhost:${ports.tls}/to-plain`)(...args),
      '/to-expired': (...args) => to(`https://localhost:${ports.expired}/`)(...args),
      '/to-nobody': (...args) => to(`http://localhost:${ports.nobody}/`)(...args),
      '/to-dead': to('http://dead.example/'),
    },
  });
  const secure = (certificate: string) =>
    startTestSite({
      certificate,
      behaviours: { '/to-plain': (...args) => to(`http://localhost:${ports.plain}/fine`)(...args) },
    });
  const v6 = await startTestSite({ host: '::1' });
  const [tls, expired, other, self] = await Promise.all([GOOD, EXPIRED, OTHER_HOST, SELF_SIGNED].map(secure));
  const certified = { cert: GOOD, key: SERVER_KEY };
  const greet = (socket: net.Socket): void => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  const others = {
    'hangs-up': await startRawServer((socket) => socket.end()),
    resets: await startRawServer((socket) => reset(socket)),
    'resets-handshake': await startRawServer((socket) => socket.once('data', () => reset(socket))),
    silent: await startRawServer(() => {}),
    old: await startRawServer(greet, {
      ...certified,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    }),
    certificate: await startRawServer(greet, { ...certified, ca: AUTHORITY, requestCert: true }),
    certificate12: await startRawServer(greet, {
      ...certified,
      ca: AUTHORITY,
      requestCert: true,
      maxVersion: 'TLSv1.2',
    }),
    tls12: await startRawServer(greet, { ...certified, maxVersion: 'TLSv1.2' }),
    sni: await startRawServer(greet, {
      // The server has no default certificate, only that of the name.
      SNICallback: (_name, done) => done(null, createSecureContext(certified)),
    }),
    http: await startRawServer((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))),
  };
  const nobody = net.createServer().listen(0, '127.0.0.1');
  await once(nobody, 'listening');
  ports.nobody = (nobody.address() as AddressInfo).port;
  nobody.close();
  const all = { plain, v6, tls: tls!, expired: expired!, other: other!, self: self!, ...others };
  for (const [name, { port }] of Object.entries(all)) ports[name] = port;
  return {
    ports,
    open: () => Object.values(all).reduce((sum, { open }) => sum + open, 0),
    drained: () => Promise.all(Object.values(all).map((server) => server.drained())),
    close: () => Promise.all(Object.values(all).map((server) => server.close())),
  };
}

interface Seen {
  section: string;
  row: Case;
  wanted: Partial<Outcome>;
  outcome: Outcome;
  elapsed_ms: number;
}

test('every kind of answer leads to its outcome within its time', async (t) => {
  const servers = await startServers();
  t.teardown(() => servers.close());
  const now = patientClock(t);
  let hosts = 0;

  async function see(section: string, row: Case): Promise<Seen> {
    const host = `h${++hosts}.example`;
    const fill = (text: string): string =>
      (text.startsWith('/') ? `http://{host}:{plain}${text}` : text).replace(
        /\{([a-z0-9-]+)\}/g,
        (_all, name: string) => (name === 'host' ? host : String(servers.ports[name])),
      );
    const url = row.ask.startsWith('raw:') ? row.ask.slice(4) : fill(row.ask);
    const wanted = { ...row.expected };
    if (typeof wanted.final_url === 'string') wanted.final_url = fill(wanted.final_url);
    if (wanted.meta_refresh !== undefined) wanted.meta_refresh = fill(wanted.meta_refresh);
    if (wanted.redirect_chain !== undefined) wanted.redirect_chain = wanted.redirect_chain.map(fill);

    const parts = { retry_base_ms: 1, ca: AUTHORITY, lookup, now };
    const engine = createEngine({ ...SETTINGS, timeout_ms: row.timeout_ms }, parts);
    const timer = startPatientTimer();
    let outcome = await engine.check(url);
    for (let time = 1; time < row.times; time++) outcome = await engine.check(url);
    const elapsed_ms = timer.elapsed_ms();
    timer.stop();
    await engine.close();
    return { section, row, wanted, outcome, elapsed_ms };
  }

  const seen = await Promise.all(SECTIONS.flatMap(([title, cases]) => cases.map((row) => see(title, row))));

  t.log(table(seen));
  for (const { section, row, wanted, outcome, elapsed_ms } of seen) {
    const what = `${section}: ${row.what}`;
    t.like(outcome, wanted, what);
    t.is(outcome.response_time_ms === null, outcome.status_code === null, what);
    t.is(outcome.final_url === null, outcome.status_code === null, what);
    t.true(elapsed_ms <= row.times * 3 * row.timeout_ms + SLACK_MS, `${what}: ${elapsed_ms} ms`);
  }
  t.true(seen.length >= 200, `${seen.length} cases`);
  await servers.drained();
  t.is(servers.open(), 0);
});

function table(seen: readonly Seen[]): string {
  const lines = [`${seen.length} cases`];
  let section = '';
  for (const { section: title, row, outcome } of seen) {
    if (title !== section) lines.push('', title);
    section = title;
    const { status_code, verdict, error_code, redirect_chain, attempts } = outcome;
    const hops = redirect_chain.length > 0 ? `${redirect_chain.length} hops` : '';
    const tried = attempts > 1 ? `${attempts} attempts` : '';
    const columns = [
      String(status_code ?? '-').padStart(5),
      verdict.padEnd(12),
      (error_code ?? '').padEnd(19),
      hops.padEnd(8),
      tried,
    ];
    lines.push(`  ${row.what.slice(0, 52).padEnd(53)}${columns.join('  ')}`.trimEnd());
  }
  return lines.join('\n');
}
