// A process whose file descriptors are used up at its first append refuses that one as unavailable, and takes the next.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';

const EVENTS = join(import.meta.dirname, '../../events');
const PROGRAM = `
  import { closeSync, openSync } from 'node:fs';
  import { withCodec } from '${EVENTS}/codec.ts';
  import { storeFaultOf } from '${EVENTS}/store-faults.ts';
  const log = withCodec({ append: async () => ({ ok: true }) }, {});
  const event = { id: 'a', type: 'JobPurged', data: {}, metadata: {} };
  const append = () => log.append('job-1', 0, [event]).then(() => 'appended', storeFaultOf);
  const held = [];
  for (let is_full = false; !is_full; )
    try {
      held.push(openSync('/dev/null'));
    } catch {
      is_full = true;
    }
  const first = await append();
  held.forEach((fd) => closeSync(fd));
  console.log(first, await append());`;

test('an append that found no file descriptor is unavailable, and the next one is made', async (t) => {
  const run = promisify(execFile);
  const limited = ['-c', 'ulimit -n 60; exec "$0" --input-type=module -e "$1"', process.execPath, PROGRAM];
  const { stdout } = await run('bash', limited);
  t.is(stdout, 'unavailable appended\n');
});
