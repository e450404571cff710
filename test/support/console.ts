// The console in a real browser, for tests: a service, Chromium, and pages that are signed in. A page that breaks the policy of the
// console, throws, or logs an error fails its test.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext, TestFn } from 'ava';
import { type Browser, chromium, type Page } from 'playwright-core';
import { issueLocalCode } from '../../adapters/identity/index.ts';
import { signInLink } from '../../cli/sign-in-link.ts';
import { startTestService, type TestService } from './service.ts';
import { type Answer, openSite, type Site } from './sites.ts';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-headless-shell'];
const CHROMIUM = process.env.CHROMIUM ?? PATHS.find((path) => existsSync(path)) ?? PATHS[0]!;
const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'));
/** As long as `until`: a busy machine may take a minute for a page, and what never comes still ends the test. */
const WAIT_MS = 280_000;

export interface Visitor {
  /** Nobody is signed in without it. */
  user?: string;
  is_admin?: boolean;
  theme?: 'light' | 'dark';
  width?: number;
  has_scripts?: boolean;
}

export interface TestConsole extends TestService {
  browser: Browser;
  /** A link that signs the user in once. */
  link(user: string, is_admin?: boolean): Promise<string>;
  /**
   * Opens a page of the console (`/jobs`), or any address of the service (`http…`), in a profile of its own. `t` fails when the page logs
   * an error, and the page closes with it.
   */
  open(t: ExecutionContext, path: string, visitor?: Visitor): Promise<Page>;
}

export async function startConsole(env: Record<string, string> = {}): Promise<TestConsole> {
  if (!existsSync(CHROMIUM)) {
    throw new Error(`There is no ${CHROMIUM}: apt-get install chromium, or set CHROMIUM. Without it run \`npm test\`.`);
  }
  const service = await startTestService(env);
  // Chromium's own sandbox wants rights that containers lack; it shows pages of this service alone.
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    // Pages have the scroll bars that readers see.
    ignoreDefaultArgs: ['--hide-scrollbars'],
  });
  const link = async (user_id: string, is_admin = false) => {
    const of = { user_id, email: `${user_id}@example.com`, is_admin, hours: 1 };
    return signInLink(service.url, await issueLocalCode(service.data_dir, of));
  };
  return {
    ...service,
    browser,
    link,
    async open(t, path, { user, is_admin, theme = 'light', width = 1280, has_scripts = true } = {}) {
      const context = await browser.newContext({
        ...{ viewport: { width, height: 800 }, colorScheme: theme, locale: 'en-GB', timezoneId: 'Europe/Berlin' },
        javaScriptEnabled: has_scripts,
      });
      context.setDefaultTimeout(WAIT_MS);
      const page = await context.newPage();
      page.on('pageerror', (error) => t.fail(`${path}: ${error.stack}`));
      page.on('console', (message) => {
        // The browser logs each refusal of the service; tests look at what the page makes of it.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
          t.fail(`${path}: ${message.text()}`);
        }
      });
      t.teardown(async () => {
        // A route's handler may still be at work on a request of the page, and fails when that closes.
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        await context.close();
      });
      if (user !== undefined) {
        await page.goto(await link(user, is_admin));
        await page.getByRole('button', { name: user }).waitFor();
      }
      await page.goto(path.startsWith('http') ? path : `${service.url}/console${path}`);
      return page;
    },
    async stop(look) {
      await browser.close();
      await service.stop(look);
    },
  };
}

/** A console and a website to check, for all tests of a file: they start before the first one and end after the last one. */
export function consoleAndSite(
  { before, after }: Pick<TestFn, 'before' | 'after'>,
  { answer, env }: { answer?: Answer; env?: Record<string, string> | Promise<Record<string, string>> } = {},
): { service: TestConsole; site: Site } {
  const [service, site] = [{} as TestConsole, {} as Site];
  before(async () => {
    Object.assign(site, await openSite(answer));
    Object.assign(service, await startConsole(await env));
  });
  after.always(async () => {
    await service.stop?.();
    await site.close?.();
  });
  return { service, site };
}

/**
 * Fails for each fault that axe finds on the page as it is, in both themes, and for a page that is wider than the window on a phone or at
 * 200 %. It asks for reduced motion, where nothing may move.
 */
export async function assertAccessible(t: ExecutionContext, page: Page): Promise<void> {
  const axe = await readFile(AXE, 'utf8');
  await page.evaluate(axe);
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    const violations = await page.evaluate<{ id: string; help: string; nodes: { html: string }[] }[]>(
      'axe.run().then(({ violations }) => violations)',
    );
    for (const { id, help, nodes } of violations) {
      t.fail(`${page.url()}, ${theme}: ${help} (${id})\n${nodes.map(({ html }) => html).join('\n')}`);
    }
  }
  const viewport = page.viewportSize()!;
  // A phone, and a window of 1280 px at 200 %.
  for (const [width, height] of [
    [360, 740],
    [640, 400],
  ] as const) {
    await page.setViewportSize({ width, height });
    const overhang = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    t.true(overhang <= 0, `${page.url()}: ${overhang} px wider than a window of ${width} px`);
  }
  await page.setViewportSize(viewport);
  t.is(await page.evaluate('document.getAnimations().length'), 0, `${page.url()}: something moves`);
}

/** A user of its own for a test, so that tests do not see each other's jobs. */
export const newUser = (): string => `user-${randomUUID().slice(0, 8)}`;
