// Counts the translated not-found pages of projects that the engine recognises, and the long pages with such titles that it
// mistakes for one. One half of the projects is for tuning. The other half only measures, so its misses are not named.
import test, { type ExecutionContext } from 'ava';
import { readSigns } from '../../../checkers/engine/html.ts';
import { isSoft, suspicionOf } from '../../../checkers/engine/soft-404.ts';
import { NOT_FOUND_PAGES, type NotFoundPage, SOUNDS_LIKE } from '../../support/not-found-corpus.ts';

const PAGE_URL = new URL('http://shop.example/old/kettle');
/** The recall when the site shows its page for every unknown name, and when it answers an unknown name with 404. */
const MIN_RECALL = { same: 0.95, honest: 0.85 };
const MOST_FALSE = 3;

function judge(html: string): { same: boolean; honest: boolean } {
  const { points, work } = suspicionOf(html, readSigns(html), PAGE_URL, PAGE_URL, false);
  return { same: isSoft(points, 'equal', work), honest: isSoft(points, 'honest', work) };
}

type Judged = NotFoundPage & ReturnType<typeof judge>;

const JUDGED: readonly Judged[] = NOT_FOUND_PAGES.map((page) => ({ ...page, ...judge(page.html) }));

const recall = (pages: readonly Judged[], by: 'same' | 'honest') =>
  pages.filter((page) => page[by]).length / pages.length;

function logTable(t: ExecutionContext, title: string, pages: readonly Judged[]): void {
  const row = (name: string, some: readonly Judged[]) => {
    const cells = (['same', 'honest'] as const).map((by) => `${(recall(some, by) * 100).toFixed(1)} %`.padStart(9));
    t.log(`${name.padEnd(22)}${String(some.length).padStart(6)}${cells.join('')}`);
  };
  t.log(`${title.padEnd(22)} pages     same   honest`);
  row('all', pages);
  for (const by of ['kind', 'language'] as const) {
    for (const [value, some] of [...Map.groupBy(pages, (page) => page[by])].sort()) row(`${by} ${value}`, some);
  }
}

for (const set of ['tune', 'measure'] as const) {
  test(`the engine recognises translated not-found pages of projects: ${set}`, (t) => {
    const pages = JUDGED.filter((page) => page.set === set);
    logTable(t, set, pages);
    if (set === 'tune') {
      for (const page of pages.filter(({ honest }) => !honest))
        t.log(
          `miss${page.same ? ' (honest)' : ''}: ${page.source} ${page.language} ${page.html.slice(70).replaceAll(/<nav.*?nav>|<footer.*footer>|<[^>]*>|\s+/gs, ' ')}`,
        );
    }
    for (const by of ['same', 'honest'] as const) t.true(recall(pages, by) >= MIN_RECALL[by], by);
  });
}

test('long pages whose titles only sound like not-found pages are not soft 404s', (t) => {
  const taken = SOUNDS_LIKE.filter(({ html }) => judge(html).honest);
  for (const { title } of taken) t.log(title);
  t.true(taken.length <= MOST_FALSE);
});
