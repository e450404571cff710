// Values of DuckDB in JSON: none loses digits in silence.
import test from 'ava';
import { openDatabase } from '../../analysis/duckdb.ts';

const WRITTEN: Readonly<Record<string, unknown>> = {
  "TIMESTAMPTZ '2026-01-01 00:00:00.123456+00'": '2026-01-01T00:00:00.123456Z',
  "TIMESTAMPTZ '2026-01-01 00:00:00.123+00'": '2026-01-01T00:00:00.123Z',
  "TIMESTAMPTZ '1969-12-31 23:59:59.999999+00'": '1969-12-31T23:59:59.999999Z',
  "TIMESTAMP '2026-01-01 00:00:00.000001'": '2026-01-01T00:00:00.000001',
  "[TIMESTAMPTZ '1960-01-01 00:00:00.000001+00']": ['1960-01-01T00:00:00.000001Z'],
  "TIMESTAMPTZ 'infinity'": 'infinity',
  "DATE '-infinity'": '-infinity',
  "{'day': DATE 'infinity'}": { day: 'infinity' },
  "DATE '2026-01-01'": '2026-01-01',
  '1.10::DECIMAL(5, 2)': 1.1,
  '9007199254740993::DECIMAL(38, 0)': '9007199254740993',
  '-123456789012345678.12::DECIMAL(38, 2)': '-123456789012345678.12',
  '9007199254740993::BIGINT': '9007199254740993',
  '340282366920938463463374607431768211455::UHUGEINT': '340282366920938463463374607431768211455',
};

test('a value keeps every digit', async (t) => {
  const database = await openDatabase();
  for (const [sql, written] of Object.entries(WRITTEN))
    t.deepEqual(await database.all(`SELECT ${sql}`), [[written]], sql);
  await database.run("SET TimeZone = 'Asia/Kathmandu'");
  const [[there]] = (await database.all("SELECT TIMESTAMPTZ '2026-01-01 00:00:00.000001+00'")) as [[string]];
  t.is(there, '2026-01-01T05:45:00.000001+05:45');
  await database.close();
});
