// `ledger verify`: replays every account from the log alone, and names each entry that breaks a rule.
import { RULES, type Violation } from '../../audit/findings.ts';
import { isSignedBy, problemOfHead, restoreBefore } from '../../audit/heads.ts';
import { AUDITED, openLedgerAudit } from '../../audit/ledger-audit.ts';
import { type AsOf, isAfter, type LedgerSource, type SignedHead } from '../../audit/source.ts';
import type { AuditReport } from '../../audit/types.ts';
import type { LogForked } from '../../events/service.ts';
import { AUDITED_WORK, WORK } from '../../events/two-streams.ts';
import { UnreadableEvent } from '../../events/unreadable.ts';
import { closing } from '../closing.ts';
import { type Command, count, EXIT, type Exit, type Run } from './command.ts';
import { AS_OF, asOf, GRACE, graceOf, HEADS, headsOf, openSource, SINCE_HEAD, sinceHeadOf } from './ledger-options.ts';
import { type SinceSizes, sinceHead, textOfSince } from './since-head.ts';

/** Violations that are printed; all are counted. */
const SHOWN = 1_000;

export const ledgerVerify: Command = {
  summary: 'replay every account from the log alone, and name each entry that breaks a rule',
  options: { 'as-of': AS_OF, ...HEADS, 'since-head': SINCE_HEAD, grace: GRACE },
  async run(run) {
    const [heads, since] = [await headsOf(run), await sinceHeadOf(run)];
    const kept = since === null ? heads.kept : [...heads.kept, since];
    const wanted = { as_of: asOf(run), grace_ms: graceOf(run), heads: { ...heads, kept }, since };
    await using source = closing(await openSource(run));
    return await verify(run, () => source, wanted);
  },
};

/** Audits a source and prints what it finds. */
export async function verify(
  run: Run,
  open: (found: (violation: Violation) => void) => LedgerSource,
  wanted: Wanted,
): Promise<Exit> {
  const shown: Violation[] = [];
  let damaged = 0;
  const note = (violation: Violation) => {
    if (shown.length < SHOWN) shown.push(violation);
  };
  const foundInSource = (violation: Violation) => {
    damaged += 1;
    note(violation);
  };
  const source = open(foundInSource);
  const lost: string[] = [];
  const forks = await forksOf(source, foundInSource);
  const isOfLost = (head: SignedHead) => {
    const fork = restoreBefore(head, forks);
    if (fork !== null) lost.push(lostHead(head, fork));
    return fork !== null;
  };
  const { heads, since: since_head = null } = wanted;
  const kept = heads.kept.filter((head) => !isOfLost(head));
  const report = await audit(source, { ...wanted, heads: { ...heads, kept } }, note);
  report.violations += damaged;
  const since = since_head && (await sinceHead(source, sizesWithin(since_head, forks), wanted.as_of));
  const printed = { ...report, found: shown, not_proved: lost, ...(since && { since_head: since }) };
  if (run.json) run.out.write(`${JSON.stringify(printed, null, 2)}\n`);
  else
    run.out.write(
      `${since === null ? '' : textOfSince(since)}${textOf(report, shown, lost, wanted.of_file ? scopeOf(report, kept.length) : '')}`,
    );
  if (report.violations > 0) return EXIT.violation;
  return report.later > 0 || lost.length > 0 ? EXIT.unknown : EXIT.clean;
}

async function forksOf(source: LedgerSource, found: (violation: Violation) => void): Promise<LogForked[]> {
  try {
    return await Array.fromAsync(source.forks());
  } catch (error) {
    if (!(error instanceof UnreadableEvent)) throw error;
    found({ rule: 'unreadable', ...error.place, message: error.message });
    return [];
  }
}

const lostHead = ({ tree_size }: SignedHead, { backup_began_at, ledger_entries }: LogForked) =>
  `the head of ${count(tree_size, 'entry', 'entries')} was signed after the backup of ${backup_began_at}, of ${count(ledger_entries, 'entry', 'entries')}, ` +
  'that this log was restored from: keep a new head';

/** What a kept head is of that is in this log too. */
function sizesWithin(head: SignedHead, forks: readonly LogForked[]): SinceSizes {
  const { ledger_entries, billing_events = null } = restoreBefore(head, forks) ?? {
    ledger_entries: head.tree_size,
    billing_events: head.billing?.size,
  };
  return { tree_size: ledger_entries, billing_size: billing_events };
}

export interface Wanted {
  /** The source is a file, whose last line says what of it is proved. */
  of_file?: boolean;
  as_of: AsOf | null;
  grace_ms: number | undefined;
  /** Heads that the auditor has kept, and the keys that may have signed any; null: those that the heads name. */
  heads: { kept: readonly SignedHead[]; keys: readonly string[] | null };
  /** Shows the entries after this head, which is one of those kept. */
  since?: SignedHead | null;
}

async function audit(
  source: LedgerSource,
  { as_of, grace_ms, heads: { kept, keys } }: Wanted,
  found: (violation: Violation) => void,
): Promise<AuditReport> {
  const wrong: Violation[] = [];
  const listed = await listedHeads(source, as_of, wrong);
  // A head vouches for all before it: what came before the first one of a trusted key needs no such signature itself.
  const from =
    keys === null
      ? 0
      : Math.max(
          0,
          listed.findIndex((head) => isSignedBy(head, keys)),
        );
  // Without a key that the auditor trusts, a kept head is what they say it is.
  const signed = keys === null ? listed : [...listed.slice(from), ...kept];
  for (const head of signed) {
    const message = problemOfHead(head, keys);
    if (message !== null) wrong.push({ rule: 'head', ...head.place, message });
  }
  wrong.push(...((await source.gaps?.()) ?? []));
  for (const violation of wrong) found(violation);
  const heads = [...listed, ...kept];
  const auditing = openLedgerAudit({
    ...{ found, heads },
    ...(grace_ms !== undefined && { grace_ms }),
  });
  try {
    let is_partial = false;
    if (as_of === null && source.digests) for await (const page of source.digests()) auditing.takeDigests(page);
    else {
      for await (const event of source.events(AUDITED, null)) {
        is_partial = as_of !== null && isAfter(event, as_of);
        if (is_partial) break;
        auditing.take(event);
      }
    }
    for await (const job_id of source.deletedAfter(auditing.position())) auditing.deletedLater(job_id);
    const report = auditing.finish(is_partial);
    const first = auditing.firstEntry();
    // The first entry's head is signed within seconds.
    if (
      first !== null &&
      wrong.every(({ rule }) => rule !== 'head') &&
      listed.length === 0 &&
      auditing.isLate(first.at)
    ) {
      const message = 'the ledger has entries from here on, but the log has no signed head';
      const missing: Violation = { rule: 'head', ...first.place, message };
      wrong.push(missing);
      found(missing);
    }
    report.violations += wrong.length;
    return report;
  } finally {
    auditing.close();
  }
}

/** The heads up to the first that cannot be read. Adds what is wrong with their stream to `wrong`. */
async function listedHeads(source: LedgerSource, as_of: AsOf | null, wrong: Violation[]): Promise<SignedHead[]> {
  const listed: SignedHead[] = [];
  try {
    for await (const head of source.heads(as_of)) {
      const { place } = head;
      const before = listed.at(-1)?.place.revision ?? -1;
      if (place.revision !== before + 1) {
        wrong.push({
          rule: 'head',
          ...place,
          message: `the head of revision ${place.revision} comes after ${before + 1} heads`,
        });
      }
      listed.push(head);
    }
  } catch (error) {
    if (!(error instanceof UnreadableEvent)) throw error;
    const message = 'the head cannot be read, and those after it are not compared';
    wrong.push({ rule: 'head', ...error.place, message });
  }
  return listed;
}

/** What a file proves: its sums are made anew by whoever changes it, and heads that somebody has kept are not. */
function scopeOf({ entries, billing_events }: AuditReport, kept: number): string {
  if (kept === 0)
    return '; without a head that you have kept (--head), whoever wrote the file may have made up all of it';
  const billing = billing_events > 0 ? ` and of ${count(billing_events, 'event')} of payments and subscriptions` : '';
  return (
    `; proved by the heads: every field of ${count(entries, 'entry', 'entries')}${billing}, as far as the newest head reaches; ` +
    'not proved: positions, the header with its closed periods, the last line, and what jobs and results say, beyond that their numbers fit the entries'
  );
}

function textOf(report: AuditReport, shown: readonly Violation[], lost: readonly string[], scope: string): string {
  const { position, at, events, entries, accounts, balance, owed, root_hash, heads_checked, open, violations, later } =
    report;
  const { billing_events, billing_root_hash } = report;
  const waiting = AUDITED_WORK.map((work) => WORK[work].audited).map(
    ({ as, half_done }) => [open[as], half_done] as const,
  );
  const lines = [
    `head: position ${position || '(the beginning)'}${at === null ? '' : ` of ${at}`}`,
    `  ${count(entries, 'entry', 'entries')} under the root ${root_hash}`,
    ...(billing_events > 0
      ? [`  ${count(billing_events, 'event')} of payments and subscriptions under the root ${billing_root_hash}`]
      : []),
    `  ${count(heads_checked, 'signed head')} compared`,
    `${count(accounts, 'account')}: ${count(balance, 'credit')}${owed > 0 ? `, ${count(owed, 'credit')} owed` : ''}`,
    `${count(events, 'event')} read, ${count(report.jobs, 'job')}, ${count(report.jobs_purged, 'of them deleted', 'of them deleted')}`,
    ...waiting.filter(([number]) => number > 0).map(([number, what]) => `in progress: ${number} ${what}`),
    ...shown.map(lineOf),
    ...(violations > shown.length ? [`… and ${count(violations - shown.length, 'violation')} more`] : []),
    ...lost.map((message) => `not proved: ${message}`),
    ...(later > 0
      ? [
          `not judged: ${count(later, 'event')} written by a later version of the service: run the audit of that version`,
        ]
      : []),
    violations === 0
      ? `ok: every rule holds${later > 0 ? ' of the others' : ''}${scope}`
      : `${count(violations, 'violation')}`,
  ];
  return `${lines.join('\n')}\n`;
}

function lineOf({ rule, position, stream, revision, message }: Violation): string {
  const place = position === null ? '' : ` at position ${position}${stream === null ? '' : `, ${stream} ${revision}`}`;
  return `violation${place}: ${message} (${rule}: ${RULES[rule]})`;
}
