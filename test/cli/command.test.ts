import test from 'ava';
import { readCommand, UsageError } from '../../cli/check/command.ts';
import { HELP } from '../../cli/check/help.ts';

const read = (line: string) => readCommand(line.split(' '))!;

test('inputs are URLs, files and standard input, in any number', (t) => {
  t.deepEqual(read('https://a.example/x links.csv HTTP://b.example - docs/list').inputs, [
    { kind: 'url', url: 'https://a.example/x' },
    { kind: 'file', path: 'links.csv' },
    { kind: 'url', url: 'HTTP://b.example' },
    { kind: 'stdin' },
    { kind: 'file', path: 'docs/list' },
  ]);
});

test('without options text is printed, progress is shown, and dead links fail', (t) => {
  t.like(read('a'), {
    format: 'text',
    prints: true,
    shows_progress: true,
    resume: false,
    only: null,
    fail_on: ['broken', 'soft_404', 'unreachable'],
    settings: {},
  });
});

test('dead stands for errors, soft 404s and unreachable URLs; each verdict for itself', (t) => {
  t.deepEqual(read('a --only dead').only, ['broken', 'soft_404', 'unreachable']);
  t.deepEqual(read('a --only broken').only, ['broken']);
  t.deepEqual(read('a --only redirected,blocked --only ok').only, ['ok', 'redirected', 'blocked']);
  t.deepEqual(read('a --fail-on dead,blocked').fail_on, ['broken', 'soft_404', 'blocked', 'unreachable']);
  t.deepEqual(read('a --fail-on none').fail_on, []);
});

test('the ending of a file names its format', (t) => {
  const outs = read(
    'a -o x.csv -o x.XLSX --out x.json -o x.xml -o x.html -o x.htm -o /tmp/x.txt -o x.sarif -o x.md',
  ).outs;
  t.deepEqual(
    outs.map(({ format }) => format),
    ['csv', 'xlsx', 'json', 'junit', 'html', 'html', 'text', 'sarif', 'markdown'],
  );
});

test('--quiet prints what --format asks for and nothing else', (t) => {
  t.like(read('a -q'), { prints: false, shows_progress: false });
  t.like(read('a -q --json'), { prints: true, format: 'json', shows_progress: false });
  t.like(read('a --no-progress'), { prints: true, shows_progress: false, is_quiet: false });
});

test('each option sets a setting of the checker', (t) => {
  const { settings } = read(
    'a --concurrency 8 --per-host 2 --timeout 2.5 --retries 0 --user-agent me/1 --allow-address 10.0.0.0/8 --allow-address ::1',
  );
  t.deepEqual(settings, {
    CHECKER_CONCURRENCY: '8',
    CHECKER_PER_HOST: '2',
    CHECKER_TIMEOUT_MS: '2500',
    CHECKER_RETRIES: '0',
    CHECKER_USER_AGENT: 'me/1',
    CHECKER_ALLOW_ADDRESSES: '10.0.0.0/8,::1',
  });
});

test('--resume needs no input, and help wins over everything', (t) => {
  t.deepEqual(read('--resume').inputs, []);
  t.is(readCommand(['--help']), null);
  t.is(readCommand(['-h', 'a', 'b']), null);
});

const WRONG: readonly [line: string, says: RegExp][] = [
  ['--keep', /^there is no input: give a URL, a file, a folder, or -/],
  ['a --fast', /^Unknown option '--fast'$/],
  ['a --retries', /--retries/],
  ['a --retries x', /^--retries is "x": it must be a whole number from 0 to 10$/],
  ['a --timeout 0', /^--timeout is "0": it must be seconds from 0.1 to 300$/],
  ['a --timeout 1s', /^--timeout is "1s"/],
  ['a --concurrency 0', /^--concurrency is "0": it must be a whole number from 1/],
  ['a --allow-address nowhere', /^--allow-address is "nowhere": it must be addresses/],
  ['a --only lost', /^--only is "lost": it must be ok, redirected/],
  ['a --only none', /^--only is "none"/],
  ['a --fail-on none,ok', /^--fail-on is "none,ok"/],
  ['a --format xlsx', /^--format is "xlsx": it must be text, json/],
  ['a --format constructor', /^--format is "constructor"/],
  ['a --json --format csv', /^--json is --format json, and --format is csv/],
  ['a --out results', /^--out is "results": it must be a file that ends in .csv/],
  ['http://', /^"http:\/\/" is not a URL$/],
  ['- a -', /standard input/],
];
for (const [line, says] of WRONG) {
  test(`\`check ${line}\` is refused with the reason`, (t) => {
    t.throws(() => readCommand(line.split(' ')), { instanceOf: UsageError, message: says });
  });
}

test('the help names every option, and fits 100 columns', (t) => {
  const options = [...HELP.matchAll(/--[a-z-]+/g)].map(([option]) => option);
  for (const option of ['column', 'only', 'format', 'json', 'out', 'quiet', 'no-progress', 'concurrency', 'per-host']) {
    t.true(options.includes(`--${option}`), option);
  }
  for (const option of ['timeout', 'retries', 'user-agent', 'allow-address', 'resume', 'keep', 'fail-on']) {
    t.true(options.includes(`--${option}`), option);
  }
  t.true(HELP.split('\n').every((line) => line.length <= 110));
});
