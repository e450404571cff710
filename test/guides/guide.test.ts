// The runner of guides: what it lets pass and what it finds, so that no guide passes falsely.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type GuideOptions, runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';

const test = testWith('bash');

const block = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\`\n`;
/** Commands, and what a guide shows of their output; in turns. */
const guideOf = (...steps: [commands: string, language?: string, output?: string][]) =>
  steps
    .map(([commands, language, output]) => block('sh', commands) + (language ? block(language, output!) : ''))
    .join('\nSome words.\n\n');

async function run(guide: string, options?: GuideOptions): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-guides-'));
  try {
    await writeFile(join(folder, 'guide.md'), guide);
    return await runGuide(join(folder, 'guide.md'), options);
  } finally {
    await rm(folder, { recursive: true });
  }
}
const print = (text: string) => `cat <<'EOF'\n${text}\nEOF`;
/** A command that prints the one, where the guide shows the other. */
const held = (printed: string, shown: string, language = 'text') => run(guideOf([print(printed), language, shown]));

const ID = '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11';
const OTHER_ID = '7d4d1f57-2f0a-4a53-9c5e-0d9f6f3f5a10';

test('a guide runs its blocks in order, in one session', async (t) => {
  const guide = guideOf(
    ['X=1\nf() { echo "$1 and $X"; }\ncd "$(mktemp -d)"'],
    ['f 2 > file; X=3'],
    ['f 4; cat file', 'text', '4 and 3\n2 and 1'],
  );
  t.is(await run(guide), null);
});

test('the runner reports different output with its place and text', async (t) => {
  const wrong = await run(`# Title\n\n${guideOf(['echo one', 'text', 'two'])}`);
  t.regex(wrong!, /guide\.md:3: /);
  t.regex(wrong!, /--- printed\none/);
  for (const [printed, shown] of [
    ['one', 'one more'],
    ['one more', 'one'],
    ['one\ntwo', 'one'],
    ['a.b', 'a?b'],
  ]) {
    t.not(await held(printed!, shown!), null, `${printed} for ${shown}`);
  }
});

test('the runner prints errors, and hides output that a guide does not show', async (t) => {
  t.regex((await run(guideOf(['echo one'])))!, /the guide shows nothing/);
  t.is(await run(guideOf(['echo one >&2', 'text', 'one'])), null);
  t.is(await run(guideOf(['true'])), null);
});

test('a command that fails ends the run', async (t) => {
  t.regex((await run(guideOf(['echo one; false; echo two', 'text', 'one\ntwo'])))!, /exit code 1/);
  t.regex((await run(guideOf(['no-such-program', 'text', ''])))!, /exit code 127/);
  t.regex((await run(guideOf(['exit 0'], ['echo', 'text', ''])))!, /exit code 0/);
  t.regex((await run(guideOf(['npm run -s no-such-script -- x', 'text', ''])))!, /exit code 1/);
});

test('a command gets no input, and its processes end with the guide', async (t) => {
  t.is(await run(guideOf(['cat; sleep 600 & echo $! > /dev/null', 'text', ''], ['echo on', 'text', 'on'])), null);
});

testWith('python3', 'node')(
  'blocks of Python go on in one session, and those of JavaScript are programs of their own',
  async (t) => {
    const guide = guideOf(['export WHO=alice; cd "$(mktemp -d)"']);
    const python = block('python run', 'import os\nx = 1\ndef f(y):\n    return os.environ["WHO"], x + y');
    const more = block('python run', 'x = 2\nprint(*f(3))') + block('text', 'alice 5');
    const js =
      block('js run', 'console.log(process.env.WHO, await Promise.resolve("it\'s"))') + block('text', "alice it's");
    t.is(await run(guide + python + more + js), null);
    t.regex((await run(block('python run', 'print(1)\nx = nothing')))!, /exit code 1[\s\S]*NameError/);
    t.regex((await run(block('python run', 'print(1)') + block('text', '2')))!, /does not print/);
    t.regex((await run(block('js run', 'throw new Error("no")')))!, /exit code 1/);
  },
);

test('the runner refuses a guide without commands', async (t) => {
  t.regex((await run(`${block('js', 'f()')}${block('text', 'one')}`))!, /no block to run/);
  t.is(await run(guideOf(['true']) + block('js', 'throw 1') + block('text', 'of the other')), null);
});

test("the runner replaces the reader's machine by this one, in commands and in output", async (t) => {
  const guide = guideOf(['echo http://127.0.0.1:8080/a', 'text', 'http://127.0.0.1:8080/a']);
  t.is(await run(guide, { replace: { '127.0.0.1:8080': '127.0.0.1:40123' } }), null);
  const wrong = await run(guideOf(['echo http://127.0.0.1:40123/a; echo 8080', 'text', '…']), {
    replace: { 'http://127.0.0.1:8080': 'http://127.0.0.1:40123' },
  });
  t.is(wrong, null);
  const env = guideOf(['echo $WHO', 'text', 'alice']);
  t.is(await run(env, { env: { WHO: 'alice' } }), null);
});

testWith('npm')('scripts of the project run as npm runs them', async (t) => {
  const failing = `npm run -s check -- "two words" --no-such || echo "exit code $?"`;
  const elsewhere = 'cd /; npm run -s check -- --help 2> /dev/null || echo none';
  for (const npm of [false, true]) {
    const guide = guideOf([failing, 'text', '…--no-such…\n…\nexit code 2'], [elsewhere, 'text', 'none']);
    t.is(await run(guide, { npm }), null);
  }
});

test('output may have other times and ids of the same kind', async (t) => {
  const right: [printed: string, shown: string][] = [
    [OTHER_ID, ID],
    ['2026-11-21T11:31:27.446Z', '2026-01-31T09:00:00.000Z'],
    ['f'.repeat(64), '0'.repeat(64)],
    [`uc_live_${'B'.repeat(43)}`, `uc_live_${'A'.repeat(43)}`],
    ['ETag: W/"BBBBBBBBBBBBBBBBBBBBBBBBBBB"', 'ETag: W/"AAAAAAAAAAAAAAAAAAAAAAAAAAA"'],
    ['a?expires=1795264294&signature=b-c_d', 'a?expires=1769853600&signature=x'],
    ['t=1795264294,v1=' + 'f'.repeat(64), 't=1769853600,v1=' + '0'.repeat(64)],
    ['"response_time_ms":17,', '"response_time_ms":3,'],
  ];
  for (const [printed, shown] of right) t.is(await held(printed, shown), null, shown);
  const wrong: [printed: string, shown: string][] = [
    ['job', ID],
    [ID, 'job'],
    ['yesterday', '2026-01-31T09:00:00.000Z'],
    ['uc_live_short', `uc_live_${'A'.repeat(43)}`],
    ['a?expires=soon&signature=b', 'a?expires=1769853600&signature=x'],
    ['"completed_urls":17,', '"completed_urls":3,'],
    ['"response_time_ms":null,', '"response_time_ms":3,'],
  ];
  for (const [printed, shown] of wrong) t.not(await held(printed, shown), null, shown);
});

test('an id stays the same through a guide, and two ids stay different', async (t) => {
  const shows = (first: string, second: string, third: string) =>
    run(guideOf([`echo ${first}`, 'text', ID], [print(`{"id":"${second}"}`), 'json', `{"id":"${third}"}`]));
  const [a, b] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
  t.is(await shows(a, a, ID), null);
  t.is(await shows(a, b, OTHER_ID), null);
  t.not(await shows(a, b, ID), null, 'one in the guide, two here');
  t.not(await shows(a, a, OTHER_ID), null, 'two in the guide, one here');
});

test('the runner compares the content of JSON, not its layout', async (t) => {
  t.is(await held('{"b":[1,{"c":null}],"a":"x"}', '{ "a": "x",\n  "b": [1, { "c": null }] }', 'json'), null);
  const wrong: [printed: string, shown: string][] = [
    ['{"a":1}', '{"a":2}'],
    ['{"a":1}', '{"a":"1"}'],
    ['{"a":1,"b":2}', '{"a":1}'],
    ['{"a":1}', '{"a":1,"b":2}'],
    ['[1,2]', '[1]'],
    ['[1]', '[1,2]'],
    ['{"a":null}', '{"a":{}}'],
    ['[]', '{}'],
    ['not JSON', '{}'],
    ['{} {}', '{}'],
    ['', '{}'],
  ];
  for (const [printed, shown] of wrong) t.not(await held(printed, shown, 'json'), null, `${printed} for ${shown}`);
});

test('a guide may leave out fields and items of JSON', async (t) => {
  t.is(await held('{"a":1,"b":[1,2,3]}', '{"a":1,"…":"…"}', 'json'), null);
  t.is(await held('{"a":1,"b":[1,2,3]}', '{"a":1,"b":[1,"…"]}', 'json'), null);
  t.is(await held('{"url":"http://a/long/one"}', '{"url":"http://a/…"}', 'json'), null);
  const wrong: [printed: string, shown: string][] = [
    ['{"a":1}', '{"a":1,"…":"…"}'],
    ['[1]', '[1,"…"]'],
    ['{"a":1,"b":2}', '{"a":2,"…":"…"}'],
    ['{"b":1,"c":2}', '{"a":1,"…":"…"}'],
    ['[2,1]', '[1,"…"]'],
    ['{"url":"http://b/long"}', '{"url":"http://a/…"}'],
  ];
  for (const [printed, shown] of wrong) t.not(await held(printed, shown, 'json'), null, `${printed} for ${shown}`);
});

test('a measured value may be any number, under a name that says so', async (t) => {
  const shown = '{"p_ms":1,"times_ms":{"p50":2},"count":3}';
  t.is(await held('{"p_ms":9,"times_ms":{"p50":8.5},"count":3}', shown, 'json'), null);
  t.not(await held('{"p_ms":1,"times_ms":{"p50":2},"count":4}', shown, 'json'), null);
  t.not(await held('{"p_ms":null,"times_ms":{"p50":2},"count":3}', shown, 'json'), null);
});

test('a guide may leave out lines of text, and parts of a line', async (t) => {
  t.is(await held('a\nb\nc\nd', 'a\n…\nd'), null);
  t.is(await held('a\nd', 'a\n…\nd'), null);
  t.is(await held('a\nb', 'a\n…'), null);
  t.is(await held('one two three', 'one … three'), null);
  t.not(await held('a\nb\nc', 'a\n…\nd'), null);
  t.not(await held('one\nthree', 'one … three'), null, 'a part of a line is within it');
  t.not(await held('one two', 'one … three'), null);
});

test('the runner ignores byte order marks and line ends', async (t) => {
  t.is(await run(guideOf(["printf '\\xef\\xbb\\xbfa,b\\r\\n1,2\\r\\n'", 'csv', 'a,b\n1,2'])), null);
});
