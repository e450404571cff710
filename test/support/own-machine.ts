// Loaded into a process before the service (`node --import`), in each of its threads: the process then seems to run on the machine
// that MACHINE names, so that no other process of this one can tell that it has ended.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const read = fs.readFileSync;
fs.readFileSync = ((path: fs.PathOrFileDescriptor, ...options: []) =>
  path === BOOT_ID ? `${process.env.MACHINE}\n` : read(path, ...options)) as typeof read;
syncBuiltinESMExports();
