// `npm run ops -- ledger trace`: a row of a job, what was found of its URL, and the credits that paid for it.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import test from 'ava';
import { urlsStream } from '../../events/streams.ts';
import { openFiller } from '../support/audited-ledger.ts';
import { filledFolder } from '../support/filled-log.ts';
import { opsHere } from '../support/run-ops.ts';
import { commandContext } from '../support/stores.ts';

test('ledger trace goes from a row to the entries and the payments whose credits the job kept, and back', async (t) => {
  let job_id = '';
  const DATA_DIR = await filledFolder(t, async (log) => {
    const filler = openFiller(log);
    await filler.buy('carol', 'pi-one', 10);
    await filler.buy('carol', 'pi-two', 100);
    job_id = await filler.job('carol', 40, 12, 'cancelled');
    await filler.settle('carol', job_id, 40, 12);
    const urls = Array.from({ length: 40 }, (_, n) => `https://a.example/${n}`);
    const { now: _, ...metadata } = { ...commandContext(), at: '2026-01-31T09:00:00Z' };
    // A header, and an empty row after the third URL.
    const listed = {
      id: randomUUID(),
      type: 'UrlsListed',
      data: { job_id, from_index: 0, urls, rows: [2, 3, 2] },
      metadata,
    };
    await log.append(urlsStream(job_id), 'no_stream', [listed]);
  });
  const trace = (...words: string[]) => opsHere(['ledger', 'trace', ...words], { DATA_DIR });
  const found = await trace('--job', job_id, '--row', '6', '--json');
  t.is(found.code, 0, found.stderr);
  const { url, index, checked, entries, lots } = JSON.parse(found.stdout);
  t.deepEqual([index, url], [3, 'https://a.example/3']);
  t.like(checked, { verdict: 'ok', status_code: 200, stream: `checks-${job_id}-0` });
  t.deepEqual(
    entries.map(({ credits }: { credits: number }) => credits),
    [-40, 28],
  );
  t.deepEqual(
    lots.map(({ lot_id, credits, granted }: { lot_id: string; credits: number; granted: { reference_id: string } }) => [
      lot_id,
      credits,
      granted.reference_id,
    ]),
    [
      ['purchase:pi-one', 10, 'pi-one'],
      ['purchase:pi-two', 2, 'pi-two'],
    ],
  );
  t.regex((await trace('--job', job_id, '--row', '40')).stdout, /\nnot checked, and so not paid for\n/);
  t.regex((await trace('--job', job_id, '--row', '5')).stderr, /no URL of job .* came from row 5/);
  t.regex((await trace('--job', 'none', '--row', '1')).stderr, /there is no job none/);
  t.regex((await trace('--job', job_id)).stderr, /it needs --job ID and --row N/);

  // And back: the rows of the 12 URLs that have a result, each for one of the credits that the job kept.
  const paid = await trace('--entry', `reservation:${job_id}:0`, '--json');
  t.is(paid.code, 0, paid.stderr);
  const [of_entry, ...rows] = paid.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.like(of_entry, { user_id: 'carol', credits: -40, hash: entries[0].hash, job_id });
  t.deepEqual(
    rows.map(({ row, url }) => [row, url]),
    Array.from({ length: 12 }, (_, n) => [n + (n < 3 ? 2 : 3), `https://a.example/${n}`]),
  );
  t.like(rows[11], { verdict: 'ok', status_code: 200, stream: `checks-${job_id}-1` });
  const [reserved, refunded] = entries;
  t.is((await trace('--entry', reserved.position, '--json')).stdout, paid.stdout);
  const refund = await trace('--entry', refunded.transaction_id, '--user', 'carol', '--format', 'csv');
  t.is(refund.stdout.split('\n').length, 14, refund.stderr);
  const grant = await trace('--entry', 'purchase:pi-two');
  t.regex(
    grant.stdout,
    new RegExp(`^purchase:pi-two of carol: 100 credits, .*\\njob ${job_id} kept 2 credits of it\\n$`),
  );
  t.regex((await trace('--entry', 'adjustment:gift')).stderr, /alice and bob both have a transaction .* by --user/);
  t.regex((await trace('--entry', 'adjustment:gift', '--user', 'bob')).stdout, /\nno job kept credits of it\n$/);
  t.regex((await trace('--entry', 'none')).stderr, /there is no entry none/);
  t.is((await trace('--entry', 'none', '--row', '1')).code, 2);
});

test('the last line of verify-export says what the file proves, and that without a head it proves nothing', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const file = join(DATA_DIR, 'ledger.jsonl');
  t.is((await opsHere(['ledger', 'export', '--out', file], { DATA_DIR })).code, 0);
  const { stdout } = await opsHere(['ledger', 'verify-export', file, '--as-of', '0000000000000030'], {});
  t.regex(
    stdout,
    /\nok: every rule holds; without a head that you have kept \(--head\), whoever wrote the file may have made up all of it\n$/,
  );
});
