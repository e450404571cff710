// Several checkers share one probe of a folder and its result.
import test, { type ExecutionContext } from 'ava';
import { createEngine, type Engine, type Peers } from '../../checkers/engine/engine.ts';
import type { ProbeRequest } from '../../checkers/engine/probes.ts';
import type { ProbeAnswer } from '../../checkers/engine/soft-404.ts';
import { joinPeers } from '../../checkers/peers.ts';
import type { Queue } from '../../checkers/queue.ts';
import { SharedProbes } from '../../checkers/shared-probes.ts';
import { PROBE_SUBJECT, type Probed } from '../../checkers/work.ts';
import { until } from '../support/behind.ts';
import { oneQueue } from '../support/one-queue.ts';
import { shop, shopUrls } from '../support/shop.ts';
import { silent } from '../support/stores.ts';
import { startTestSite } from '../support/test-site.ts';

const HONEST: ProbeAnswer = { status: 404, final_path: '/x', sketch: null };
const LOOK_MS = 1000;
const ATTEMPT_MS = 15_000;
/** The one that comes later never asks: the others know every answer. */
const FOR_EVER_MS = 2 ** 31 - 1;

/** Checkers on a bus that the test cuts, by a clock that it moves. They note who sent a probe. */
function checkers(...ids: string[]) {
  let now = 0;
  const asked: string[] = [];
  const lost = new Set<string>();
  const members = new Map<string, { probes: SharedProbes; known: Map<string, ProbeAnswer> }>();
  const join = (id: string): void => {
    const known = new Map<string, ProbeAnswer>();
    const folders = {
      probe: ({ folder }: ProbeRequest) => {
        if (known.has(folder)) return;
        asked.push(id);
        known.set(folder, HONEST);
        probes.probed(folder, HONEST);
      },
      answer: (folder: string, answer: ProbeAnswer) => known.set(folder, answer),
      recall: (folder: string) => known.get(folder) ?? null,
    };
    const broadcast = (subject: string, body: ProbeRequest | Probed): void => {
      for (const [to, { probes }] of members) {
        if (lost.has(to) || lost.has(id)) continue;
        if (subject === PROBE_SUBJECT) probes.receiveRequest(body as ProbeRequest);
        else probes.receiveAnswer(JSON.parse(JSON.stringify(body)) as Probed);
      }
    };
    const probes = new SharedProbes({
      me: id,
      probes: folders,
      broadcast,
      attempt_ms: ATTEMPT_MS,
      sweep_ms: LOOK_MS,
      now: () => now,
    });
    members.set(id, { probes, known });
    share();
  };
  const share = (): void => {
    for (const { probes } of members.values()) probes.setAlive([...members.keys()]);
  };
  for (const id of ids) join(id);
  return {
    asked,
    lost,
    join,
    leave(id: string) {
      members.delete(id);
      share();
    },
    pass(ms: number) {
      now += ms;
      for (const { probes } of members.values()) probes.sweep();
    },
    want: (id: string, folder: string) =>
      members.get(id)!.probes.probe({ folder, group: 'job', url: 'http://a.example/x' }),
    known: (folder: string) => [...members.values()].filter(({ known }) => known.has(folder)).length,
  };
}

test('one of all interested checkers sends a probe, and all get its result', async (t) => {
  const { asked, want, known } = checkers('a', 'b', 'c');
  const folders = Array.from({ length: 30 }, (_, i) => `folder ${i}`);
  for (const folder of folders) for (const id of ['a', 'b', 'c']) want(id, folder);
  await until(() => asked.length >= folders.length);
  t.is(asked.length, folders.length);
  for (const folder of folders) t.is(known(folder), 3);
  t.deepEqual([...new Set(asked)].toSorted(), ['a', 'b', 'c'], 'each asks some of them');
});

test('a checker that starts later gets the result, even for a folder that it owns', async (t) => {
  const { asked, want, known, join } = checkers('a', 'b');
  const folders = Array.from({ length: 10 }, (_, i) => `folder ${i}`);
  for (const folder of folders) want('a', folder);
  await until(() => asked.length === folders.length);
  join('c');
  for (const folder of folders) want('c', folder);
  for (const folder of folders) t.is(known(folder), 3);
  t.is(asked.length, folders.length);
});

test('an unheard request is repeated, a lost owner gets a successor, and nobody waits for a deaf one', async (t) => {
  const { asked, want, known, lost, leave, pass } = checkers('a', 'b', 'c');
  want('a', 'folder');
  await until(() => asked.length === 1);
  const owner = asked[0]!;
  const other = ['a', 'b', 'c'].find((id) => id !== owner)!;
  const folders = Array.from({ length: 60 }, (_, i) => `folder ${i}`);

  lost.add(owner);
  for (const folder of folders) want(other, folder);
  await until(() => folders.some((folder) => known(folder) > 0));
  lost.delete(owner);
  pass(6 * LOOK_MS);
  await until(() => folders.every((folder) => known(folder) >= 2));
  t.is(asked.length, 1 + folders.length);

  lost.add(owner);
  const more = folders.map((folder) => `${folder} of another`);
  for (const folder of more) want(other, folder);
  leave(owner);
  // Some checkers heard the request before they heard who left.
  pass(6 * LOOK_MS);
  await until(() => more.every((folder) => known(folder) === 2));
  t.is(asked.length, 1 + 2 * folders.length);

  const deaf = ['a', 'b', 'c'].find((id) => id !== owner && id !== other)!;
  lost.add(deaf);
  for (const folder of folders) want(other, `${folder} of a third`);
  pass(5 * ATTEMPT_MS);
  await until(() => folders.every((folder) => known(`${folder} of a third`) > 0));
  t.is(asked.length, 1 + 3 * folders.length);
});

test('the last remaining checker sends the probe that it waits for', (t) => {
  const { asked, want, lost, leave } = checkers('a', 'b');
  lost.add('a').add('b');
  for (let i = 0; i < 10; i++) want('a', `folder ${i}`);
  leave('b');
  t.is(asked.length, 10);
});

/** A checker on a clock that stands still: however slow the machine is, none is forgotten and nothing is repeated. */
async function startChecker(t: ExecutionContext, queue: Queue, answer_wait_ms?: number) {
  const engine = createEngine({
    concurrency: 32,
    per_host: 8,
    timeout_ms: ATTEMPT_MS,
    retries: 0,
    allow_addresses: ['127.0.0.0/8'],
    user_agent: 'test',
  });
  const stop = new AbortController();
  t.teardown(async () => {
    stop.abort();
    await engine.close();
  });
  let peers: Peers | null = null;
  const share = engine.share.bind(engine);
  engine.share = (with_peers) => {
    peers = with_peers;
    share(with_peers);
  };
  await joinPeers({
    queue,
    engine,
    logger: silent,
    signal: stop.signal,
    attempt_ms: ATTEMPT_MS,
    announce_ms: 100,
    monotonic: () => ATTEMPT_MS,
    waitForPeers: async () => {},
    ...(answer_wait_ms !== undefined && { answer_wait_ms }),
  });
  /** Of a limit of one request for each checker it takes one, so it knows them all. */
  const knows = (checkers: number) => peers?.shareOf('a.example', checkers) === 1;
  return { engine, knows };
}

test('over a queue each folder of a job is probed once, however checkers share its batches', async (t) => {
  const open = await oneQueue(t);
  const site = await startTestSite({ behaviours: { '/f*': shop(true) } });
  t.teardown(() => site.close());
  const two = [await startChecker(t, await open()), await startChecker(t, await open())];
  await until(() => two.every(({ knows }) => knows(2)));
  const list = shopUrls(site.origin, 5, 40);
  const paths = new Set(list.map((url) => new URL(url).pathname));
  const checkAll = async (all: readonly { engine: Engine }[]) => {
    const outcomes = await Promise.all(
      list.map((url, i) => all[Math.floor(i / 20) % all.length]!.engine.check(url, { group: 'job' })),
    );
    return outcomes.flatMap(({ verdict }, i) => (verdict === 'soft_404' ? [i] : []));
  };
  const lost = list.flatMap((_, i) => (i % 4 === 0 ? [i] : []));
  const eachOnce = (when: string): void => {
    const probed = site.requests.filter((asked) => !paths.has(asked)).map((asked) => asked.split('/')[1]);
    t.true(probed.length > 0);
    t.is(new Set(probed).size, probed.length, `${when}: ${probed}`);
  };
  t.deepEqual(await checkAll(two), lost);
  eachOnce('of two');
  const later = await startChecker(t, await open(), FOR_EVER_MS);
  await until(() => [...two, later].every(({ knows }) => knows(3)));
  t.deepEqual(await checkAll([later]), lost);
  eachOnce('with one that came later');
});
