// Mails about credits, from outside: what the user chooses, and the mail in the outbox.
import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { until } from '../support/behind.ts';
import { startTestService } from '../support/service.ts';

test('a user chooses below which balance a mail comes, and gets one', async (t) => {
  const service = await startTestService({ SIGNUP_CREDITS: '20', EXPIRING_CREDITS_DAYS: '5' });
  try {
    const alice = await service.client('alice');
    const path = '/users/me/credit-mails';
    t.deepEqual((await alice.ask('GET', path)).body, { low_balance: null, expiring_credits: true, expiring_days: 5 });
    const chosen = { low_balance: 19, expiring_credits: false };
    t.deepEqual((await alice.ask('PUT', path, chosen)).body, { ...chosen, expiring_days: 5 });
    t.like((await alice.ask('GET', path)).body, chosen);
    for (const wrong of [{ ...chosen, low_balance: -1 }, { ...chosen, low_balance: 1.5 }, { low_balance: 1 }, {}])
      t.is((await alice.ask('PUT', path, wrong)).status, 422, JSON.stringify(wrong));
    const key = await service.keyHolder('alice');
    const { body: job } = await key.ask('POST', '/api/v2/jobs', {
      urls: ['http://127.0.0.1:9/a', 'http://127.0.0.1:9/b'],
    });
    await key.ended(job.job_id);
    const outbox = join(service.data_dir, 'outbox', hash('sha256', 'alice', 'hex').slice(0, 32));
    const files = async () => (await readdir(outbox).catch(() => [])).filter((name) => name.endsWith('.eml'));
    await until(async () => (await files()).length > 0);
    const [file, ...others] = await files();
    t.deepEqual(others, []);
    const mail = await readFile(join(outbox, file!), 'utf8');
    t.regex(mail, /you had 18 credits left, which is less than 19/);
    t.regex(mail, /\/console\/account/);
  } finally {
    await service.stop();
  }
});
