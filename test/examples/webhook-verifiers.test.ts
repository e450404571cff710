// The verifiers of the guide, each run in its language over signatures that the service makes.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { signatureOf } from '../../processes/webhook-signature.ts';

const run = promisify(execFile);
const folder = join(import.meta.dirname, '..', '..', 'examples', 'webhooks');
const guide = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'guides', 'webhooks.md'), 'utf8');

interface Verifier {
  file: string;
  /** As Markdown names its language. */
  language: string;
  /** Its tool, and how it says its version. */
  tool: [command: string, ...args: string[]];
  /** The command that verifies, made in a folder of its own. */
  command(made_in: string): Promise<[command: string, ...args: string[]]>;
}

const VERIFIERS: readonly Verifier[] = [
  {
    file: 'verify.ts',
    language: 'ts',
    tool: [process.execPath, '--version'],
    command: async () => [process.execPath, join(folder, 'verify.ts')],
  },
  {
    file: 'verify.py',
    language: 'python',
    tool: ['python3', '--version'],
    command: async () => ['python3', join(folder, 'verify.py')],
  },
  {
    file: 'verify.go',
    language: 'go',
    tool: ['go', 'version'],
    async command(made_in) {
      const program = join(made_in, 'verify');
      await run('go', ['build', '-o', program, join(folder, 'verify.go')]);
      return [program];
    },
  },
];

const SECRET = 'whsec_a-secret_of-tests';
const BODY = Buffer.from('{"id":"1", "text":"größe \\u0000"}\n');
const now_s = () => Math.floor(Date.now() / 1000);
const signed = (body: string | Buffer = BODY, secret: string | string[] = SECRET, at_s = now_s()) =>
  signatureOf([secret].flat(), body.toString(), at_s);
const [other_v1] = signed(BODY, 'whsec_another').match(/v1=.*/)!;

/** What is given, and what is said of it. */
const VECTORS: readonly [what: string, header: () => string, said: RegExp][] = [
  ['good', () => signed(), /^verified$/],
  ['four minutes old', () => signed(BODY, SECRET, now_s() - 240), /^verified$/],
  ['with another signature before its own', () => signed().replace(',', `,${other_v1},`), /^verified$/],
  ['with another signature after its own', () => `${signed()},${other_v1}`, /^verified$/],
  ['of two secrets while they change', () => signed(BODY, ['whsec_another', SECRET]), /^verified$/],
  ['with a scheme of the future', () => signed().replace(',', ',v9=abc,'), /^verified$/],
  ['of another body', () => signed(`${BODY} `), /^refused: no signature/],
  ['of another secret', () => signed(BODY, 'whsec_another'), /^refused: no signature/],
  ['with another timestamp', () => signed().replace(/t=\d+/, `t=${now_s() + 1}`), /^refused: no signature/],
  ['without a signature', () => signed().replace(/,.*/, ''), /^refused: no signature/],
  ['of an older scheme only', () => signed().replace('v1=', 'v0='), /^refused: no signature/],
  ['with half a signature', () => signed().slice(0, -32), /^refused: no signature/],
  ['without a timestamp', () => signed().replace(/t=\d+,/, ''), /^refused: the header has no timestamp/],
  ['with a timestamp that is none', () => signed().replace(/t=\d+/, 't=now'), /^refused: the header has no timestamp/],
  ['empty', () => '', /^refused: the header has no timestamp/],
  ['too old', () => signed(BODY, SECRET, now_s() - 310), /^refused: the timestamp is too old/],
];

for (const { file, language, tool, command } of VERIFIERS) {
  test(`the guide has ${file} unchanged`, (t) => {
    t.true(guide.includes(`\`\`\`${language}\n${readFileSync(join(folder, file), 'utf8')}\`\`\`\n`));
  });

  test(`${file} accepts good signatures and no others`, async (t) => {
    t.timeout(300_000, 'a first build of Go takes a while');
    const [program, ...args] = tool;
    const version = await run(program, args).catch(() => null);
    if (version === null) {
      t.log(`${program} is not installed: ${file} was not run`);
      return t.is(process.env.CI, undefined, `${program} has to be there in CI`);
    }
    const made_in = await mkdtemp(join(tmpdir(), 'verify-'));
    t.teardown(() => rm(made_in, { recursive: true }));
    const verifier = await command(made_in);
    for (const [what, header, said] of VECTORS) t.regex(await verdict(verifier, header()), said, what);
    await assertStrict(t, verifier);
  });
}

/** A body is verified as its bytes, whatever they are. */
async function assertStrict(t: ExecutionContext, verifier: readonly string[]): Promise<void> {
  const header = signed('ä');
  t.regex(await verdict(verifier, header, Buffer.from('ä')), /^verified$/);
  t.regex(await verdict(verifier, header, Buffer.from('ä', 'latin1')), /^refused/);
}

async function verdict(verifier: readonly string[], header: string, body = BODY): Promise<string> {
  const [program, ...args] = verifier;
  const child = spawn(program!, [...args, SECRET, header], { stdio: 'pipe' });
  child.stdin.end(body);
  const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  if ((code === 0) !== (out !== '')) return `exit code ${code} with ${out}${error}`;
  return (out || error).trim();
}
