// The table of results of a job of a million URLs in Chromium: frames a second while it is scrolled by the wheel and by its scroll bar, the
// memory of the page, and the time until rows show after a jump. Then the first page: the time until it shows the jobs, against a plain page.
// node bench/console.ts [--urls 1000000] [--first-page]: the latter measures the first page alone
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { appendCheckedJob } from '../test/support/checked-job.ts';
import { startConsole } from '../test/support/console.ts';
import { dragScrollBar, framesOf, type Memory, memoryOf, type Scrolled, wheel } from '../test/support/frames.ts';
import { openSite } from '../test/support/sites.ts';

export interface ConsoleBench {
  urls: number;
  wheel: Scrolled;
  drag: Scrolled;
  before: Memory;
  after: Memory;
  /** Milliseconds until rows show after a jump to a random place, by the filter. */
  jump_ms: Readonly<Record<string, { median: number; worst: number }>>;
}

export interface FirstPage {
  /** Milliseconds until a browser that has nothing of the console shows the jobs; `compiled`: the first one after the service's start. */
  compiled: number;
  fresh: number;
  /** With the files of the console at hand. */
  again: number;
  /** The same for a page of one line, from the same machine. */
  plain: number;
}

const VISITS = 15;
const ROUNDS = 2;
const JUMPS = 20;
const FILTERS = { all: '', broken: '?status_group=broken', '200': '?status_codes=200' };

export async function benchConsole({ urls = 1_000_000 } = {}): Promise<ConsoleBench> {
  const service = await startConsole();
  try {
    const log = await openSqliteEventStore({ path: join(service.data_dir, 'events.db') });
    const job_id = await appendCheckedJob(log, { urls, hosts: 5000, owner_id: 'bench' });
    await log.close();
    const client = await service.client('bench');
    const completed = async () => (await client.ask('GET', `/jobs/${job_id}`)).body.completed_urls;
    while ((await completed()) !== urls) await new Promise((later) => setTimeout(later, 500));

    const page = await (await service.browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
    await page.goto(await service.link('bench'));
    await page.getByRole('button', { name: 'bench' }).waitFor();
    const show = async (query: string) => {
      await page.goto(`${service.url}/console/jobs/${job_id}${query}`);
      await page.locator('.grid tbody button').nth(10).waitFor();
      await page.locator('.grid').scrollIntoViewIfNeeded();
    };
    await show('');
    const before = await memoryOf(page);
    const rounds: { wheel: Scrolled; drag: Scrolled }[] = [];
    for (let n = 0; n < ROUNDS; n++) {
      rounds.push({
        wheel: await framesOf(page, () => wheel(page, 300)),
        drag: await framesOf(page, () => dragScrollBar(page, 300)),
      });
    }
    const after = await memoryOf(page);
    const jump_ms: Record<string, { median: number; worst: number }> = {};
    for (const [name, query] of Object.entries(FILTERS)) {
      await show(query);
      jump_ms[name] = await jumps(page);
    }
    return {
      urls,
      wheel: worstOf(rounds.map((one) => one.wheel)),
      drag: worstOf(rounds.map((one) => one.drag)),
      before,
      after,
      jump_ms,
    };
  } finally {
    await service.stop();
  }
}

const worstOf = (rounds: readonly Scrolled[]): Scrolled => ({
  median_fps: Math.min(...rounds.map(({ median_fps }) => median_fps)),
  worst_fps: Math.min(...rounds.map(({ worst_fps }) => worst_fps)),
  smooth: Math.min(...rounds.map(({ smooth }) => smooth)),
});

export async function benchFirstPage(): Promise<FirstPage> {
  const [service, site] = [await startConsole(), await openSite()];
  try {
    /** Until the heading shows, which waits for the answers of the service. */
    const shown = async (page: Page, url: string, heading: string) => {
      const since = performance.now();
      await page.goto(url, { waitUntil: 'commit' });
      await page.getByRole('heading', { name: heading }).waitFor();
      return performance.now() - since;
    };
    const jobs = `${service.url}/console/jobs`;
    const took: Record<'fresh' | 'again' | 'plain', number[]> = { fresh: [], again: [], plain: [] };
    const first = await (await service.browser.newContext()).newPage();
    const compiled = await shown(first, `${service.url}/console/sign-in`, 'Sign in');
    await first.goto(await service.link('bench'));
    await first.getByRole('button', { name: 'bench' }).waitFor();
    const cookies = await first.context().cookies();
    for (let n = 0; n < VISITS; n++) {
      const context = await service.browser.newContext();
      await context.addCookies(cookies);
      const page = await context.newPage();
      await page.goto('about:blank');
      took.plain.push(await shown(page, site.url, 'A page'));
      took.fresh.push(await shown(page, jobs, 'You have no jobs yet'));
      took.again.push(await shown(page, jobs, 'You have no jobs yet'));
      await context.close();
    }
    const median = (ms: number[]) => ms.sort((a, b) => a - b)[Math.floor(VISITS / 2)]!;
    return { compiled, fresh: median(took.fresh), again: median(took.again), plain: median(took.plain) };
  } finally {
    await service.stop();
    await site.close();
  }
}

export const firstPageTable = ({ compiled, fresh, again, plain }: FirstPage): string =>
  [
    `The first page of the console, until the jobs show, against a plain page (${plain.toFixed(0)} ms)`,
    ...Object.entries({ 'first after the start': compiled, 'nothing cached': fresh, 'files cached': again }).map(
      ([name, ms]) => `  ${name.padEnd(22)} ${ms.toFixed(0)} ms, ${(ms / plain).toFixed(1)} times as long`,
    ),
  ].join('\n');

/** To places spread over the whole list, each once. */
async function jumps(page: Page): Promise<{ median: number; worst: number }> {
  const took: number[] = [];
  for (let n = 0; n < JUMPS; n++) {
    const share = ((n * 7) % JUMPS) / JUMPS + 0.04;
    took.push(
      await page.evaluate<number>(`new Promise((resolve) => {
        const grid = document.querySelector('.grid');
        const since = performance.now();
        grid.scrollTop = ${share} * (grid.scrollHeight - grid.clientHeight);
        const look = () => {
          const rows = [...grid.querySelectorAll('tbody tr')];
          const at = grid.getBoundingClientRect();
          const seen = rows.filter((row) => row.getBoundingClientRect().top > at.top + 32 && row.getBoundingClientRect().bottom < at.bottom);
          if (performance.now() - since > 30 && seen.length > 5 && seen.every((row) => row.querySelector('button'))) resolve(performance.now() - since);
          else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      })`),
    );
  }
  took.sort((a, b) => a - b);
  return { median: took[Math.floor(JUMPS / 2)]!, worst: took.at(-1)! };
}

export function consoleTable({ urls, wheel, drag, before, after, jump_ms }: ConsoleBench): string {
  const frames = ({ median_fps, worst_fps, smooth }: Scrolled) =>
    `median ${median_fps.toFixed(0)} frames/s, worst ${worst_fps.toFixed(0)}, ${(smooth * 100).toFixed(1)} % within 20 ms`;
  const memory = ({ heap_mb, elements }: Memory) => `${heap_mb.toFixed(1)} MB of heap, ${elements} elements`;
  return [
    `The table of ${urls.toLocaleString('en')} results in Chromium, the worst of ${ROUNDS} rounds`,
    `  wheel       ${frames(wheel)}`,
    `  scroll bar  ${frames(drag)}`,
    `  memory      ${memory(before)} before; ${memory(after)} after`,
    ...Object.entries(jump_ms).map(
      ([name, { median, worst }]) =>
        `  jump, ${name.padEnd(7)} rows after ${median.toFixed(0)} ms, at the most ${worst.toFixed(0)} ms`,
    ),
  ].join('\n');
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { urls: { type: 'string', default: '1000000' }, 'first-page': { type: 'boolean', default: false } },
  });
  if (!values['first-page']) console.log(`${consoleTable(await benchConsole({ urls: Number(values.urls) }))}\n`);
  console.log(firstPageTable(await benchFirstPage()));
}
