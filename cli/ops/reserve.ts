// Exports and copies leave the last room of a disk to users, as the service does.
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { guardReserve } from '../../service/disk-reserve.ts';
import { readConfig } from '../../settings/config.ts';
import type { Run } from './command.ts';

/** Returns a function that throws at the reserve of the disk of the file, or of the folder of temporary files, where DuckDB works. */
export function keepReserve(run: Pick<Run, 'env' | 'folder'>, path?: string): () => void {
  const { disk_reserve_mb } = readConfig(run.env);
  const folders = [tmpdir(), ...(path === undefined ? [] : [dirname(resolve(run.folder, path))])].filter(existsSync);
  const guards = folders.map((folder) => guardReserve(folder, disk_reserve_mb));
  const assertRoom = () => {
    for (const assertOne of guards) assertOne();
  };
  assertRoom();
  return assertRoom;
}
