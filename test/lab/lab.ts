// The laboratory: servers that behave as people have reported it, the checker, and Chromium beside it. It prints a row for each case.
// npm run lab [-- WORD …], where a case's name holds one of the words.
// As root it has a network of its own, with the ports 80, 443 and 53; else each case has a port of loopback.
// It fails when an outcome is not the expected one, or when Chromium shows another status and nobody chose that.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEngine } from '../../checkers/engine/engine.ts';
import { DEFAULT_SETTINGS } from '../../checkers/engine/limits.ts';
import type { Lookup } from '../../checkers/engine/resolver.ts';
import { startDnsServer } from '../support/dns-server.ts';
import type { LabCase } from './case.ts';
import { ANSWERS } from './cases/answers.ts';
import { CONNECTIONS } from './cases/connections.ts';
import { KIN } from './cases/kin.ts';
import { PAGES } from './cases/pages.ts';
import { REDIRECTS } from './cases/redirects.ts';
import { REPORTED } from './cases/reported.ts';
import { TARGETS } from './cases/targets.ts';
import { TRACKED } from './cases/trackers.ts';
import { type Certificates, makeCertificates } from './certificates.ts';
import { startOracle } from './chromium.ts';
import { isInNamespace, runInNamespace } from './namespace.ts';
import { type CaseServer, serveCase } from './server.ts';
import { differs, table, told } from './table.ts';

const AT_ONCE = 4;

async function main(words: readonly string[]): Promise<number> {
  const cases = [
    ...REDIRECTS,
    ...ANSWERS,
    ...CONNECTIONS,
    ...PAGES,
    ...REPORTED,
    ...KIN,
    ...TRACKED,
    ...TARGETS,
  ].filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  const folder = await mkdtemp(join(tmpdir(), 'lab-'));
  try {
    const certificates = await makeCertificates(folder);
    const places = await Promise.all(cases.map((lab, index) => open(lab, index, certificates)));
    const ours = await check(places, certificates);
    for (const { server } of places) server.forget();
    const theirs = await show(places, folder);
    const rows = places.map(({ lab }, i) => ({ lab, ours: ours[i]!, theirs: theirs?.[i] ?? null }));
    console.log(table(rows));
    return rows.some(differs) ? 1 : 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Place {
  lab: LabCase;
  /** Its address: in a namespace one of its own, which its name server tells. */
  at: string;
  url: string;
  server: CaseServer;
}

async function open(lab: LabCase, index: number, certificates: Certificates): Promise<Place> {
  const is_secure = lab.is_secure === true;
  const usual = is_secure ? 443 : 80;
  const at = isInNamespace() ? `127.0.${1 + (index >> 7)}.${1 + (index & 127)}` : '127.0.0.1';
  const server = await serveCase(lab, at, isInNamespace() ? usual : 0, certificates);
  const port = server.port === usual ? '' : `:${server.port}`;
  return { lab, at, server, url: `http${is_secure ? 's' : ''}://${lab.name}.lab.test${port}${lab.path ?? '/page'}` };
}

const onLoopback: Lookup = (_name, done) => done({ addresses: ['127.0.0.1'], ttl_s: 60 });

async function check(places: readonly Place[], { authority }: Certificates): Promise<string[]> {
  const zone = Object.fromEntries(places.map(({ lab, at }) => [`${lab.name}.lab.test`, { a: [at] }]));
  if (isInNamespace()) await startDnsServer(zone, 53);
  const settings = { ...DEFAULT_SETTINGS, allow_addresses: ['127.0.0.0/8'], timeout_ms: 6000, retries: 1 };
  const parts = { ca: authority, retry_base_ms: 10, ...(isInNamespace() ? {} : { lookup: onLoopback }) };
  const engine = createEngine(settings, parts);
  const outcomes = await Promise.all(places.map(({ url }) => engine.check(url, { group: url })));
  await engine.close();
  return outcomes.map(told);
}

/** What Chromium shows of each; null without one. */
async function show(places: readonly Place[], folder: string): Promise<string[] | null> {
  const oracle = await startOracle(folder, isInNamespace() ? null : 'MAP *.lab.test 127.0.0.1');
  if (oracle === null) return null;
  const shown: string[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let i = next++; i < places.length; i = next++) shown[i] = await oracle.open(places[i]!.url);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await oracle.close();
  return shown;
}

process.exit(runInNamespace() ?? (await main(process.argv.slice(2))));
