// A test that fails once and passes alone does not stop a change, and is seen.
import test from 'ava';
import { rerun } from '../../.ci/flaky.ts';
import { type Marks, summaryOf, type TestRun, tapReader } from '../../.ci/tap.ts';
import { fileFinder, testFilesOf } from '../../.ci/test-files.ts';

const FILES = ['test/a.test.ts', 'test/b/a.test.ts', 'test/b/c.test.ts', 'test/b/test-d.test.ts', 'test/e.test.ts'];

const runOf = (...lines: string[]): TestRun => runWith({ running: [], error_files: {} }, ...lines);

function runWith(marks: Marks, ...lines: string[]): TestRun {
  const read = tapReader();
  return summaryOf(
    lines.flatMap((line) => read(line) ?? []),
    marks,
  );
}

/** The TAP of a run with these tests, a title that begins with `!` for one that fails. */
function tapOf(...titles: string[]): string[] {
  const failed = titles.filter((title) => title.startsWith('!')).length;
  const lines = titles.flatMap((title, i) =>
    title.startsWith('!')
      ? [`not ok ${i + 1} - ${title.slice(1)}`, '  ---', `    message: ${title.slice(1)} is wrong`, '  ...']
      : [`ok ${i + 1} - ${title}`],
  );
  return [...lines, `# tests ${titles.length}`, `# pass ${titles.length - failed}`, `# fail ${failed}`];
}

const never = (file: string): never => {
  throw new Error(`${file} is run again`);
};

for (const config of ['ava.config.js', 'ava.servers.config.js']) {
  test(`each test of ${config} is found in its file by its title`, async (t) => {
    const files = await testFilesOf(config);
    t.true(files.length > 5);
    const found = fileFinder(files);
    const folder = config === 'ava.config.js' ? 'test/' : 'test/servers/';
    for (const file of files) {
      const prefix = file.slice(folder.length).replace('.test.ts', '').replaceAll('/', ' › ');
      t.deepEqual(found(`${prefix} › one › of two`), { file, title: 'one › of two' });
    }
    t.is(found('nothing › of the kind'), null);
  });
}

test('a file whose tests pass alone is flaky, and its second run counts', (t) => {
  const first = runOf(...tapOf('a › one', '!b › c › two', 'b › c › three', 'e › four'));
  t.like(first, { passed: 3, failed: 1, failures: ['b › c › two'] });
  const again = (file: string) => (file === 'test/b/c.test.ts' ? runOf(...tapOf('two', 'three')) : never(file));
  const { lines, ...verdict } = rerun(first, FILES, again);
  t.deepEqual(verdict, { passed: 4, failed: 0, flaky_files: ['test/b/c.test.ts'], failures: [] });
  t.deepEqual(lines, [
    'flaky: b › c › two failed once and passed alone (test/b/c.test.ts: 1 passed, 1 failed; alone 2 passed, 0 failed)',
    '    message: b › c › two is wrong',
  ]);
});

test('a file that fails again fails, with both of its failures', (t) => {
  const first = runOf(...tapOf('a › one', '!b › c › two', '!e › three'));
  const again = (file: string) => runOf(...tapOf(...(file === 'test/e.test.ts' ? ['three'] : ['!two'])));
  const { passed, failed, flaky_files, failures } = rerun(first, FILES, again);
  t.deepEqual({ passed, failed, flaky_files }, { passed: 2, failed: 1, flaky_files: ['test/e.test.ts'] });
  t.deepEqual(failures, [
    'failed: b › c › two failed twice, the second time alone',
    '    message: b › c › two is wrong',
    'alone: two',
    '    message: two is wrong',
  ]);
});

test('a test that is missing when its file runs alone has not passed', (t) => {
  const first = runOf(...tapOf('a › one', '!b › c › two'));
  t.is(rerun(first, FILES, () => runOf(...tapOf('three'))).failed, 1);
  t.is(rerun(first, FILES, () => runOf()).failed, 1);
});

test('a file that crashed is found by the path in its stack, or by the tests that never ended', (t) => {
  const first = runOf(
    'ok 1 - a › one',
    'not ok 2 - Error: nobody caught this',
    '  ---',
    '    at: Timeout._onTimeout (file:///work/test/b/c.test.ts:7:39)',
    '  ...',
    '# 2 tests remaining in test/e.test.ts',
    '# tests 4',
    '# pass 1',
    '# fail 3',
  );
  t.like(first, { passed: 1, failed: 3, cut_short: ['test/e.test.ts'] });
  const ran: string[] = [];
  const again = (file: string) => runOf(...tapOf(...(ran.push(file) === 1 ? ['three', 'four'] : ['five'])));
  const { passed, failed } = rerun(first, FILES, again);
  t.deepEqual({ passed, failed, ran }, { passed: 4, failed: 0, ran: ['test/e.test.ts', 'test/b/c.test.ts'] });
});

test('a file whose error outside of its tests names no file is found by what it noted', (t) => {
  const tap = tapOf('a › one', '!b › c › two', '!Error: closed');
  const noted = (...files: string[]) => runWith({ running: [], error_files: { 'Error: closed': files } }, ...tap);
  const again = (file: string) => (file === 'test/b/c.test.ts' ? runOf(...tapOf('two')) : never(file));
  t.like(rerun(noted('test/b/c.test.ts'), FILES, again), { passed: 2, failed: 0, flaky_files: ['test/b/c.test.ts'] });
  t.like(rerun(noted('test/b/c.test.ts', 'test/e.test.ts'), FILES, never), { passed: 1, failed: 2 });
});

test('nothing is run again when four files failed, when no file is known, or when the output ended early', (t) => {
  const four = runOf(...tapOf('a › 0', '!a › 1', '!b › a › 2', '!b › c › 3', '!e › 4'));
  t.like(rerun(four, FILES, never), { passed: 1, failed: 4, flaky_files: [] });
  const unknown = runOf(...tapOf('a › 0', '!Error: from nowhere'));
  t.like(rerun(unknown, FILES, never), { passed: 1, failed: 1, flaky_files: [] });
  const cut = runOf('ok 1 - a › 0', 'not ok 2 - e › 1');
  t.like(rerun(cut, FILES, never), { passed: 1, failed: 2, flaky_files: [] });
});

test('a run that was stopped names the files that still ran, keeps its totals and is not run again', (t) => {
  const marks = { running: ['test/e.test.ts'], error_files: {} };
  const verdict = rerun(runWith(marks, ...tapOf('a › one', '!b › c › two'), '# stopped after 900 s'), FILES, never);
  t.like(verdict, { passed: 1, failed: 2 });
  t.deepEqual(verdict.lines, ['failed: stopped after 900 s; what ran then: test/e.test.ts']);
});
