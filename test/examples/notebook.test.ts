// The notebook of examples/sql, whose cells Python runs one after the other. NOTEBOOK_PYTHON names a Python that has DuckDB and pandas.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { fillAnalysed } from '../support/analysed-log.ts';
import { opsHere } from '../support/run-ops.ts';

const PYTHON = process.env.NOTEBOOK_PYTHON ?? 'python3';
const NOTEBOOK = join(import.meta.dirname, '../../examples/sql/notebook.ipynb');

function hasPackages(): boolean {
  try {
    execFileSync(PYTHON, ['-c', 'import duckdb, pandas'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

(process.env.NOTEBOOK_PYTHON || hasPackages() ? test : test.skip)(
  'the notebook runs from its first cell to its last',
  async (t) => {
    const FILES = await mkdtemp(join(tmpdir(), 'notebook-'));
    t.teardown(() => rm(FILES, { recursive: true, force: true }));
    const log = await openSqliteEventStore({ path: join(FILES, 'events.db') });
    await fillAnalysed(log);
    await log.close();
    for (const name of ['urls', 'jobs']) {
      const words = ['events', 'query', '--output', join(FILES, `${name}.parquet`), `FROM ${name}`];
      t.is((await opsHere(words, { DATA_DIR: FILES })).code, 0);
    }
    const { cells } = JSON.parse(readFileSync(NOTEBOOK, 'utf8')) as {
      cells: { cell_type: string; source: string[] }[];
    };
    const code = cells.filter(({ cell_type }) => cell_type === 'code').map(({ source }) => source.join(''));
    const said = `
assert str(db.sql('SELECT min(checked_at) FROM urls').fetchall()[0][0]) == '2026-01-05 09:00:19+00:00'
assert by_week.loc['a.example'].tolist() == [0.5, 0.5, 0.0], by_week
assert sorted(jobs.seconds) == [10, 20, 40, 60], jobs.seconds
assert len(urls) == 19, urls`;
    const python = (text: string) =>
      execFileSync(PYTHON, ['-'], {
        input: text,
        env: { ...process.env, FILES, TZ: 'Asia/Kolkata' },
        encoding: 'utf8',
        stdio: 'pipe',
      });
    t.notThrows(() => python([...code, said].join('\n')));
    t.throws(() => python([...code, 'assert len(urls) == 18'].join('\n')));
  },
);
