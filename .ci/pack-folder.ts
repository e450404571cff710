// The folder that a package is written into: the one that the first argument names or, as the script `postpack`, the one that `npm pack` writes into.
import { accessSync, constants, mkdirSync } from 'node:fs';
import { resolve } from 'node:path';

/** Ends the program with one sentence where nothing can be written, as in a clone that is read-only. */
export function packFolder(): string {
  const { npm_lifecycle_event, INIT_CWD = '.', npm_config_pack_destination = '.' } = process.env;
  const of_npm = npm_lifecycle_event === 'postpack' ? resolve(INIT_CWD, npm_config_pack_destination) : '.';
  const folder = resolve(process.argv[2] ?? of_npm);
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch (error) {
    console.error(`The package cannot be written into ${folder}: ${(error as Error).message}. Name another folder.`);
    process.exit(1);
  }
}
