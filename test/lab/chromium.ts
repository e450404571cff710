// Headless Chromium as the oracle: what a person sees who follows the link.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

const run = promisify(execFile);
const PATHS = [process.env.CHROMIUM ?? '', '/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const WAIT_MS = 8000;

export interface Oracle {
  /** The status of the page that the browser shows, or the name of its error. */
  open(url: string): Promise<string>;
  close(): Promise<void>;
}

/** Null where no Chromium is installed. `folder` holds the authority as `ca.pem`. It knows the authority where `certutil` (libnss3-tools) is installed. */
export async function startOracle(folder: string, rules: string | null): Promise<Oracle | null> {
  const executablePath = PATHS.find((path) => path !== '' && existsSync(path));
  if (executablePath === undefined) return null;
  const store = join(folder, '.pki', 'nssdb');
  await mkdir(store, { recursive: true });
  const trust = ['-A', '-d', `sql:${store}`, '-n', 'lab', '-t', 'C,,', '-i', join(folder, 'ca.pem')];
  await run('certutil', ['-N', '-d', `sql:${store}`, '--empty-password']).catch(() => {});
  await run('certutil', trust).catch(() => console.error('Without certutil, Chromium knows none of the certificates.'));
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage', ...(rules === null ? [] : [`--host-resolver-rules=${rules}`])],
    env: { ...process.env, HOME: folder } as Record<string, string>,
  });
  return {
    async open(url) {
      const context = await browser.newContext();
      try {
        const opened = await context.newPage();
        const answer = await opened.goto(url, { waitUntil: 'commit', timeout: WAIT_MS });
        return `${answer?.status() ?? 'nothing'}`;
      } catch (error) {
        return /net::ERR_(\w+)/.exec(`${error}`)?.[1]?.toLowerCase() ?? 'no answer';
      } finally {
        await context.close();
      }
    },
    close: () => browser.close(),
  };
}
