// Runs a program of cli/ as its user does, with no settings but those that are given.
import { execFile } from 'node:child_process';
import { join } from 'node:path';

const { PATH, NODE_COMPILE_CACHE } = process.env;

export interface Ended {
  /** The exit code, or the code of the error that kept it from running. */
  code: unknown;
  stdout: string;
  stderr: string;
}

/** @example await runProgram('ops', ['ledger', 'verify'], { DATA_DIR: folder }) */
export const runProgram = (name: string, args: readonly string[], env: Readonly<Record<string, string>>) =>
  new Promise<Ended>((resolve) => {
    const options = { env: { PATH, NODE_COMPILE_CACHE, ...env } };
    const file = join(import.meta.dirname, `../../cli/${name}.ts`);
    execFile(process.execPath, [file, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
