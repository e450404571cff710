// Two whole services over one log, one MongoDB and one NATS. The test stops the one whose projector works past its lease,
// and lets it go on after the other one's projector has taken over.
import type { ProjectorState } from '../../readmodels/projection-state.ts';
import { until } from '../support/behind.ts';
import { overServers } from '../support/over-servers.ts';
import { standStill } from '../support/stand-still.ts';

const URLS = 600;
const JOBS = 3;

const ENV = {
  ...{ SIGNUP_CREDITS: String(JOBS * URLS), CHECKER_ACK_WAIT_MS: '2000', CHECKER_PER_HOST: '4' },
};

overServers('a service that stops past its leases and goes on leaves exact documents', ENV, async (t, world) => {
  // The first service takes the leases of projector and processes before the second one asks for them.
  const first = await world.start();
  await until(async () => (await fetch(`${first.url}/readyz`)).status === 200);
  const second = await world.start();
  const states = world.mongodb.collection<ProjectorState>('projector_states');
  const state = async () => (await states.findOne({ _id: 'live' }))!;
  const alice = await world.alice(second);
  const submit = async (n: number): Promise<string> => {
    const urls = Array.from({ length: URLS }, (_, i) => `${world.site.url}/${n}/${i}`);
    const { status, body } = await alice.upload(urls.join('\n'));
    t.is(status, 201, JSON.stringify(body));
    return body.job_id;
  };
  const jobs = [await submit(0), await submit(1)];
  const progress = async () => (await alice.ask('GET', `/jobs/${jobs[0]}`)).body.completed_urls as number;
  await until(async () => (await progress()) > 0, 20);

  const before = await state();
  await standStill(first.pid);
  await until(async () => (await state()).epoch > before.epoch);
  const taken_over = await state();
  await until(async () => (await state()).turn > taken_over.turn || (await state()).checkpoint > taken_over.checkpoint);
  process.kill(first.pid, 'SIGCONT');
  jobs.push(await submit(2));
  for (const job_id of jobs) {
    t.like(await alice.ended(job_id), { status: 'completed', completed_urls: URLS, credits_allocated: URLS });
    t.like((await alice.ask('GET', `/jobs/${job_id}/stats`)).body, { completed_urls: URLS, verdicts: { ok: URLS } });
  }
  t.is((await alice.ask('GET', '/users/me/credits')).body.credit_balance, 0);
  await until(async () => (await fetch(`${first.url}/readyz`)).status === 200);
  t.deepEqual(await Promise.all([first.stop(), second.stop()]), [0, 0]);
  await world.assertExact();
});
