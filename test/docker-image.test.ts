// The image of the Dockerfile has every module that the service and the operators' commands import.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';

const ROOT = join(import.meta.dirname, '..');
const { FOLDERS } = (await import(pathToFileURL(join(ROOT, '.dependency-cruiser.mjs')).href)) as {
  FOLDERS: Record<string, unknown>;
};
const FOR_DEVELOPERS = ['bench', 'test', '.ci', 'examples'];

test('.dockerignore lets in the folders of the service, and what runs before its modules', (t) => {
  const lines = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  const wanted = Object.keys(FOLDERS).filter((folder) => !FOR_DEVELOPERS.includes(folder));
  t.true(wanted.length > 10);
  t.deepEqual(
    [...wanted, 'boot.js', 'runtime.js', '*.ts', 'package.json', 'package-lock.json'].filter(
      (name) => !lines.includes(`!${name}`),
    ),
    [],
  );
});
