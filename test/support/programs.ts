// Tests that run programs which a machine may lack: they are skipped there, and AVA says so, but under CI they run.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import test from 'ava';

/** `test` where all of the programs are on the PATH, or under CI; else `test.skip`. */
export const testWith = (...programs: string[]) => (process.env.CI || programs.every(isInstalled) ? test : test.skip);

function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
