// The reports for code hosts: SARIF is valid by its public schema, and Markdown shows hostile texts as they are.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import test from 'ava';
import type { Checked, CheckedUrl } from '../../cli/check/checked.ts';
import { type Format, reportOf } from '../../cli/check/formats.ts';
import { plain } from '../../cli/check/text.ts';
import { DEAD } from '../../cli/check/verdict-sets.ts';
import { VERDICTS, type Verdict } from '../../events/checks.ts';
import { openSite } from '../support/sites.ts';

const root = join(import.meta.dirname, '../..');
const ajv = new Ajv({ strict: false, allErrors: true });
addFormats.default(ajv);
const schema = JSON.parse(gunzipSync(readFileSync(join(root, 'test/corpus/sarif-schema-2.1.0.json.gz'))).toString());
// Of draft 4 it uses nothing that later drafts read otherwise, but the name of its id.
const { $schema: _draft, id: _id, ...of_any_draft } = schema;
const isSarif = ajv.compile(of_any_draft);

const EVIL = 'http://a.example/?q=[x](y)`|<script>\u202e\r\n::error::';
const url = (verdict: Verdict, fields: Partial<CheckedUrl> = {}): CheckedUrl => ({
  ...{ status_code: 404, final_url: EVIL, is_broken: true, is_soft_404: false, redirect_chain: [] },
  ...{ response_time_ms: 1, content_type: null, error_code: null, protection: null, attempts: 1 },
  ...{ verdict, url: `http://${verdict}.example/`, file: 'docs/a b.md', row: 3, cell: null },
  ...fields,
});
const RESULTS = [...VERDICTS.map((verdict) => url(verdict)), url('broken', { url: EVIL, file: null, row: null })];
const checkedOf = (results: readonly CheckedUrl[], fields: Partial<Checked> = {}): Checked => ({
  counts: {
    ...{ total_urls: results.length, completed_urls: results.length },
    ...{ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 },
  },
  verdicts: Object.fromEntries(VERDICTS.map((one) => [one, results.filter(({ verdict }) => verdict === one).length])),
  ...{ seconds: 1, began_at: new Date(0), inputs: [], rejected: [], fail_on: DEAD, only: null },
  results: (verdicts = VERDICTS) => results.filter(({ verdict }) => verdicts.includes(verdict)),
  ...fields,
});
const written = (format: Format, checked: Checked) => text(Readable.from(reportOf(checked, format, plain)));

test('SARIF is valid, and has each failing URL at its line', async (t) => {
  for (const checked of [checkedOf([]), checkedOf(RESULTS), checkedOf(RESULTS, { only: [...VERDICTS] })]) {
    const log = JSON.parse(await written('sarif', checked));
    t.true(isSarif(log), JSON.stringify(isSarif.errors));
  }
  const { results, tool } = JSON.parse(await written('sarif', checkedOf(RESULTS))).runs[0];
  t.deepEqual(
    results.map(({ ruleId, level }: Record<string, string>) => [ruleId, level]),
    [
      ['broken', 'error'],
      ['soft_404', 'error'],
      ['blocked', 'note'],
      ['unreachable', 'error'],
      ['broken', 'error'],
    ],
  );
  for (const { ruleId, ruleIndex } of results) t.is(tool.driver.rules[ruleIndex].id, ruleId);
  // A code host shows it as the heading of the rule.
  t.is(tool.driver.rules.at(-1).shortDescription.text, 'unreachable: no answer');
  const [{ physicalLocation }] = results[0].locations;
  t.like(physicalLocation, { artifactLocation: { uri: 'docs/a%20b.md' }, region: { startLine: 3 } });
  t.is(results.at(-1).locations, undefined);
});

test('Markdown has the counts, and no text of a server is markup', async (t) => {
  const summary = await written('markdown', checkedOf(RESULTS));
  t.regex(summary, /^## 4 of 7 URLs fail\n/);
  t.regex(summary, /\| broken \| 2 \|/);
  t.false(/[\u202e\r]/.test(summary));
  t.true(summary.includes('`` http://a.example/?q=[x](y)`\\|<script>'));
  t.regex(await written('markdown', checkedOf([url('ok')])), /^## No URL fails\n/);
  const many = checkedOf(Array.from({ length: 1000 }, (_, n) => url('broken', { url: `http://a.example/${n}` })));
  t.regex(await written('markdown', many), /and 700 more\.\n$/);
});

test('the action runs the check of a package, and writes the summary, annotations, SARIF and the cache', async (t) => {
  const action = readFileSync(join(root, 'action.yml'), 'utf8');
  const script = /run: \|\n((?: {8}.*\n|\n)+)/.exec(action)![1]!.replace(/^ {8}/gm, '');
  const folder = await mkdtemp(join(tmpdir(), 'action-'));
  t.teardown(() => rm(folder, { recursive: true }));
  let requests = 0;
  const site = await openSite((_request, response) => {
    requests++;
    response.writeHead(200, { 'Content-Type': 'image/png' }).end();
  });
  t.teardown(() => site.close());
  await writeFile(join(folder, 'links.md'), 'A [link](http://127.0.0.1:9/gone).\n');
  await writeFile(join(folder, 'a page.md'), `A [link](${site.url}/) and a [draft](${site.url}/a%20draft).\n`);
  // The package of this project stands in for the one of a registry.
  await writeFile(
    join(folder, 'npx'),
    `#!/bin/sh\nshift 4\nexec "${process.execPath}" "${root}/cli/package.ts" "$@"\n`,
    { mode: 0o755 },
  );
  const env = {
    ...{
      PATH: `${folder}:${process.env.PATH}`,
      HOME: folder,
      GITHUB_WORKSPACE: folder,
      DATA_DIR: join(folder, 'data'),
    },
    ...{ GITHUB_STEP_SUMMARY: join(folder, 'summary.md'), GITHUB_OUTPUT: join(folder, 'output') },
    ...{ RUNNER_TEMP: join(folder, 'temp'), INPUT_CACHE_MAX_AGE: '1d' },
    ...{ INPUT_PATHS: 'links.md', INPUT_FAIL_ON: 'dead', INPUT_SARIF: 'links.sarif', INPUT_VERSION: 'latest' },
    ...{ INPUT_ARGUMENTS: '--allow-address 127.0.0.1 --retries 0', CHECKER_ALLOW_ADDRESSES: '' },
  };
  mkdirSync(env.RUNNER_TEMP);
  const run = (more: object) =>
    spawnAsync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], { ...env, ...more }, folder);
  const { status, stdout, stderr } = await run({});
  t.is(status, 1, stderr);
  t.regex(stdout, /::error file=links\.md,line=1,/);
  t.regex(readFileSync(env.GITHUB_STEP_SUMMARY, 'utf8'), /1 of 1 URLs fails\n/);
  t.true(isSarif(JSON.parse(readFileSync(join(folder, 'links.sarif'), 'utf8'))));
  t.regex(readFileSync(env.GITHUB_OUTPUT, 'utf8'), /^sarif=links\.sarif$/m);
  t.is((await run({ INPUT_FAIL_ON: 'none' })).status, 0);

  // Paths and options with blanks, on several lines; the second run finds its URL in the cache.
  const more = {
    INPUT_PATHS: '\na page.md\n\n',
    INPUT_ARGUMENTS: `--allow-address 127.0.0.1\n--exclude '${site.url}/a draft*' --exclude "${site.url}/a%20d*"`,
  };
  for (const _ of [1, 2]) t.is((await run(more)).status, 0);
  t.is(requests, 1);
  t.true(existsSync(join(env.RUNNER_TEMP, 'url-checker/results.db')));
  await run({ ...more, INPUT_CACHE_MAX_AGE: '' });
  t.is(requests, 2);

  // What cannot run says so, with no summary of the run before.
  const before = readFileSync(env.GITHUB_STEP_SUMMARY, 'utf8');
  t.is((await run({ INPUT_PATHS: '-no-option.md', INPUT_SARIF: '' })).status, 2);
  t.is(readFileSync(env.GITHUB_STEP_SUMMARY, 'utf8'), before);

  // Without a version there is no package to fetch, from whoever has its name: the action runs itself.
  const npm = `#!/bin/sh\necho "$@" > "${folder}/npm-was-told"\n`;
  await writeFile(join(folder, 'npm'), npm, { mode: 0o755 });
  await writeFile(join(folder, 'npx'), '#!/bin/sh\nexit 7\n', { mode: 0o755 });
  const itself = { INPUT_VERSION: '', GITHUB_ACTION_PATH: root };
  t.is((await run(itself)).status, 1);
  t.is((await run({ ...itself, INPUT_FAIL_ON: 'none' })).status, 0);
  t.true(readFileSync(join(folder, 'npm-was-told'), 'utf8').startsWith(`ci --prefix ${root} --omit=dev`));
  t.regex(action, / version:\n.*\n +default: ''\n/);
});

async function spawnAsync(program: string, args: readonly string[], env: NodeJS.ProcessEnv, cwd: string) {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { status: await exited, stdout, stderr };
}
