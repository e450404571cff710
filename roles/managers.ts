// The process managers by name: what stands still while one fails, in words for operators, and for how long its work may wait. Readiness,
// administration, metrics, alerts and the runbook take it from here.
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time/units.ts';

interface ManagerFacts {
  /** Completes "it fails: …". */
  stands: string;
  /** While all is well, no work waits for longer. */
  late_after_ms: number;
}

export const MANAGERS = {
  dispatch: { stands: 'no work is handed to checkers', late_after_ms: 10 * MINUTE_MS },
  progress: { stands: 'jobs without progress do not fail', late_after_ms: 10 * MINUTE_MS },
  completion: { stands: 'jobs whose URLs are all checked stay open', late_after_ms: 10 * MINUTE_MS },
  ceilings: { stands: 'jobs that have used their credits do not pause', late_after_ms: 10 * MINUTE_MS },
  settlement: { stands: 'the unused credits of ended jobs do not go back', late_after_ms: 10 * MINUTE_MS },
  'domain checks': { stands: 'ended jobs are not counted by domain', late_after_ms: HOUR_MS },
  sweeper: { stands: 'the credits of abandoned submissions stay reserved', late_after_ms: 3 * HOUR_MS },
  webhooks: { stands: 'webhooks are not sent', late_after_ms: 10 * MINUTE_MS },
  'webhook endpoints': { stands: 'webhook endpoints that fail are not disabled', late_after_ms: HOUR_MS },
  erasures: { stands: 'users who asked for it are not erased', late_after_ms: DAY_MS },
  'credit expiry': { stands: 'credits do not expire at their time', late_after_ms: HOUR_MS },
  'plan grace': { stands: 'unpaid plans do not end', late_after_ms: HOUR_MS },
  trials: { stands: 'trials do not begin', late_after_ms: HOUR_MS },
  'sandbox payments': { stands: 'payments of the sandbox are in no list', late_after_ms: HOUR_MS },
  'low balances': { stands: 'nobody is told that credits run low', late_after_ms: HOUR_MS },
  'expiring credits': { stands: 'nobody is told that credits will expire', late_after_ms: DAY_MS },
  mails: { stands: 'mails are not sent', late_after_ms: 2 * HOUR_MS },
  'ledger heads': { stands: 'the ledger gets no signed heads', late_after_ms: HOUR_MS },
  'ledger witness': { stands: 'the signed heads are not kept elsewhere', late_after_ms: HOUR_MS },
  'ledger audit': { stands: 'the ledger is not audited', late_after_ms: HOUR_MS },
  purges: { stands: 'the data of deleted jobs stays', late_after_ms: DAY_MS },
  retention: { stands: 'the results of old jobs stay', late_after_ms: 2 * DAY_MS },
  'endpoint keys': { stands: 'the keys of deleted webhook endpoints stay', late_after_ms: HOUR_MS },
  'key retirement': { stands: 'old idempotency keys stay', late_after_ms: DAY_MS },
  backups: { stands: 'backups are neither written nor removed', late_after_ms: 6 * HOUR_MS },
} as const satisfies Readonly<Record<string, ManagerFacts>>;

export type ManagerName = keyof typeof MANAGERS;

/** What the working process of the role says of a manager in its heartbeat. */
export interface ManagerSign {
  /** A name of `MANAGERS`; other versions of the service may have others. */
  name: string;
  /** Failures since the process took the work over: of passes, and of the work for single items. */
  failures: number;
  /** Since when passes fail; null: the last one succeeded. */
  failing_ms: number | null;
  /** Items that failed and wait for their next attempt. */
  put_off: number;
  /** How long the oldest item waits; 0: nothing waits. */
  oldest_pending_ms: number;
  /** What receivers answered since the process took the work over; absent for managers that send nothing. */
  sent?: { taken: number; refused: number };
  /** Why the last failure was, without secrets; null: none, or only the log says it. */
  reason: string | null;
}

/**
 * What is wrong with a manager, as a sentence for operators; null: nothing.
 * @example troubleOf({ name: 'mails', failures: 3, failing_ms: 60_000, put_off: 0, oldest_pending_ms: 60_000, reason: null }) // 'mails: fails since 60 s, so mails are not sent'
 */
export function troubleOf({ name, failing_ms, put_off, oldest_pending_ms, reason }: ManagerSign): string | null {
  const facts: ManagerFacts | undefined = (MANAGERS as Readonly<Record<string, ManagerFacts>>)[name];
  const because = reason === null ? '' : ` (${reason})`;
  if (failing_ms !== null && failing_ms > 0)
    return `${name}: fails since ${secondsOf(failing_ms)} s${because}${facts ? `, so ${facts.stands}` : ''}`;
  if (facts && oldest_pending_ms > facts.late_after_ms)
    return `${name}: its oldest work waits since ${secondsOf(oldest_pending_ms)} s${because}`;
  if (put_off > 0) return `${name}: ${put_off} failed and will be tried again${because}`;
  return null;
}

const secondsOf = (ms: number) => Math.round(ms / 1000);
