// How long work stands still, over real servers: /readyz names the role that stands, a leader that cannot work lets go, two that cannot
// pass nothing to each other, and work that NATS has lost is sent again. The fair clock measures, which stands still while the machine is busy.
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { allReady, type Machine, type Machines, startMachines } from '../support/machines.ts';
import { listedSuites } from '../support/server-suites.ts';
import type { TestClient } from '../support/service.ts';
import { openSite, page, type Site } from '../support/sites.ts';
import { fairNow } from '../torture/fair-clock.ts';
import type { TorturedServer } from '../torture/servers.ts';

process.setMaxListeners(0); // each supervised program listens for the end

const ROLES = ['http', 'projector', 'projector', 'processes', 'processes', 'checker'] as const;
const SETTINGS = { SIGNUP_CREDITS: '100000', CHECKER_RETRIES: '0', CHECKER_ACK_WAIT_MS: '2000' };
/** The fair clock sees a process that waits for a processor, and not one that waits for a disk or for its neighbour. */
const FACTOR = 2;
const TOLD_MS = FACTOR * 5_000;
/** It lets go some ten seconds after its last answer, and another process begins. */
const TAKEN_OVER_MS = FACTOR * 14_000;
const BACK_MS = FACTOR * 10_000;
/** Longer than a holder that is cut keeps its lease, and than it then leaves it to others. */
const BOTH_CUT_MS = 15_000;
const LOOK_MS = 100;
const GIVEN_UP_MS = 90_000;
const BOTH = ['to', 'from'] as const;

const listed = listedSuites(process.env.SERVER_SUITES);
if (listed.includes('nats') && listed.includes('mongodb')) {
  test(
    'leaders that are cut from the log or the queue let go, and lost work is sent again, each within seconds',
    timed,
  );
} else test.todo('standing still: left out by SERVER_SUITES');

async function timed(t: ExecutionContext): Promise<void> {
  t.timeout(900_000);
  const world = await startMachines(ROLES, SETTINGS);
  t.teardown(world.close);
  const site = await openSite((request, response) => setTimeout(page, 50, request, response));
  t.teardown(site.close);
  await allReady(world);
  const [alice] = (await world.clientsOf('alice')) as [TestClient];
  const still = new Still(t, world, alice, site);
  await still.begin();
  const { eventstore, nats } = world.servers;
  await still.leadersLetGo([
    ['projector', eventstore],
    ['processes', nats],
  ]);
  await still.leadersLetGo([['processes', eventstore]]);
  await still.bothCut();
  await still.lostWorkIsSentAgain();
  t.deepEqual(world.ended_by_themselves, []);
}

type Leading = 'projector' | 'processes';

class Still {
  readonly #t: ExecutionContext;
  readonly #world: Machines;
  readonly #alice: TestClient;
  readonly #site: Site;
  #jobs = 0;

  constructor(t: ExecutionContext, world: Machines, alice: TestClient, site: Site) {
    this.#t = t;
    this.#world = world;
    this.#alice = alice;
    this.#site = site;
  }

  /** The signup bonus comes with the first fingerprint. */
  async begin(): Promise<void> {
    await this.#alice.ask('POST', '/users/me/fingerprint', { os: 'os', device_type: 'desktop', screen_size: null });
  }

  async leadersLetGo(cuts: readonly (readonly [Leading, TorturedServer])[]): Promise<void> {
    await this.#within('quiet', async () => (await this.#failed()).length === 0);
    const cut = await Promise.all(
      cuts.map(async ([role, server]) => {
        const leader = await this.#leader(role);
        return { role, leader, road: this.#world.roadOf(leader, server), of: `${role} without ${server.name}` };
      }),
    );
    for (const { road } of cut) road.hold(BOTH);
    const [cut_at, job] = [fairNow(), this.#submit(5)];
    const since = async (what: string, holds: () => Promise<boolean>) => {
      await this.#within(what, holds);
      return fairNow() - cut_at;
    };
    await Promise.all([
      ...cut.map(async ({ role, of, leader }) => {
        const told_ms = await since(`${of} is told`, async () => (await this.#failed()).includes(role));
        this.#bounded(`${of}: /readyz names it`, told_ms, TOLD_MS);
        await since(`${of} is taken over`, async () => ![leader, null].includes(await this.#world.active(role)));
      }),
      since('a job is done', () => this.#isDone(job)).then((ms) =>
        this.#bounded(`${cut.map(({ of }) => of).join(', ')}: a job is done`, ms, TAKEN_OVER_MS),
      ),
    ]);
    const ready_ms = await since('ready', async () => (await this.#failed()).length === 0);
    this.#bounded(`${cut.map(({ of }) => of).join(', ')}: ready`, ready_ms, TAKEN_OVER_MS);
    for (const { road } of cut) road.release();
  }

  /** Neither takes what it could not do. */
  async bothCut(): Promise<void> {
    await this.#leader('projector');
    const roads = this.#world.of('projector').map((one) => this.#world.roadOf(one, this.#world.servers.eventstore));
    const { epoch, checkpoint } = await this.#world.projected();
    for (const road of roads) road.hold(BOTH);
    const job = this.#submit(5);
    const told_ms = await this.#within('told', async () => (await this.#failed()).includes('projector'));
    this.#bounded('both projectors cut: /readyz names them', told_ms, TOLD_MS);
    // The time limits of the service are of the real clock.
    for (const until = performance.now() + BOTH_CUT_MS; performance.now() < until; await sleep(LOOK_MS))
      this.#t.true((await this.#failed()).length > 0, 'nobody can do the work');
    this.#t.is((await this.#world.projected()).epoch, epoch, 'no projector began while none could work');
    for (const road of roads) road.release();
    await this.#within('ready', async () => (await this.#failed()).length === 0);
    this.#t.true(
      (await this.#world.projected()).checkpoint > checkpoint,
      'ready means that the read models have moved',
    );
    this.#bounded('both projectors back: a job is done', await this.#within('done', () => this.#isDone(job)), BACK_MS);
  }

  /** The checker is cut off meanwhile, so that the queue has all of the job. */
  async lostWorkIsSentAgain(): Promise<void> {
    const [checker] = this.#world.of('checker') as [Machine];
    const road = this.#world.roadOf(checker, this.#world.servers.nats);
    road.hold(BOTH);
    const job = this.#submit(60);
    await this.#within('handed out', async () => (await this.#world.handedOut())?.urls === 60);
    await this.#world.emptyQueue();
    road.release();
    this.#bounded('work that NATS lost: done', await this.#within('done', () => this.#isDone(job)), BACK_MS);
  }

  async #leader(role: Leading): Promise<Machine> {
    let leader: Machine | null = null;
    await this.#within(`one ${role} works`, async () => (leader = await this.#world.active(role)) !== null);
    return leader!;
  }

  #bounded(what: string, ms: number, most_ms: number): void {
    this.#t.log(`${what} after ${(ms / 1000).toFixed(1)} s`);
    this.#t.true(ms <= most_ms, `${what} after ${Math.round(ms)} ms`);
  }

  /** The conditions of /readyz that do not hold. */
  async #failed(): Promise<string[]> {
    const answer = await fetch(`${this.#world.of('http')[0]!.url}/readyz`);
    const { failed = [] } = (await answer.json()) as { failed?: string[] };
    return failed;
  }

  /** The log has it, whether or not anybody works. */
  async #submit(urls: number): Promise<string> {
    const name = ++this.#jobs;
    const list = Array.from({ length: urls }, (_, n) => `${this.#site.url}/${name}/${n}`).join('\n');
    let job_id = '';
    await this.#within('a job is accepted', async () => {
      const { status, body } = await this.#alice.upload(list);
      if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
      job_id = body.job_id;
      return true;
    });
    return job_id;
  }

  async #isDone(job: Promise<string>): Promise<boolean> {
    return (await this.#alice.ask('GET', `/jobs/${await job}`)).body.status === 'completed';
  }

  /** Resolves to the milliseconds until it holds; rejects with what was wrong last when that is far too late. */
  async #within(what: string, holds: () => Promise<boolean>): Promise<number> {
    const from = fairNow();
    let wrong: unknown = 'it does not hold';
    while (fairNow() - from < GIVEN_UP_MS) {
      const is_so = await holds().catch((error: unknown) => {
        wrong = error;
        return false;
      });
      if (is_so) return fairNow() - from;
      await sleep(LOOK_MS);
    }
    throw new Error(`not within ${GIVEN_UP_MS} ms: ${what}`, { cause: wrong });
  }
}
