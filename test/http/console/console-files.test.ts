// The files of the console: made by a service whose folder has a name of more than ASCII, with a place for all that administrators do.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { VERDICTS } from '../../../events/checks.ts';
import { JOB_STATUSES } from '../../../events/job.ts';
import { ALL_ROUTES } from '../../../http/all-routes.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

test('the folder of the service may have any name', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'two words é %20-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await symlink(ROOT, join(folder, 'service'));
  const program = `
    import { pathToFileURL } from 'node:url';
    const { openConsoleFiles } = await import(pathToFileURL(${JSON.stringify(join(folder, 'service/http/console/console-files.ts'))}));
    const { page, assets } = await openConsoleFiles({ base: '', sign_in: 'link', linkCommand: () => '', sells: false })();
    console.log(page.bytes.length > 0, assets.size > 2);
  `;
  const args = ['--preserve-symlinks', '--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  t.is(stdout, 'true true\n');
});

test('every operation for administrators has its place in the console', async (t) => {
  const folder = join(ROOT, 'web/pages/admin');
  const sources = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.tsx'));
  const texts = await Promise.all(sources.map((name) => readFile(join(folder, name), 'utf8')));
  const operations = ALL_ROUTES.filter(({ access }) => access === 'admin').map(
    ({ method, path }) => `${method} ${path}`,
  );
  t.true(operations.length > 30);
  t.deepEqual(
    operations.filter((name) => !texts.some((text) => text.includes(`'${name}'`))),
    [],
  );
});

test('every verdict and every status of a job has its colour in the console', async (t) => {
  const style = await readFile(join(ROOT, 'web/style/main.css'), 'utf8');
  t.deepEqual(
    [...VERDICTS, ...JOB_STATUSES].filter((name) => !new RegExp(`^[.]is-${name}\\b`, 'm').test(style)),
    [],
  );
});
