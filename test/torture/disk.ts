// A small disk of its own for a data folder, that can be full.
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SIZE = '640m';
const run = promisify(execFile);

/** Where it cannot be mounted the folder is an ordinary one, and `refused` says why. */
export async function openDisk(folder: string) {
  await mkdir(folder, { recursive: true });
  const refused = await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', folder]).then(
    () => null,
    (error: Error) => error.message.trim().split('\n').at(-1)!,
  );
  const ballast = join(folder, 'ballast');
  /** However the process ends. */
  const unmount = () => void spawnSync('umount', ['-l', folder]);
  if (refused === null) process.once('exit', unmount);
  return {
    refused,
    /** Nothing more can be written, not a page. */
    async fill() {
      for (const size of ['1M', '4k', '512']) {
        await run('dd', ['if=/dev/zero', `of=${ballast}`, `bs=${size}`, 'oflag=append', 'conv=notrunc']).catch(
          () => {},
        );
      }
    },
    empty: () => rm(ballast, { force: true }),
    async close() {
      if (refused !== null) return;
      process.off('exit', unmount);
      unmount();
    },
  };
}
