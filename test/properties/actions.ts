// What may be done to the world, and what comes of it noted.
import assert from 'node:assert/strict';
import { type Given, textOf } from '../../commands/jobs/intake.ts';
import { openRerunJob } from '../../commands/jobs/rerun-job.ts';
import type { CreditsCommand } from '../../commands/ledger/credits.ts';
import { jobs } from '../../readmodels/jobs/jobs.ts';
import type { Known } from './holds.ts';
import { Killed, Unavailable } from './log-gate.ts';
import { type Asked, balancesDuring, type Transition } from './transitions.ts';
import { MINUTE, type World } from './world.ts';

const HOUR = 60 * MINUTE;

/** Ids of jobs, users and clients are numbers, each modulo those that there are. */
export type Action =
  | { do: 'create'; client: number; user: number; size: number; needs_credits: boolean }
  | { do: 'rerun'; client: number; job: number }
  | { do: Transition; client: number; job: number }
  | { do: 'bulk-delete'; client: number; jobs: number[] }
  | { do: 'grant'; client: number; user: number; reference: number; amount: number; hours: number | null }
  | { do: 'adjust'; client: number; user: number; amount: number }
  | { do: 'expire'; client: number; user: number }
  | { do: 'take'; batches: number }
  | { do: 'record'; pick: number }
  | { do: 'check'; batches: number }
  /** One pass of the processes, so many minutes after whatever is under way began. */
  | { do: 'pass'; minutes: number }
  /** The results of all jobs that have ended are kept no longer. */
  | { do: 'expire-results' }
  | { do: 'project'; batch: number };

const USERS = ['alice', 'bob'];
const userOf = (n: number) => USERS[n % USERS.length]!;
/** One of the newest that are there, or with the largest numbers one that may be gone or never came to be. */
function jobOf({ jobs, gone }: Known, n: number): Known['jobs'][number] | undefined {
  const there = jobs.filter(({ job_id }) => !gone.has(job_id));
  const among = there.length > 0 && n < MANY ? there : jobs;
  return among.at(-1 - (n % Math.max(1, among.length)));
}
export const MANY = 8;

export async function act(action: Action, known: Known, world: World): Promise<void> {
  const note = (what: string) => known.tally.set(what, (known.tally.get(what) ?? 0) + 1);

  async function submit(
    client: number,
    owner_id: string,
    source: 'api' | 'rerun',
    urls: string[],
    needs_credits: boolean,
  ) {
    const job_id = world.newId('job');
    if (source === 'api') urls = urls.map((url) => url.replace('JOB', job_id));
    known.jobs.push({ job_id, owner_id, urls });
    const began = world.gate.witnessed.length;
    const submission = {
      job_id,
      owner_id,
      owner_email: null,
      source,
      filename: null,
      blob_key: null,
      needs_credits,
      counts: () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 }),
      pages: (async function* () {
        yield { urls };
      })(),
    };
    const submitted = await world.client(client).submitJob(submission, world.contextOf(`user:${owner_id}`));
    note(`${source}: ${submitted.ok ? 'ok' : submitted.refused.code}`);
    if (submitted.ok) return;
    assert.equal(submitted.refused.code, 'no_credits');
    const window = { owner_id, began, ended: world.gate.witnessed.length };
    assert.ok(needs_credits && balancesDuring(world.gate.witnessed, window).includes(0), 'there were credits');
  }

  async function rerun(client: number, job_id: string, owner_id: string): Promise<void> {
    const { log, jobs: commands, credits } = world.client(client);
    const began = world.gate.witnessed.length;
    const submissions = {
      async submitOnce({ given }: { given: Given }): Promise<never> {
        const urls = given.kind === 'list' ? (await Array.fromAsync(given.pages)).flat().map(textOf) : [];
        await submit(client, owner_id, 'rerun', urls, false);
        return { ok: true } as never;
      },
    };
    const run = openRerunJob({
      log,
      jobs: commands,
      users: credits.users,
      blobs: { file: async () => null },
      submissions,
    });
    const route = { method: 'POST', path: '/rerun' };
    const rerunning = { route, signal: new AbortController().signal, answerOf: () => assert.fail() };
    const answer = await run(job_id, rerunning, world.contextOf('admin:test'));
    if (answer.ok) return;
    const { code } = answer.refused;
    note(`rerun: ${code}`);
    known.refused.push({ job_id, owner_id, code, began, ended: world.gate.witnessed.length });
  }

  /** Notes what it was answered with, to be explained when all is quiet. */
  async function ask(transition: Transition, client: number, job: number): Promise<void> {
    const of = jobOf(known, job);
    if (!of) return;
    const { job_id, owner_id } = of;
    const { jobs: commands, resumeJob, deleteJob } = world.client(client);
    const context = world.contextOf(`user:${owner_id}`);
    const began = world.gate.witnessed.length;
    const faults = world.gate.faults;
    const run = {
      pause: () => commands.run(job_id, { type: 'pause' }, context),
      resume: () => resumeJob(job_id, context),
      cancel: () => commands.run(job_id, { type: 'cancel' }, context),
      delete: () => deleteJob(job_id, context),
      fail: () => commands.run(job_id, { type: 'fail', reason: 'batch_undeliverable' }, context),
    }[transition];
    const answer = await run().then(
      (done): Asked['answer'] => {
        if (done.ok) return { ok: true };
        const { code, details } = done.refused as { code: string; details?: { status: string; legal: string[] } };
        return code === 'unavailable' ? NO_ANSWER : { ok: false, code, ...(details ? { details } : {}) };
      },
      (error: unknown) => {
        if (error instanceof Unavailable || error instanceof Killed) return NO_ANSWER;
        throw error;
      },
    );
    note(`${transition}: ${answer.ok ? 'ok' : answer.code}`);
    const ended = world.gate.witnessed.length;
    const { command_id } = context;
    known.asked.push({
      transition,
      job_id,
      owner_id,
      command_id,
      began,
      ended,
      answer,
      faults: world.gate.faults > faults,
    });
  }

  const credits = async (client: number, user: number, command: CreditsCommand) => {
    const { ok } = await world.client(client).credits.run(userOf(user), command, world.contextOf('process:test'));
    note(`${command.type}: ${ok ? 'ok' : 'refused'}`);
  };

  switch (action.do) {
    case 'create': {
      const urls = Array.from({ length: action.size }, (_, n) => `https://site-${n % 3}.example/JOB/${n}`);
      return submit(action.client, userOf(action.user), 'api', urls, action.needs_credits);
    }
    case 'rerun': {
      const failed = await world.readmodels.collection(jobs).find({ status: 'failed' });
      const job = failed[action.job % Math.max(1, failed.length)];
      if (job) await rerun(action.client, job._id, job.owner_id);
      return;
    }
    case 'bulk-delete': {
      await Promise.all(action.jobs.map((job) => ask('delete', action.client, job)));
      return;
    }
    case 'grant': {
      const expires_at = action.hours === null ? null : new Date(world.now() + action.hours * HOUR).toISOString();
      const { amount } = action;
      const lot = { transaction_type: 'purchase', reference_id: `p${action.reference}`, amount, expires_at } as const;
      return credits(action.client, action.user, { type: 'grant', ...lot });
    }
    case 'adjust': {
      const adjustment_id = world.newId('adjustment');
      const { amount } = action;
      return credits(action.client, action.user, { type: 'adjust', adjustment_id, amount, reason: 'test' });
    }
    case 'expire':
      return credits(action.client, action.user, { type: 'expire' });
    case 'take':
      return world.checker().take(action.batches);
    case 'record':
      return world.checker().record(action.pick);
    case 'check':
      await world.checker().take(action.batches);
      for (let n = 0; n < action.batches; n++) await world.checker().record(0);
      return;
    case 'pass':
      world.later(action.minutes * MINUTE);
      await world.projectAll();
      return world.processes().pass();
    case 'expire-results': {
      await world.projectAll();
      const position = await world.processes().expireResults();
      note(`expire-results: ${position === null ? 'none' : 'some'}`);
      return;
    }
    case 'project':
      return world.projectAll(action.batch);
    default:
      return ask(action.do, action.client, action.job);
  }
}

const NO_ANSWER = { ok: false, code: 'no_answer' } as const;
