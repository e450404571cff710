// `check` as its user runs it, in this process: its arguments, its folder of runs, and what it prints.
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import type { ExecutionContext } from 'ava';
import { readCommand } from '../../cli/check/command.ts';
import { runCheck } from '../../cli/check/run-check.ts';
import type { RunsFolder } from '../../cli/check/run-folders.ts';
import { startTestSite, type TestSite, type TestSiteOptions } from './test-site.ts';

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Record<string, string>;
  signal?: AbortSignal;
  runs?: RunsFolder;
}

export interface CheckWorld {
  site: TestSite;
  folder: string;
  /** The folders of runs that were kept. */
  kept(): Promise<string[]>;
  /** Makes a file in the folder and returns its path. */
  write(name: string, content: string | Buffer): Promise<string>;
  run(args: readonly string[], options?: RunOptions): Promise<Ran>;
}

export async function checkWorld(t: ExecutionContext, options: TestSiteOptions = {}): Promise<CheckWorld> {
  const site = await startTestSite(options);
  const folder = await mkdtemp(join(tmpdir(), 'check-'));
  const runs = join(folder, 'runs');
  t.teardown(async () => {
    await site.close();
    await rm(folder, { recursive: true });
  });
  return {
    site,
    folder,
    kept: () => readdir(runs),
    async write(name, content) {
      const path = join(folder, name);
      await writeFile(path, content);
      return path;
    },
    async run(args, options = {}) {
      const { env = {}, signal = new AbortController().signal } = options;
      const [out, err] = [new PassThrough(), new PassThrough()];
      const printed = Promise.all([text(out), text(err)]);
      const code = await runCheck(readCommand([...args, '--no-progress'])!, {
        env: { CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8', ...env },
        runs: options.runs ?? { path: runs, is_named: true },
        signal,
        out,
        err,
      }).finally(() => {
        out.end();
        err.end();
      });
      const [stdout, stderr] = (await printed).map(stripVTControlCharacters);
      return { code, stdout: stdout!, stderr: stderr! };
    },
  };
}
