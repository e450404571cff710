// The outcome of any upload: URLs, or an IntakeError with a code, and soon.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectUrls } from '../../intake/collect-urls.ts';
import { INTAKE_ERROR_CODES } from '../../intake/errors.ts';
import { openSheet } from '../../intake/open-sheet.ts';

export const LIMITS = {
  max_file_bytes: 10_000_000,
  max_inflated_bytes: 20_000_000,
  max_row_chars: 4_000,
  max_url_chars: 300,
};
/** Processor time of one thread: hundreds of times the need of any of these files. */
const MOST_CPU_MS = 10_000;

/** The number of URLs of a file, or the code of its error. Throws any error but an IntakeError. */
export async function outcomeOf(content: Uint8Array | string, filename = 'x.csv'): Promise<number | string> {
  const folder = await mkdtemp(join(tmpdir(), 'foreign-'));
  const path = join(folder, 'x');
  try {
    await writeFile(path, content);
    return await outcome(async () => {
      const sheet = await openSheet(path, filename, LIMITS);
      return collectUrls(sheet.cells(), LIMITS);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

export async function outcome(open: () => Promise<ReturnType<typeof collectUrls>>): Promise<number | string> {
  const before = process.threadCpuUsage();
  const found = await resultOf(open);
  const { user, system } = process.threadCpuUsage(before);
  if (user + system > MOST_CPU_MS * 1_000) throw new Error(`it took ${(user + system) / 1_000} ms`);
  return found;
}

async function resultOf(open: () => Promise<ReturnType<typeof collectUrls>>): Promise<number | string> {
  try {
    const urls = await open();
    for await (const page of urls) {
      const bad = page.find((url) => !/^https?:/i.test(url) || !URL.canParse(url));
      if (bad !== undefined) throw new Error(`no URL: ${JSON.stringify(bad)}`);
    }
    return urls.summary.accepted;
  } catch (error) {
    const { name, code } = error as { name: string; code: string };
    if (name !== 'IntakeError' || !(code in INTAKE_ERROR_CODES)) throw error;
    return code;
  }
}
