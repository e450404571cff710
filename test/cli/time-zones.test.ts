// Every command that takes or prints a date answers the same in any time zone of the machine, also where clocks are turned.
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openFiller } from '../support/audited-ledger.ts';
import { fill, folder } from '../support/filled-log.ts';

/** A day of theirs, and a moment at which clocks are turned there, or midnight is. */
const TURNS = {
  'Europe/Berlin': ['2026-03-29', '2026-03-29T01:00:00.000Z'],
  'Australia/Lord_Howe': ['2026-04-05', '2026-04-04T15:00:00.000Z'],
  'Pacific/Chatham': ['2026-09-27', '2026-09-26T14:00:00.000Z'],
  'America/St_Johns': ['2026-11-01', '2026-11-01T04:30:00.000Z'],
  'Asia/Kathmandu': ['2026-12-31', '2026-12-31T18:15:00.000Z'],
} as const;
const HALF_HOUR_MS = 1_800_000;

test('commands answer in every time zone as they do in UTC', async (t) => {
  const at = await folder(t);
  const path = join(at, 'log');
  await mkdir(path);
  const log = await openSqliteEventStore({ path: join(path, 'events.db') });
  await fill(log, path);
  const around = (turn: string, half_hours: number) => Date.parse(turn) + half_hours * HALF_HOUR_MS;
  const isoAround = (turn: string, half_hours: number) => new Date(around(turn, half_hours)).toISOString();
  for (const [, turn] of Object.values(TURNS))
    for (let n = -3; n <= 3; n += 1) await openFiller(log, around(turn, n)).buy('alice', `pi-${turn}-${n}`, 10);
  await log.close();

  const dates = Object.values(TURNS).map(([day, turn]) => [day, isoAround(turn, -1), isoAround(turn, 1)]);
  const words = [join(import.meta.dirname, 'dated-commands.ts'), JSON.stringify({ folder: at, dates })];
  const answersIn = async (TZ: string) => {
    const options = { env: { ...process.env, TZ }, maxBuffer: 2 ** 26 };
    const { stdout } = await promisify(execFile)(process.execPath, words, options);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  const utc = await answersIn('UTC');
  for (const zone of Object.keys(TURNS)) {
    const { offset, ...answers } = await answersIn(zone);
    t.not(offset, utc.offset, zone);
    t.is(Object.keys(answers).length, Object.keys(utc).length - 1);
    for (const [command, answer] of Object.entries(answers)) t.deepEqual(answer, utc[command], `${zone}: ${command}`);
  }
});
