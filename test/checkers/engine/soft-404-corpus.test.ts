// The precision and recall of soft 404s: the whole engine against the labelled corpus, over a server that answers as each
// page's host does. One half of the corpus is for tuning. The other only measures, so its misses are not named.
import test, { type ExecutionContext } from 'ava';
import { createEngine } from '../../../checkers/engine/engine.ts';
import type { Lookup } from '../../../checkers/engine/resolver.ts';
import { CORPUS, type CorpusPage, others, setOf, startCorpusServer } from '../../support/soft404-corpus.ts';

const SETTINGS = {
  concurrency: 64,
  per_host: 64,
  timeout_ms: 60_000,
  retries: 0,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};

const MIN_PRECISION = 0.95;
const MIN_RECALL = 0.9;

interface Judged {
  page: CorpusPage;
  soft: boolean;
}

async function judgeAll(t: ExecutionContext): Promise<Judged[]> {
  const server = await startCorpusServer();
  t.teardown(() => server.close());
  const lookup: Lookup = (_name, done) => done({ addresses: ['127.0.0.1'], ttl_s: 60 });
  const engine = createEngine(SETTINGS, { lookup, random: () => 0.618 });
  t.teardown(() => engine.close());
  return Promise.all(
    CORPUS.map(async (page) => {
      const options = { group: 'job' };
      await Promise.all(others(page).map((path) => engine.check(server.url(page, path), options)));
      const { verdict, status_code, error_code } = await engine.check(server.url(page, page.url), options);
      if (status_code !== 200) throw new Error(`${page.id} was not served: ${status_code ?? error_code}`);
      return { page, soft: verdict === 'soft_404' };
    }),
  );
}

interface Quality {
  pages: number;
  hits: number;
  misses: number;
  false_alarms: number;
}

function qualityOf(judged: readonly Judged[]): Quality {
  const count = (label: string, soft: boolean) =>
    judged.filter((j) => j.page.label === label && j.soft === soft).length;
  return {
    pages: judged.length,
    hits: count('soft', true),
    misses: count('soft', false),
    false_alarms: count('fine', true),
  };
}

const precision = ({ hits, false_alarms }: Quality) => hits / (hits + false_alarms);
const recall = ({ hits, misses }: Quality) => hits / (hits + misses);
const percent = (ratio: number) => (Number.isNaN(ratio) ? '-' : `${(ratio * 100).toFixed(1)} %`);

function row(name: string, quality: Quality): string {
  const cells = [quality.pages, quality.hits, quality.misses, quality.false_alarms].map((n) => String(n).padStart(7));
  return `${name.padEnd(24)}${cells.join('')}${percent(precision(quality)).padStart(11)}${percent(recall(quality)).padStart(9)}`;
}

function logTable(t: ExecutionContext, title: string, judged: readonly Judged[]): void {
  t.log(`${title.padEnd(24)}  pages   hits misses alarms  precision   recall`);
  t.log(row('all', qualityOf(judged)));
  for (const by of ['kind', 'language'] as const) {
    for (const value of [...new Set(judged.map(({ page }) => page[by]))].sort()) {
      t.log(row(`${by} ${value}`, qualityOf(judged.filter(({ page }) => page[by] === value))));
    }
  }
}

test('the corpus is large, covers many languages, and is halved by the ids of its pages', (t) => {
  t.true(CORPUS.length >= 220);
  t.true(new Set(CORPUS.filter(({ label }) => label === 'soft').map(({ language }) => language)).size >= 14);
  t.is(new Set(CORPUS.map(({ id }) => id)).size, CORPUS.length);
  for (const page of CORPUS) t.is(page.set, setOf(page.id), page.id);
});

test('precision and recall of soft 404s reach their bounds on both halves', async (t) => {
  const judged = await judgeAll(t);
  const tuned = judged.filter(({ page }) => page.set === 'tune');
  const measured = judged.filter(({ page }) => page.set === 'measure');
  logTable(t, 'for tuning', tuned);
  for (const { page, soft } of tuned) {
    if (soft !== (page.label === 'soft')) t.log(`${soft ? 'false alarm' : 'miss'}: ${page.id}`);
  }
  logTable(t, 'for measuring', measured);
  const quality = qualityOf(measured);
  t.true(precision(quality) >= MIN_PRECISION, `precision ${percent(precision(quality))}`);
  t.true(recall(quality) >= MIN_RECALL, `recall ${percent(recall(quality))}`);
});
