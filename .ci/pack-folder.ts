// The folder that a package is written into, which the first argument names.
import { accessSync, constants, mkdirSync } from 'node:fs';
import { resolve } from 'node:path';

/** Ends the program with one sentence where nothing can be written, as in a clone that is read-only. */
export function packFolder(): string {
  const folder = resolve(process.argv[2] ?? '.');
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch (error) {
    console.error(`The package cannot be written into ${folder}: ${(error as Error).message}. Name another folder.`);
    process.exit(1);
  }
}
