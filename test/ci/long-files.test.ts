// A file fits in a head: those of the service have at most 350 lines.
import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';

const ROOT = join(import.meta.dirname, '../..');
const MOST_LINES = 350;
const ELSEWHERE = /^(?:node_modules|test|bench)\/|^web\/api\/gateway[.]d[.]ts$/;

test(`no file of the service has more than ${MOST_LINES} lines`, async (t) => {
  const files = await Array.fromAsync(glob('**/*.{ts,tsx}', { cwd: ROOT, exclude: (name) => name === 'node_modules' }));
  const ours = files.filter((file) => !ELSEWHERE.test(file));
  t.true(ours.length > 500);
  const long = ours.filter((file) => readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1 > MOST_LINES);
  t.deepEqual(long, []);
});
