// The page on the figures keeps up with the code: its commands print what it says, and it names every figure of the answers.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { group as figures } from '../../http/growth/admin-growth.ts';
import { group as publicStats } from '../../http/growth/public-stats.ts';
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/guides/metrics.md'), 'utf8');

testWith('bash', 'curl')('the commands of the page print what it says', async (t) => {
  const service = await startTestService();
  try {
    const replace = { '127.0.0.1:8080': new URL(service.url).host, 'data/demo': service.data_dir };
    t.is(await runGuide('docs/guides/metrics.md', { replace }), null);
    const first = await fetch(`${service.url}/public-stats`);
    const etag = first.headers.get('etag')!;
    const again = await fetch(`${service.url}/public-stats`, { headers: { 'if-none-match': etag } });
    t.deepEqual([again.status, again.headers.get('cache-control')], [304, 'public, max-age=3600']);
    t.deepEqual(Object.keys((await first.json()) as object).sort(), PUBLIC);
  } finally {
    await service.stop();
  }
});

/** What everybody may know. */
const PUBLIC = [
  ...['active_users', 'broken_share', 'broken_urls', 'days', 'from', 'generated_at', 'jobs', 'soft_404_urls', 'to'],
  'urls_checked',
];
/** They say what is counted, and count nothing. */
const NO_FIGURES = [
  ...['period', 'currency', 'totals', 'active', 'revenue', 'notes', 'day', 'note_ids', 'note_id', 'text', 'date'],
  ...['added_at', 'added_by', 'items', 'total', 'limit', 'offset', 'as_of', 'cohorts', 'month', 'user_id', 'email'],
];

// biome-ignore lint/suspicious/noExplicitAny: a schema is looked into as it is
function namesIn(schema: any): string[] {
  const below = [...Object.values(schema.properties ?? {}), schema.items, ...(schema.anyOf ?? [])];
  return [...Object.keys(schema.properties ?? {}), ...below.flatMap((each) => (each ? namesIn(each) : []))];
}

test('the page names every figure of the answers', (t) => {
  const schemas = [...figures.routes, ...publicStats.routes].map(({ responses }) => responses[200]!.schema);
  const names = new Set(schemas.flatMap(namesIn));
  t.true(names.size > 50);
  t.deepEqual(
    [...names].filter((name) => !NO_FIGURES.includes(name) && !text.includes(`\`${name}\``)),
    [],
  );
});
