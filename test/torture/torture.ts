// Tortures the service in several shapes at once: random clients, a stranger, random faults, then quiet, and everything is held to a model.
//   TORTURE_SECONDS=600 TORTURE_SEED=1 TORTURE_SHAPES=embedded,apart,servers npm run torture
// TORTURE_FAULTS names the kinds of faults that are drawn, with commas; TORTURE_MEASURED=1 lets each come alone, and the table has its seconds.
// TORTURE_KEEP=1 keeps the data, as a failure does, in SHAPE/kept of the folder: such as for compare-copies.ts.
// The exit code is 1 when anything does not hold, with a line for each violation; `--tap` prints the sentences as TAP.
// The shape "servers", and "clusters" with three nodes each, which runs when it is named, want MONGOD_BIN and NATS_SERVER_BIN; a disk is filled where `mount -t tmpfs` is possible.
import { randomInt } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { openTestClient } from '../support/service.ts';
import { holds } from './alerts.ts';
import { openCanary } from './canary.ts';
import { type Client, openClient, type Watch } from './clients.ts';
import { expireResults } from './expiry.ts';
import { fairNow } from './fair-clock.ts';
import { type Measured, openFaults } from './faults.ts';
import { openLogView } from './log-view.ts';
import { CHECKS, checkStores, type Evidence, type Findings, unsettled } from './model.ts';
import { openPost } from './post.ts';
import { openRandom, type Random } from './random.ts';
import { answers, openShape, SHAPES, type ShapeName } from './shapes.ts';
import { bother, lookAtHttp, readSteadily } from './stranger.ts';
import { openTarget } from './target.ts';

const USERS = 4;
/** With nothing new in the log for so long, what is not settled is stuck. Times are of the fair clock. */
const STUCK_MS = 30_000;
const SETTLED_WITHIN_MS = 120_000;
/** A lease lasts for 6 s, and whoever waits for a store looks every 5 s. */
const READY_MS = 30_000;
const LOOK_MS = 500;
const EXPORTS = 12;

interface Report {
  name: ShapeName;
  counts: Map<string, number>;
  measured: readonly Measured[];
  /** By sentence. */
  findings: Map<string, Findings>;
  folder: string;
}

async function torture(name: ShapeName, seconds: number, random: Random, folder: string): Promise<Report> {
  const findings = new Map<string, Findings>();
  const about = (sentence: string): Findings => {
    const found = findings.get(sentence) ?? { broken: [], looked: 0 };
    findings.set(sentence, found);
    return found;
  };
  const counts = new Map<string, number>();
  const alone = about('no process ends by itself');
  const through = about('the torture comes to its end');
  through.looked++;
  let current = () => 'nothing';
  let measured: readonly Measured[] = [];
  const post = await openPost();
  const shape = await openShape(name, folder, post.url, (how) => alone.broken.push(`${how} (with ${current()})`)).catch(
    (error: Error) => void through.broken.push(error.message),
  );
  if (!shape) return { name, counts, measured, findings, folder };
  try {
    const target = await openTarget(random.fork('target'));
    const log = await shape.openLog();
    const wrong = about('no answer is an error of the service, and each is as it is described');
    const watch: Watch = {
      violated: (what) => wrong.broken.push(what),
      current: () => current(),
      count(what) {
        if (what === 'requests') wrong.looked++;
        counts.set(what, (counts.get(what) ?? 0) + 1);
      },
    };
    const tokenOf = (user_id: string, is_admin: boolean) =>
      issueLocalToken(shape.data_dir, { user_id, email: `${user_id}@example.com`, is_admin, hours: 24 * 30 });
    const clients: Client[] = [];
    for (let n = 0; n < USERS; n++) {
      const user_id = `user${n}`;
      const token = await tokenOf(user_id, false);
      clients.push(await openClient(shape, target, random.fork(user_id), { user_id, token }, log, watch));
    }
    const admin = openTestClient(shape.url, await tokenOf('admin', true));
    const rebuild = async (projection: string) => {
      const asking = admin.ask('POST', `/admin/projections/${projection}/rebuild`, {});
      // It may be killed, frozen or without its stores.
      const answer = await asking.catch(() => null);
      if (answer && ![202, 404, 503].includes(answer.status)) watch.violated(`a rebuild was answered ${answer.status}`);
    };
    const canary = openCanary(shape, target, await tokenOf('canary', false), random.fork('canary'));
    const late = about('after each fault all is as before within the time that is promised');
    const untold = about('an operator is told of each fault that lasts, by /readyz and by an alert');
    const faults = openFaults(
      {
        ...{ shape, target, post, rebuild },
        random: random.fork('faults'),
        violated: (what) => about('every role stops cleanly').broken.push(what),
      },
      canary,
      {
        late: (what) => late.broken.push(what),
        untold: (what) => untold.broken.push(what),
        measured: ({ kind, server, back_ms, real_ms, told_ms }) =>
          say(
            `  ${name}: ${kind}, ${server ?? 'no server'}: told ${inSeconds(told_ms)}, normal after ${inSeconds(back_ms)} s (${inSeconds(real_ms)} s of a busy machine)`,
          ),
      },
      only,
    );
    current = faults.current;
    measured = faults.measured;
    const view = openLogView(log);
    const evidence: Evidence = { shape, target, post, clients, view, spans: faults.spans };

    const looking = setInterval(() => void view.follow().catch(() => {}), LOOK_MS);
    const for_ms = seconds * 1000;
    const expiring = expireResults(shape, log, random.fork('expiry'), for_ms);
    const http = lookAtHttp(
      shape,
      about('the probe of http answers whatever is asked of it'),
      about('http keeps its memory'),
      current,
    );
    const bothering = bother(shape, random.fork('stranger'), watch, for_ms);
    const paths = () => clients.flatMap(({ gateway, submitted }) => readsOf(gateway.token, submitted));
    const reading = readSteadily(shape, paths, watch, for_ms);
    await Promise.all([
      ...[faults.run(for_ms), expiring, bothering, reading],
      ...clients.map((client) => client.run(for_ms)),
    ]);
    counts.set('most MB of http', await http.stop());
    clearInterval(looking);
    alone.looked = faults.spans.length;
    late.looked = faults.measured.length;
    untold.looked = faults.measured.filter(({ told_ms }) => told_ms !== null).length;
    const ready = about('/readyz is 200 at the end');
    ready.looked++;
    if (!(await answers(`${shape.url}/readyz`, READY_MS)))
      ready.broken.push(`/readyz is not 200 ${READY_MS} ms after the last fault: ${await textOf(shape.url)}`);
    await Promise.all(clients.map((client) => client.finish()));
    if (!(await canary.finish(SETTLED_WITHIN_MS)))
      late.broken.push(`a small job is not done at the end: ${canary.why()}`);
    await settle(evidence, about('everything settles after the last fault'));
    if (!(await answers(`${shape.url}/readyz`, READY_MS)))
      ready.broken.push(`/readyz is not 200 when all is quiet: ${await textOf(shape.url)}`);
    const alarmed = about('nobody is told of a violation of the ledger');
    alarmed.looked++;
    const metrics = await fetch(`${shape.probe_url}/metrics`).then((answer) => answer.text());
    if (holds('LedgerViolation', metrics)) alarmed.broken.push('the alert LedgerViolation holds');
    await checkExports(evidence, about('exports are whole, with one row a URL'));
    await view.follow();
    const stopping = about('every role stops cleanly');
    for (const role of shape.processes) {
      stopping.looked++;
      const code = await role.stop();
      if (code !== 0) stopping.broken.push(`${role.name} stops with ${code}`);
    }
    await view.follow();
    for (const [sentence, check] of Object.entries(CHECKS)) await check(evidence, about(sentence));
    await log.close();
    await checkStores(shape, about('the ledger is exact, and the documents are those of a fresh replay'));
    await target.close();
    count(counts, evidence, faults.counts);
    if (shape.disk_refused !== null) counts.set(`no disk could be filled here (${shape.disk_refused})`, 0);
    if (is_kept || [...findings.values()].some(({ broken }) => broken.length > 0)) {
      await cp(shape.data_dir, join(folder, 'kept'), { recursive: true, filter: (path) => !path.endsWith('ballast') });
    }
  } catch (error) {
    through.broken.push((error as Error).stack ?? String(error));
  } finally {
    await shape.close();
    await post.close();
  }
  return { name, counts, measured, findings, folder };
}

/** Cheap reads of a user: the balance, and the newest jobs. */
function readsOf(token: string, submitted: Client['submitted']) {
  const jobs = submitted
    .slice(-3)
    .flatMap((one) => [...one.job_ids].map((id) => ({ path: `/jobs/${id}`, token, isGone: () => one.deleted })));
  return [{ path: '/users/me/credits', token }, ...jobs];
}

async function settle(evidence: Evidence, found: Findings): Promise<void> {
  const { view } = evidence;
  const began = fairNow();
  let moved = began;
  for (;;) {
    const before = view.position();
    await view.follow();
    found.looked++;
    const left = unsettled(evidence);
    if (left.length === 0) return;
    const now = fairNow();
    if (view.position() !== before) moved = now;
    if (now - moved > STUCK_MS || now - began > SETTLED_WITHIN_MS) {
      found.broken.push(...left.map((what) => `${Math.round((now - began) / 1000)} s after the last fault, ${what}`));
      return;
    }
    await sleep(200);
  }
}

async function checkExports({ view, clients }: Evidence, found: Findings): Promise<void> {
  const kept = [...view.jobs.values()].filter(({ is_expired }) => !is_expired);
  const of_clients = kept.filter(({ owner_id }) => clients.some(({ user_id }) => user_id === owner_id));
  const completed = of_clients.filter(({ status }) => status === 'completed').slice(-EXPORTS);
  for (const { job_id, owner_id, total_urls } of completed) {
    const { gateway } = clients.find(({ user_id }) => user_id === owner_id)!;
    const answer = await gateway.ask('GET', `/jobs/${job_id}/export?format=csv`).catch((error: Error) => error);
    found.looked++;
    const rows = answer instanceof Error ? answer.message : String(answer.body).trim().split('\n').length - 1;
    if (rows !== total_urls) found.broken.push(`the export of job ${job_id} has ${rows} rows of ${total_urls}`);
  }
}

function count(
  counts: Map<string, number>,
  { view, target, clients }: Evidence,
  faults: ReadonlyMap<string, number>,
): void {
  const statuses = Map.groupBy(view.jobs.values(), ({ status, ended_as }) =>
    status === 'deleted' ? `${ended_as} and deleted` : status,
  );
  counts.set(
    'submissions',
    clients.reduce((sum, { submitted }) => sum + submitted.length, 0),
  );
  counts.set('jobs', view.jobs.size);
  for (const [status, of_status] of statuses) counts.set(`jobs ${status}`, of_status.length);
  counts.set('jobs whose results expired', [...view.jobs.values()].filter(({ is_expired }) => is_expired).length);
  counts.set('URLs checked', view.checks.length);
  counts.set('requests to the target', target.total());
  counts.set('webhooks', target.notices.length);
  for (const [kind, times] of faults) counts.set(`fault: ${kind}`, times);
}

const inSeconds = (ms: number | null) => (ms === null ? '-' : (ms / 1000).toFixed(1));

/** The faults that came alone: seconds by the fair clock, the longest of several. */
function tableOf(measured: readonly Measured[]): string[] {
  const ofKind = ({ kind, server }: Measured) => `${kind} | ${server ?? ''}`;
  return [...Map.groupBy(measured, ofKind)].map(([kind, times]) => {
    const most = (of: (one: Measured) => number | null) =>
      inSeconds(
        times.reduce<number | null>((max, one) => (of(one) === null ? max : Math.max(max ?? 0, of(one)!)), null),
      );
    return `  | ${kind} | ${times.length} | ${most((one) => one.told_ms)} | ${most((one) => one.back_ms)} | ${most((one) => one.real_ms)} | ${times[0]!.most_ms / 1000} |`;
  });
}

/** What /readyz says now. */
const textOf = (url: string) => fetch(`${url}/readyz`).then((answer) => answer.text(), String);

const seconds = Number(process.env.TORTURE_SECONDS ?? 60);
const seed = Number(process.env.TORTURE_SEED ?? randomInt(2 ** 31));
const names = (process.env.TORTURE_SHAPES ?? SHAPES.filter((name) => name !== 'clusters').join()).split(
  ',',
) as ShapeName[];
const unknown = names.filter((name) => !SHAPES.includes(name));
if (!(seconds > 0) || !Number.isInteger(seed) || unknown.length > 0) {
  throw new Error(`TORTURE_SECONDS and TORTURE_SEED want numbers, TORTURE_SHAPES some of ${SHAPES.join(', ')}`);
}
const only = (process.env.TORTURE_FAULTS ?? '').split(',').filter(Boolean);
const is_kept = process.env.TORTURE_KEEP === '1';
const is_tap = process.argv.includes('--tap');
const say = (line: string) => console.log(is_tap ? `# ${line}` : line);
process.setMaxListeners(0); // each program that is supervised hears of the end
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

say(`torture: ${seconds} s of ${names.join(', ')}; the same draws again: TORTURE_SEED=${seed}`);
const folder = await mkdtemp(join(tmpdir(), 'url-checker-torture-'));
const reports = await Promise.all(
  names.map((name) => torture(name, seconds, openRandom(seed).fork(name), join(folder, name))),
);
let tests = 0;
let failed = 0;
for (const { name, counts, measured, findings, folder: kept } of reports) {
  for (const line of tableOf(measured)) say(line);
  say(`${name}: ${[...counts].map(([what, times]) => `${what} ${times}`).join(' · ')}`);
  for (const [sentence, { broken, looked }] of findings) {
    tests++;
    if (broken.length > 0) failed++;
    const title = `torture › ${name} › ${sentence} (${looked} looks)`;
    console.log(
      is_tap
        ? `${broken.length > 0 ? 'not ok' : 'ok'} ${tests} - ${title}`
        : `  ${broken.length > 0 ? '✘' : '✔'} ${title}`,
    );
    if (broken.length === 0) continue;
    const shown = [...broken.slice(0, 20), ...(broken.length > 20 ? [`… ${broken.length} in all`] : [])];
    if (is_tap) console.log('  ---');
    for (const line of shown) console.log(`    ${line} [TORTURE_SEED=${seed}, look into ${kept}]`);
    if (is_tap) console.log('  ...');
  }
}
if (is_tap) console.log(`1..${tests}\n# tests ${tests}\n# pass ${tests - failed}\n# fail ${failed}`);
else console.log(`${tests - failed} passed, ${failed} failed`);
if (is_kept) say(`kept: ${folder}`);
else if (failed === 0) await rm(folder, { recursive: true, force: true });
process.exit(failed === 0 ? 0 : 1);
