// `npm run ops -- ledger close` and `ledger periods`: a period that is closed, and what touches it later.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { trailEntryOf } from '../../readmodels/users/audit-trail.ts';
import { openFiller } from '../support/audited-ledger.ts';
import { filledFolder } from '../support/filled-log.ts';
import { opsHere } from '../support/run-ops.ts';
import { openFolderLog } from '../support/stores.ts';

const ledger = (DATA_DIR: string, ...words: string[]) => opsHere(['ledger', ...words], { DATA_DIR });

/** January, of which a job and a payment go on in February. */
async function january(t: ExecutionContext) {
  let job_id = '';
  const DATA_DIR = await filledFolder(t, async (log) => {
    const filler = openFiller(log);
    await filler.buy('carol', 'pi-carol', 100);
    job_id = await filler.job('carol', 40, 12, 'cancelled');
  });
  return { DATA_DIR, job_id };
}

interface Printed {
  periods: { until: string; entries: number; credits: number; later: { dated: number; refers: number } }[];
  later: { until: string; effect: string; type: string; date: string; amount: number | null; reference_id: string }[];
}

async function periodsOf(DATA_DIR: string, ...words: string[]): Promise<Printed> {
  const { code, stdout, stderr } = await ledger(DATA_DIR, 'periods', '--json', ...words);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Printed;
}

test('what comes after a closing and touches the period is listed, and nothing is refused', async (t) => {
  const { DATA_DIR, job_id } = await january(t);
  t.is((await ledger(DATA_DIR, 'periods')).stdout, 'no period is closed\n');
  const closed = await ledger(DATA_DIR, 'close', '--until', '2026-01-31', '--reason', 'the books of January');
  t.is(closed.code, 0, closed.stderr);
  const balance = JSON.parse((await ledger(DATA_DIR, 'trial-balance', '--as-of', '2026-01-31', '--json')).stdout);
  t.like((await periodsOf(DATA_DIR)).periods[0], { until: '2026-01-31', credits: balance.balance });
  t.deepEqual((await periodsOf(DATA_DIR)).later, []);

  const log = await openFolderLog(DATA_DIR);
  const february = openFiller(log, Date.parse('2026-02-10T09:00:00Z'));
  // A refund of what January reserved, a payment that is February's alone, one that goes back of January, and one that a late webhook brings.
  await february.settle('carol', job_id, 40, 12);
  await february.buy('carol', 'pi-february', 50);
  await february.reverse('pi-carol', 10);
  await openFiller(log, Date.parse('2026-01-30T09:00:00Z')).buy('dave', 'pi-late', 5);
  await log.close();

  const { periods, later } = await periodsOf(DATA_DIR);
  t.deepEqual(
    later.map(({ effect, type, date, reference_id }) => [effect, type, date, reference_id]),
    [
      ['refers', 'CreditsRefunded', '2026-02-10', job_id],
      ['refers', 'PaymentReversed', '2026-02-10', 'pi-carol'],
      ['refers', 'CreditsReversed', '2026-02-10', 'pi-carol'],
      ['dated', 'PaymentReceived', '2026-01-30', 'pi-late'],
      ['dated', 'CreditsGranted', '2026-01-30', 'pi-late'],
    ],
  );
  t.deepEqual(periods[0]!.later, { dated: 2, refers: 3 });
  const text = await ledger(DATA_DIR, 'periods');
  t.regex(text.stdout, /^until 2026-01-31: \d+ entries, [\d,]+ credits \(the books of January\)\n/);
  t.regex(text.stdout, /\n {2}later: 2 events that change its figures, 3 events that refer to it\n$/);

  const marked = (await ledger(DATA_DIR, 'journal', '--format', 'csv')).stdout.split('\n');
  t.deepEqual(
    marked.filter((line) => line.endsWith(',2026-01-31')).map((line) => line.split(',')[1]),
    ['pi-late', 'pi-late', 'purchase:pi-late', 'purchase:pi-late'],
  );
  t.regex((await ledger(DATA_DIR, 'journal')).stdout, /purchase:pi-late {2}; closed-until: 2026-01-31\n/);

  const file = join(DATA_DIR, 'ledger.jsonl');
  t.is((await ledger(DATA_DIR, 'export', '--out', file)).code, 0);
  t.deepEqual(await periodsOf(DATA_DIR, '--file', file), { periods, later });
});

test('a file that ends before a closing has no closing, and so no violation', async (t) => {
  const { DATA_DIR } = await january(t);
  const log = await openFolderLog(DATA_DIR);
  let position = '';
  for await (const event of log.readAll({})) position = event.position;
  await openFiller(log, Date.parse('2026-01-20T09:00:00Z')).buy('eve', 'pi-20', 5);
  await log.close();
  t.is((await ledger(DATA_DIR, 'close', '--until', '2026-01-31')).code, 0);
  const file = join(DATA_DIR, 'ledger.jsonl');
  for (const as_of of [position, '2026-02-01']) {
    t.is((await ledger(DATA_DIR, 'export', '--out', file, '--as-of', as_of)).code, 0);
    t.deepEqual(await periodsOf(DATA_DIR, '--file', file), { periods: [], later: [] });
  }
});

test('each period has its own later events, and a day is closed once, in order, when it is over', async (t) => {
  const { DATA_DIR } = await january(t);
  for (const [n, until] of ['2026-01-15', '2026-01-31', '2026-01-31'].entries()) {
    const { code, stdout, stderr } = await ledger(DATA_DIR, 'close', '--until', until);
    t.is(code, 0, stderr);
    t.is(stdout.includes('already'), n === 2);
  }
  const log = await openFolderLog(DATA_DIR);
  for (const day of ['10', '20'])
    await openFiller(log, Date.parse(`2026-01-${day}T09:00:00Z`)).buy('eve', `pi-${day}`, 5);
  const entries = [];
  for await (const event of log.readStream('service-periods')) entries.push(trailEntryOf(event as never));
  await log.close();
  t.like(entries, [
    { action: 'period_closed', admin: 'ledger', target: '2026-01-15' },
    { action: 'period_closed', admin: 'ledger', target: '2026-01-31' },
  ] as never);
  t.is(entries.length, 2);
  const { later } = await periodsOf(DATA_DIR);
  t.deepEqual(
    later.map(({ until, reference_id }) => [until, reference_id]),
    ['pi-10', 'pi-10', 'pi-20', 'pi-20'].map((id) => [id === 'pi-10' ? '2026-01-15' : '2026-01-31', id]),
  );
  const today = new Date().toISOString().slice(0, 10);
  for (const [until, why] of [
    ['2026-01-20', /closed until 2026-01-31 already/],
    [today, /is not over yet/],
    ['2026-02-30', /it must be a position, a time or a day/],
    ['January', /needs --until DAY/],
  ] as const) {
    const { code, stderr } = await ledger(DATA_DIR, 'close', '--until', until);
    t.is(code, 2, until);
    t.regex(stderr, why);
  }
});

test('an entry of a closed period that is gone or changed is a violation', async (t) => {
  const { DATA_DIR } = await january(t);
  t.is((await ledger(DATA_DIR, 'close', '--until', '2026-01-31')).code, 0);
  const db = new DatabaseSync(join(DATA_DIR, 'events.db'));
  db.exec("UPDATE events SET data = replace(data, '\"amount\":-40', '\"amount\":-39') WHERE type = 'CreditsReserved'");
  db.close();
  const { code, stdout } = await ledger(DATA_DIR, 'periods');
  t.is(code, 1);
  t.regex(stdout, /\n {2}violation: of these, the log has \d+ entries, [\d,]+ credits\n/);
});
