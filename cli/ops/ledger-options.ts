// The options that the commands of the ledger share.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { toRowid } from '../../adapters/eventstore/sqlite/position.ts';
import { readPagesAhead } from '../../adapters/eventstore/sqlite/read-ahead.ts';
import { streamGaps } from '../../adapters/eventstore/sqlite/stream-gaps.ts';
import type { Digests } from '../../audit/digests.ts';
import { sourceOfFile } from '../../audit/export-file.ts';
import type { Violation } from '../../audit/findings.ts';
import { keptHead } from '../../audit/heads.ts';
import { AUDITED } from '../../audit/ledger-audit.ts';
import { isVerifier, notesIn } from '../../audit/signed-note.ts';
import { type AsOf, type LedgerSource, type SignedHead, sourceOfLog } from '../../audit/source.ts';
import { DAY_MS, MINUTE_MS } from '../../time/units.ts';
import { type Option, type Run, UsageError } from './command.ts';
import { openWrittenLog } from './open-log.ts';

export const AS_OF: Option = {
  type: 'string',
  value: 'WHEN',
  means:
    'up to a position of the log, a time such as 2026-01-31T12:00:00Z, or the end of a day (UTC) such as 2026-01-31',
};

const DAY = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;
/** A position of the embedded log, whose leading zeros may be left out; the next one is EventStoreDB's. */
const ROWID = /^\d{1,16}$/;
const SERVER_POSITION = /^[0-9a-f]{32}$/;

export const asOf = (run: Pick<Run, 'values'>): AsOf | null => pointOf(run, 'as-of');

/** The position or time that an option names, of a day its start or its end; null without it. */
export function pointOf({ values }: Pick<Run, 'values'>, option: string, of_day: 'start' | 'end' = 'end'): AsOf | null {
  const given = values[option];
  if (typeof given !== 'string') return null;
  if (SERVER_POSITION.test(given)) return { position: given };
  if (ROWID.test(given)) return { position: given.padStart(16, '0') };
  const time = DAY.test(given)
    ? Date.parse(given) + (of_day === 'end' ? DAY_MS - 1 : 0)
    : TIME.test(given)
      ? Date.parse(given)
      : Number.NaN;
  if (Number.isNaN(time) || !isDay(given.slice(0, 10)))
    throw new UsageError(`--${option} ${given}: it must be a position, a time or a day`);
  return { time };
}

/** `Date.parse` takes the 30th of February for the 2nd of March. */
const isDay = (day: string) => new Date(day).toISOString().startsWith(day);

export const FILE: Option = { type: 'string', value: 'FILE', means: 'read an exported file instead of the log' };

export const GRACE: Option = {
  type: 'string',
  value: 'MINUTES',
  means: 'how long the service may take for a refund, a release or a grant before its lack is a violation (120)',
};

export function graceOf({ values: { grace } }: Pick<Run, 'values'>): number | undefined {
  if (grace === undefined) return undefined;
  const minutes = Number(grace);
  if (!(minutes >= 0)) throw new UsageError(`--grace ${grace}: it must be a number of minutes`);
  return minutes * MINUTE_MS;
}

export const HEADS: Readonly<Record<string, Option>> = {
  head: {
    type: 'string',
    value: 'FILE',
    multiple: true,
    means: 'signed heads that you have kept, one or several: the ledger must begin with the entries of each',
  },
  key: {
    type: 'string',
    value: 'KEY',
    multiple: true,
    means: 'the only public key that may have signed the heads, from the first that it has signed on',
  },
};

/** What the options say about heads. Throws `UsageError` for a file that is no head. */
export async function headsOf({
  values,
  folder,
}: Pick<Run, 'values' | 'folder'>): Promise<{ kept: SignedHead[]; keys: string[] | null }> {
  const all = (option: string) => (values[option] as string[] | undefined) ?? [];
  const kept = (await Promise.all(all('head').map((file) => headsIn(resolve(folder, file), file)))).flat();
  const keys = all('key');
  for (const key of keys) {
    if (!isVerifier(key)) throw new UsageError(`--key ${key}: it must be a key as \`GET /audit/heads\` names it`);
  }
  return { kept, keys: keys.length > 0 ? keys : null };
}

export const SINCE_HEAD: Option = {
  type: 'string',
  value: 'FILE',
  means:
    'a head that you have kept, or the last of several: the ledger must begin with its entries, and what came after it is shown with who did it',
};

export async function sinceHeadOf({ values, folder }: Pick<Run, 'values' | 'folder'>): Promise<SignedHead | null> {
  const file = values['since-head'];
  return typeof file === 'string' ? (await headsIn(resolve(folder, file), file)).at(-1)! : null;
}

/** At least one. */
async function headsIn(path: string, name: string): Promise<SignedHead[]> {
  const heads = notesIn(await readFile(path, 'utf8')).map(keptHead);
  if (heads.length === 0 || heads.includes(null)) throw new UsageError(`${name} holds no signed head`);
  return heads as SignedHead[];
}

/** What the thread that reads ahead of an audit runs. */
const DIGESTS = new URL('../../audit/digests.ts', import.meta.url).href;

const NEVER_DELETED = ['credits', 'job', 'payment', 'subscription', 'ledger_heads'];

/** The log that the settings name, or the file of `--file`. */
export async function openSource(run: Run): Promise<LedgerSource> {
  const { file } = run.values;
  if (typeof file === 'string') return sourceOfFile(resolve(run.folder, file));
  const { log, path } = await openWrittenLog(run);
  if (path === null) return sourceOfLog(log);
  const gaps = async () =>
    (await streamGaps(path, NEVER_DELETED)).map((gap): Violation => ({ rule: 'streams', ...gap }));
  async function* digests() {
    const end = toRowid(await log.head());
    yield* readPagesAhead<Digests>({ path: path!, filter: { categories: AUDITED }, from: 0, end, packer: DIGESTS });
  }
  return { ...sourceOfLog(log), gaps, digests };
}
