// Runs each command that takes or prints a date over the log of a folder, in the time zone of this process, and prints what they answered. DuckDB takes
// the time zone of a process once, and Node's threads have none of their own.
import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openDatabase, sqlText } from '../../analysis/duckdb.ts';
import { opsHere } from '../support/run-ops.ts';

interface Asked {
  folder: string;
  /** Days, and moments of them. */
  dates: readonly (readonly [day: string, since: string, until: string])[];
}
const { folder, dates } = JSON.parse(process.argv[2]!) as Asked;

const QUESTIONS = [
  'FROM events SELECT position, recorded_at, recorded_at::VARCHAR, recorded_at::DATE, recorded_at::TIMESTAMP',
  "FROM events SELECT date_trunc('hour', recorded_at) h, date_trunc('day', recorded_at) d, count(*) GROUP BY ALL ORDER BY ALL",
  "SELECT strftime(recorded_at, '%Y-%m-%d %H:%M %z'), extract(hour FROM recorded_at), dayname(recorded_at) FROM entries",
  'FROM entries SELECT recorded_at; FROM jobs SELECT created_at, ended_at - created_at; FROM urls SELECT checked_at',
  'SELECT current_date = (now())::DATE, localtimestamp - now()::TIMESTAMP, current_setting($$TimeZone$$)',
  "SET TimeZone = 'Europe/Berlin'; FROM events SELECT recorded_at, recorded_at::DATE, date_trunc('day', recorded_at)",
];

const commandsInto = (out: string): (readonly string[])[] => [
  ...['text', 'csv'].map((format) => ['events', 'read', '--format', format]),
  ...['jsonl', 'csv', 'parquet'].map((ending) => ['events', 'export', '--out', join(out, `events.${ending}`)]),
  ['events', 'copy', '--to', join(out, 'tables')],
  ['events', 'query', '--format', 'csv', ...QUESTIONS.slice(0, 1)],
  ['events', 'query', '--json', [...dates.map(questionOf), ...QUESTIONS].join(';')],
  ['events', 'query', '--file', join(out, 'events.parquet'), 'FROM events SELECT recorded_at'],
  ...['text', 'csv'].map((format) => ['ledger', 'statement', '--user', 'alice', '--by', 'month', '--format', format]),
  ...['hledger', 'beancount', 'csv'].map((format) => ['ledger', 'journal', '--format', format]),
  ['accounting', 'usage'],
  ...dates.flatMap(([day, since, until]) => [
    ['events', 'count', '--from', since, '--to', until],
    ['events', 'tail', '--from', day, '--limit', '1'],
    ['events', 'read', '--from', day, '--to', day, '--json'],
    ['ledger', 'statement', '--user', 'alice', '--from', day, '--as-of', until],
    ['ledger', 'statement', '--user', 'alice', '--month', day.slice(0, 7)],
    ['ledger', 'trial-balance', '--as-of', day],
    ['ledger', 'verify', '--as-of', since],
    ['accounting', 'revenue', '--as-of', day],
    ['accounting', 'payments', '--from', since, '--to', day],
  ]),
  ['ledger', 'close', '--until', dates[0]![0], '--reason', 'books'],
  ['ledger', 'periods'],
  ['ledger', 'export', '--out', join(out, 'ledger.jsonl')],
  ['ledger', 'statement', '--file', join(out, 'ledger.jsonl'), '--user', 'alice', '--as-of', dates[0]![0]],
];

function questionOf([day, since, until]: Asked['dates'][number]): string {
  const among = `recorded_at BETWEEN '${since}' AND '${until}' OR recorded_at::DATE = '${day}'`;
  return `SELECT count(*), '${day} 02:30:00'::TIMESTAMPTZ, '${day}'::DATE::TIMESTAMPTZ FROM events WHERE ${among}`;
}

const DATA_DIR = join(folder, process.env.TZ!.replaceAll('/', '-'));
const out = join(DATA_DIR, 'out');
await cp(join(folder, 'log'), DATA_DIR, { recursive: true });
await mkdir(out);
const answers: Record<string, unknown> = { offset: new Date(dates[0]![1]).getTimezoneOffset() };
for (const words of commandsInto(out)) {
  const { stdout, stderr } = await opsHere(words, { DATA_DIR });
  if (/must be|unknown/.test(stderr)) throw new Error(`${words.join(' ')}: ${stderr}`);
  answers[words.join(' ').replaceAll(out, 'OUT')] = stdout.replaceAll(out, 'OUT');
}
for (const name of ['events.jsonl', 'events.csv']) answers[name] = await readFile(join(out, name), 'utf8');
const database = await openDatabase();
for (const file of ['events.parquet', 'tables/events.parquet', 'tables/jobs.parquet', 'tables/entries.parquet'])
  answers[file] = await database.all(`SELECT t::VARCHAR FROM read_parquet(${sqlText(join(out, file))}) t`);
await database.close();
process.stdout.write(JSON.stringify(answers), () => process.exit(0));
