// `doctor`: looks at everything once, and says in sentences what is wrong and what to do. It sees every process by its heartbeats, wherever it runs.
import { setTimeout as sleep } from 'node:timers/promises';
import { type MaintenanceState, openMaintenanceMode } from '../../commands/maintenance.ts';
import type { LogSize } from '../../events/event-store.ts';
import { isLarge, limitedTo } from '../../events/log-size.ts';
import { openFollowers } from '../../http/server/followers.ts';
import { paymentIssues } from '../../readmodels/billing/payment-issues.ts';
import { mails } from '../../readmodels/mails.ts';
import { backupRehearsals, backups, REHEARSED_WITHIN_MS } from '../../readmodels/operations/backups.ts';
import { PROJECTOR, projectionState, projectionStates } from '../../readmodels/projection-state.ts';
import { webhookEndpoints } from '../../readmodels/webhooks.ts';
import { RENEWED_BEFORE_MS } from '../../roles/certificates.ts';
import { diskOf } from '../../roles/disk.ts';
import { troubleOf } from '../../roles/managers.ts';
import { certificatesOf, type RoleSign, roleSigns } from '../../roles/role-signs.ts';
import { readConfig } from '../../settings/config.ts';
import { HOUR_MS, MINUTE_MS } from '../../time/units.ts';
import { closing } from '../closing.ts';
import { type Command, count, EXIT, printable } from './command.ts';
import { liveReading, openDocumentsToRead, type ReadDocuments } from './open-documents.ts';
import { openLogToRead } from './open-log.ts';

/** What is wrong, what to do, and the entry of the runbook. */
export interface Finding {
  wrong: string;
  do: string;
  runbook: string;
}

/** A living role gives a heartbeat each second. */
const HEARTBEATS_MS = 2_500;
const ROLES = ['http', 'projector', 'processes', 'checker'] as const;
const CLOCK_MS = 5_000;
const BACKUP_OLD_MS = 48 * HOUR_MS;
const MAIL_LATE_MS = 2 * HOUR_MS;
const DISK_SHARE = 0.1;
const SOON_HOURS = 24;
const MANY = 1_000;
const LAG_MS = MINUTE_MS;
const STANDS_MS = 10 * MINUTE_MS;
const AUDIT_OLD_MS = HOUR_MS;
const MAINTENANCE_MS = 2 * HOUR_MS;

type LogToRead = Awaited<ReturnType<typeof openLogToRead>>['log'];

export const doctor: Command = {
  summary: 'look at everything once, and say in sentences what is wrong and what to do',
  options: {},
  async run(run) {
    const findings: Finding[] = [];
    const { data_dir, event_log_max_mb } = readConfig(run.env);
    findings.push(...diskFindings('this machine', await diskOf(data_dir)));
    await using opened = new AsyncDisposableStack();
    let log: LogToRead | null = null;
    try {
      log = opened.use(closing((await openLogToRead(run)).log));
      findings.push(...sizeFindings(limitedTo(await log.size!(), event_log_max_mb)));
      findings.push(...maintenanceFindings(await openMaintenanceMode(log).read()));
    } catch (error) {
      findings.push(awayFinding('the event log', error));
    }
    try {
      await using documents = closing(await openDocumentsToRead(run));
      findings.push(...(await documentFindings(documents)));
      if (log) findings.push(...(await lagFindings(log, documents)));
    } catch (error) {
      findings.push(awayFinding('the store of documents', error));
    }
    if (run.json) run.out.write(`${JSON.stringify({ findings }, null, 2)}\n`);
    else if (findings.length === 0) run.out.write('nothing is wrong\n');
    else
      for (const one of findings) {
        run.out.write(printable(`${one.wrong}.`));
        run.out.write(printable(`  ${one.do} (docs/guides/runbook.md#${one.runbook})`));
      }
    return findings.length === 0 ? EXIT.clean : EXIT.violation;
  },
};

const awayFinding = (store: string, error: unknown): Finding => ({
  wrong: `${store} cannot be read: ${(error as Error).message}`,
  do: 'Bring it back, or correct the setting that names it; the service waits and continues by itself.',
  runbook: 'servicenotready',
});

async function documentFindings(documents: ReadDocuments): Promise<Finding[]> {
  const before = await documents.reading(roleSigns).find({}, { limit: MANY });
  await sleep(HEARTBEATS_MS);
  const signs = await documents.reading(roleSigns).find({}, { limit: MANY });
  const counts = new Map(before.map(({ _id, count }) => [_id, count]));
  const alive = signs.filter(({ _id, count }) => counts.get(_id) !== count);
  return [
    ...ROLES.flatMap((role) => roleFindings(role, alive)),
    ...alive.flatMap(machineFindings),
    ...dependencyFindings(alive),
    ...certificateFindings(alive),
    ...workFindings(alive),
    ...(await storedFindings(documents)),
  ];
}

/** Whether a process works in the role. */
function roleFindings(role: string, alive: readonly RoleSign[]): Finding[] {
  const own = alive.filter((sign) => sign.role === role);
  if (own.length === 0)
    return [
      { wrong: `no process has the role ${role}`, do: `Start one with ROLES=${role}.`, runbook: 'servicenotready' },
    ];
  if (own.some(({ state }) => state === 'working')) return [];
  const reason = own.find((sign) => sign.reason !== null)?.reason ?? 'all stand by';
  return [
    {
      wrong: `the role ${role} does not work: ${reason}`,
      do: 'Bring back what it waits for; it continues by itself.',
      runbook: 'servicenotready',
    },
  ];
}

function machineFindings({ role, machine, clock_ms, disk }: RoleSign): Finding[] {
  const found = diskFindings(`the machine ${machine} of the role ${role}`, disk ?? null);
  const ahead_ms = clock_ms === undefined ? 0 : clock_ms - Date.now();
  if (Math.abs(ahead_ms) > CLOCK_MS)
    found.push({
      wrong: `the clock of ${machine} (${role}) differs from the one here by ${Math.round(Math.abs(ahead_ms) / 1000)} s`,
      do: 'Let both machines follow a time server (chrony, systemd-timesyncd).',
      runbook: 'clocksdisagree',
    });
  return found;
}

const inUnits = (bytes: number) => (bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`);

function diskFindings(whose: string, disk: RoleSign['disk']): Finding[] {
  if (!disk) return [];
  const { free_bytes, size_bytes, hours_left = null } = disk;
  const is_soon = hours_left !== null && hours_left < SOON_HOURS;
  if (free_bytes >= size_bytes * DISK_SHARE && !is_soon) return [];
  const soon = is_soon ? `, and is full in ${count(Math.floor(hours_left), 'hour')} at the present rate` : '';
  return [
    {
      wrong: `the disk of ${whose} has ${inUnits(free_bytes)} left of ${inUnits(size_bytes)}${soon}`,
      do: 'Make room, or move DATA_DIR to a larger disk: writes are refused when it is full, and nothing is lost.',
      runbook: 'diskfills',
    },
  ];
}

function sizeFindings(size: LogSize): Finding[] {
  if (!isLarge(size)) return [];
  return [
    {
      wrong: `the event log has ${inUnits(size.bytes)} of the ${inUnits(size.limit_bytes)} that it may have`,
      do: 'Give it a larger disk or plan and raise EVENT_LOG_MAX_MB, or move it to another store by a backup.',
      runbook: 'eventloglarge',
    },
  ];
}

function maintenanceFindings(mode: MaintenanceState): Finding[] {
  if (mode === null || Date.now() - Date.parse(mode.started_at) < MAINTENANCE_MS) return [];
  return [
    {
      wrong: `maintenance mode is on since ${mode.started_at}: users change nothing`,
      do: 'End it on the page Maintenance of administration when the work is done.',
      runbook: 'maintenanceforgotten',
    },
  ];
}

/** One for each follower: what it makes lags together. */
async function lagFindings(log: LogToRead, documents: ReadDocuments): Promise<Finding[]> {
  const { followers } = await openFollowers({ log, documents, now: Date.now, count_to: 1 })();
  const late = followers.filter(({ state, lag_ms }) => state === 'live' && (lag_ms ?? 0) > LAG_MS);
  return [...Map.groupBy(late, ({ follower }) => follower)].map(([follower, rows]) => ({
    wrong: `the read models of the ${follower === PROJECTOR ? 'projector' : `follower ${follower}`} are ${Math.round(rows[0]!.lag_ms! / 1000)} s behind the event log`,
    do: 'Read the log of the role projector, which says why it does not move them.',
    runbook: 'readmodelslag',
  }));
}

function dependencyFindings(alive: readonly RoleSign[]): Finding[] {
  const all = alive.flatMap(({ dependencies = [] }) => dependencies);
  return [...new Set(all.map(({ name }) => name))].flatMap((name) => {
    const states = all.filter((one) => one.name === name);
    if (states.some(({ status }) => status !== 'away')) return [];
    const reason = states.find((one) => one.reason)?.reason;
    return [
      {
        wrong: `${name.replaceAll('_', ' ')} is away${reason ? `: ${reason}` : ''}`,
        do:
          name === 'mail'
            ? 'Run `npm run -s ops -- mails send ADDRESS`, which says what to correct.'
            : 'Bring it back.',
        runbook: 'dependencyaway',
      },
    ];
  });
}

function certificateFindings(alive: readonly RoleSign[]): Finding[] {
  const now = Date.now();
  return certificatesOf(alive)
    .filter(({ ends_at }) => Date.parse(ends_at) - now < RENEWED_BEFORE_MS)
    .map(({ of, ends_at }) => ({
      wrong: `the certificate of ${of.replaceAll('_', /[A-Z]/.test(of) ? '_' : ' ')} ${Date.parse(ends_at) < now ? 'has ended' : 'ends'} at ${ends_at}`,
      do: 'Renew it where it is made; restart the processes one after the other if it is a file of a setting.',
      runbook: 'certificateends',
    }));
}

function workFindings(alive: readonly RoleSign[]): Finding[] {
  const [worker] = alive.filter(({ role, state }) => role === 'processes' && state !== 'standing_by');
  const found = (worker?.managers ?? []).flatMap((sign): Finding[] => {
    const wrong = troubleOf(sign);
    if (wrong === null) return [];
    const runbook = sign.failing_ms !== null ? 'managerfails' : sign.put_off > 0 ? 'managerputsoff' : 'managerlate';
    return [{ wrong, do: `Read the log of the processes on ${worker!.machine}, by manager "${sign.name}".`, runbook }];
  });
  const { batches = 0 } = worker?.work?.lost ?? {};
  if (batches > 0)
    found.push({
      wrong: `the queue has lost ${count(batches, 'batch', 'batches')} since ${worker!.machine} took the work over; they were sent again`,
      do: 'Look at the log of the queue, its room and its replicas.',
      runbook: 'worklost',
    });
  const { oldest = null } = worker?.work ?? {};
  if (oldest !== null && oldest.for_ms > STANDS_MS)
    found.push({
      wrong: `a batch of the job ${oldest.job_id} has no results after ${Math.round(oldest.for_ms / 1000)} s`,
      do: 'Look at the role checker: that it runs, reaches the queue, and checks other jobs.',
      runbook: 'workstandsstill',
    });
  const audit = worker?.ledger_audit;
  if (audit && Date.now() - Date.parse(audit.completed_at ?? audit.began_at) > AUDIT_OLD_MS)
    found.push({
      wrong: `the audit of the ledger has not reached the end of the log since ${audit.completed_at ?? audit.began_at}`,
      do: `Read the log of the processes on ${worker!.machine}, by manager "ledger audit".`,
      runbook: 'ledgerauditstalled',
    });
  const violations = worker?.ledger_audit?.violations ?? 0;
  if (violations > 0)
    found.push({
      wrong: `the audit of the ledger has found ${count(violations, 'violation')}`,
      do: 'Run `npm run -s ops -- ledger verify`, and stop who can write to the store.',
      runbook: 'ledgerviolation',
    });
  return found;
}

/** What the documents say: parked events, backups, mails, webhooks, payments. */
async function storedFindings(documents: ReadDocuments): Promise<Finding[]> {
  const found: Finding[] = [];
  const now = Date.now();
  const states = (await documents.reading(projectionStates).find({})).map((one) => projectionState(one._id, one));
  for (const { name, parked } of states.map((state) => ({ name: state._id, parked: state.parked })))
    if (parked > 0)
      found.push({
        wrong: `the projection ${name} lacks ${count(parked, 'event')} that it could not apply`,
        do: 'Run `npm run -s ops -- park list`.',
        runbook: 'eventsparked',
      });
  const of_backups = await liveReading(documents, backups);
  const [newest] = await of_backups.find({ status: 'completed' }, { sort: { started_at: -1 }, limit: 1 });
  if (!newest || now - Date.parse(newest.started_at) > BACKUP_OLD_MS)
    found.push({
      wrong: newest ? `the newest backup was started at ${newest.started_at}` : 'there is no backup',
      do: 'Let your scheduler call POST /admin/backups each day, or run `npm run -s backup -- create` from cron.',
      runbook: 'backupold',
    });
  const [failed] = await of_backups.find({ status: 'failed' }, { sort: { started_at: -1 }, limit: 1 });
  if (failed && failed.started_at > (newest?.started_at ?? ''))
    found.push({
      wrong: `the last backup, which was started at ${failed.started_at}, failed`,
      do: 'Read why on the page Backups of administration, and start another one.',
      runbook: 'backupfailed',
    });
  const [rehearsal] = await (await liveReading(documents, backupRehearsals)).find(
    {},
    { sort: { rehearsed_at: -1 }, limit: 1 },
  );
  if (newest && (!rehearsal || now - Date.parse(rehearsal.rehearsed_at) > REHEARSED_WITHIN_MS))
    found.push({
      wrong: rehearsal
        ? `a backup was last restored to try it at ${rehearsal.rehearsed_at}`
        : 'no backup was ever restored to try it',
      do: 'Run `npm run -s backup -- rehearse`, which restores the newest one into an empty folder and removes it again.',
      runbook: 'backupnotrehearsed',
    });
  const [oldest] = await (await liveReading(documents, mails)).find(
    { status: 'due' },
    { sort: { created_at: 1 }, limit: 1 },
  );
  if (oldest && now - Date.parse(oldest.created_at) > MAIL_LATE_MS)
    found.push({
      wrong: `a mail is owed since ${oldest.created_at}`,
      do: 'Run `npm run -s ops -- mails send ADDRESS`, which says what to correct.',
      runbook: 'managerlate',
    });
  const enabled = await (await liveReading(documents, webhookEndpoints)).find({ status: 'enabled' }, { limit: MANY });
  const failing = enabled.filter(({ failing_since }) => failing_since !== null).length;
  if (enabled.length > 1 && failing === enabled.length)
    found.push({
      wrong: `all ${enabled.length} webhook endpoints fail`,
      do: 'The network of the processes is at fault, not the receivers: let it reach port 443 outside.',
      runbook: 'webhooksallfail',
    });
  const issues = await (await liveReading(documents, paymentIssues)).count({ status: 'open' });
  if (issues > 0)
    found.push({
      wrong: `${count(issues, 'issue')} about money ${issues === 1 ? 'waits' : 'wait'} for a person`,
      do: 'Decide on each on the page Payments of administration.',
      runbook: 'paymentsneedaperson',
    });
  return found;
}
