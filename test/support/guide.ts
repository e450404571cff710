// Runs a guide as its reader would: every ```sh block in order, in one session of bash that begins at the root of the
// project, and holds what each prints to the block that follows it. So a guide is right, or its test fails.
//
//   const wrong = await runGuide('docs/guides/some-guide.md', {
//     replace: { '127.0.0.1:8080': new URL(service.url).host, 'data/demo': service.data_dir },
//   });
//   t.is(wrong, null);
//
// - `replace`: what the guide says of the reader's machine, and what it is here: put into the commands, and undone in what
//   they print.
// - A ```json block right after a ```sh block is the JSON that it prints, in any layout; a ```text or ```csv block is the
//   text, errors included. A block that none follows prints nothing. Other blocks are not run.
// - A ```python run block goes on in the one session of Python that the guide has, and sees what the blocks before it made;
//   a ```js run or ```ts run block is a program of its own. All see what the shell has exported, and have the project's clients.
// - Ids, hashes, tokens, times and the like may be others than shown, but of the same kind, and ids, hashes and tokens
//   that are the same in the guide are the same here (guide-output.ts). So are numbers under names that end with `_ms`.
// - Elisions: in JSON `"…": "…"` stands for more fields and a last item `"…"` for more items; in text a line `…` stands
//   for more lines, and `…` in a line or in a JSON string for more of it.
// - A command that fails ends the run. Files go where the guide says: `cd "$(mktemp -d)"` leads to a folder
//   that is removed in the end. Needs bash and what the guide itself calls, such as curl.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { differenceOf, type Names, type Output } from './guide-output.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BLOCK_MS = 280_000;

export interface GuideOptions {
  replace?: Readonly<Record<string, string>>;
  env?: Readonly<Record<string, string>>;
  npm?: boolean;
}

interface Step {
  /** Of the guide, from 1. */
  line: number;
  commands: string;
  /** Null: nothing is printed. */
  output: Output | null;
}

/** What is wrong with the guide, for a person to read, or null. `path`: from the root of the project. */
export async function runGuide(
  path: string,
  { replace = {}, env = {}, npm = false }: GuideOptions = {},
): Promise<string | null> {
  const steps = stepsOf(await readFile(resolve(ROOT, path), 'utf8'));
  if (steps.length === 0) return `${path} has no block to run`;
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-guide-'));
  if (!npm) await writeFile(join(folder, 'npm'), NPM, { mode: 0o755 });
  const PATH = [folder, env.PATH ?? process.env.PATH].join(delimiter);
  const session = openSession(folder, { ...env, PATH, TMPDIR: folder, PYTHONPATH: join(ROOT, 'clients/python') });
  await giveClients(folder);
  const names: Names = { here: new Map(), shown: new Map() };
  const pairs = Object.entries(replace);
  try {
    for (const { line, commands, output } of steps) {
      const run = await session.run(pairs.reduce((text, [shown, here]) => text.replaceAll(shown, here), commands));
      const printed = pairs.reduce((text, [shown, here]) => text.replaceAll(here, shown), run.printed);
      const wrong = run.failed ?? differenceOf(output, printed, names);
      if (wrong !== null) return `${path}:${line}: ${wrong}\n--- run\n${commands}--- printed\n${printed}`;
    }
    return null;
  } finally {
    await session.close();
    await rm(folder, { recursive: true, force: true });
  }
}

const OUTPUTS = ['json', 'text', 'csv'];

/** What a guide says: its commands, each with what it shows of their output. */
export function stepsOf(markdown: string): Step[] {
  const blocks = [...markdown.matchAll(/^```(\w*)( run)?\n([\s\S]*?)^```$/gm)].map((match) => ({
    line: markdown.slice(0, match.index).split('\n').length,
    language: match[1]!,
    text: commandsOf(match[1]!, match[2] !== undefined, match[3]!),
  }));
  return blocks.flatMap(({ line, language, text }, n) => {
    if (OUTPUTS.includes(language) || text === null) return [];
    const next = blocks[n + 1];
    const is_output = next !== undefined && OUTPUTS.includes(next.language);
    const output: Output | null = is_output ? { is_json: next.language === 'json', text: next.text ?? '' } : null;
    return [{ line, commands: text, output }];
  });
}

/** What the shell is told to do; null for a block that is only shown. */
function commandsOf(language: string, is_run: boolean, text: string): string | null {
  if (language === 'sh' || OUTPUTS.includes(language)) return text;
  return is_run ? `run_${language} <<'END_OF_BLOCK'\n${text}END_OF_BLOCK\n` : null;
}

/** Executes files whose paths it is sent, one after the other, and says how each went. */
const PYTHON = `
import sys, traceback
names = {"__name__": "__main__"}
with open(sys.argv[1]) as paths, open(sys.argv[2], "w") as outcomes:
    for path in paths:
        try:
            exec(compile(open(path.strip()).read(), path.strip(), "exec"), names)
            outcome = "ok"
        except BaseException:
            traceback.print_exc()
            outcome = "failed"
        sys.stdout.flush()
        print(outcome, file=outcomes, flush=True)
`;
const RUNNERS = `
run_python() {
  cat > "$TMPDIR/block.py"
  if [ ! -p "$TMPDIR/python-in" ]; then
    mkfifo "$TMPDIR/python-in" "$TMPDIR/python-out"
    exec 7<>"$TMPDIR/python-in" 8<>"$TMPDIR/python-out"
    python3 "$TMPDIR/python.py" "$TMPDIR/python-in" "$TMPDIR/python-out" 7>&- 8>&- &
  fi
  echo "$TMPDIR/block.py" >&7
  local outcome
  read -r outcome <&8
  [ "$outcome" = ok ]
}
run_js() {
  cat > "$TMPDIR/block.mjs"
  node "$TMPDIR/block.mjs"
}
run_ts() {
  cat > "$TMPDIR/block.mts"
  node "$TMPDIR/block.mts"
}
`;

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
/** As npm runs a script in the folder of the project: with its programs, and the folder where the user stands. */
const NPM = `#!/bin/sh
me=$0
case "$PWD/ $1 $2 $4" in
  "${ROOT} run -s --") ;;
  *) PATH="\${PATH#\${me%/npm}:}"; exec npm "$@" ;;
esac
export INIT_CWD="$PWD" npm_package_json="${ROOT}package.json" PATH="${ROOT}node_modules/.bin:$PATH"
case "$3" in
${Object.entries(scripts)
  .filter(([name]) => name !== 'postinstall')
  .map(([name, command]) => `  ${name}) shift 4; exec ${command.replace(/^exec /, '')} "$@" ;;`)
  .join('\n')}
  *) echo "npm error Missing script: \\"$3\\"" >&2; exit 1 ;;
esac
`;

/** Programs in the folder import the TypeScript client by its name, as it stands in the project, and the clients of MCP. */
async function giveClients(folder: string): Promise<void> {
  const client = join(folder, 'node_modules/url-checker-client');
  await mkdir(client, { recursive: true });
  const described = { name: 'url-checker-client', type: 'module', exports: './index.ts' };
  await writeFile(join(client, 'package.json'), JSON.stringify(described));
  await symlink(join(ROOT, 'clients/typescript/index.ts'), join(client, 'index.ts'));
  await symlink(join(ROOT, 'node_modules/@modelcontextprotocol'), join(folder, 'node_modules/@modelcontextprotocol'));
}

interface Session {
  run(commands: string): Promise<{ printed: string; failed: string | null }>;
  close(): Promise<void>;
}

function openSession(folder: string, env: Readonly<Record<string, string>>): Session {
  // A group of its own, so that what it has started ends with it.
  const bash = spawn('bash', ['--noprofile', '--norc'], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const exited = once(bash, 'close').catch((error: Error) => {
    printed += error.message;
  });
  let printed = '';
  let heard = () => {};
  for (const stream of [bash.stdout, bash.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk;
      heard();
    });
  }
  bash.stdin.on('error', () => {});
  writeFileSync(join(folder, 'python.py'), PYTHON);
  bash.stdin.write(`exec 2>&1; set -e\n${RUNNERS}`);
  const end = `--- done in ${folder} ---\n`;
  let blocks = 0;

  return {
    async run(commands) {
      const file = join(folder, `block-${++blocks}.sh`);
      await writeFile(file, commands);
      printed = '';
      const done = new Promise<void>((resolve) => {
        heard = () => printed.endsWith(end) && resolve();
      });
      bash.stdin.write(`source ${file} </dev/null\nprintf %s '${end}'\n`);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<string>((resolve) => {
        timer = setTimeout(() => resolve(`takes longer than ${BLOCK_MS} ms`), BLOCK_MS);
      });
      const failed = await Promise.race([
        done.then(() => null),
        exited.then(() => `a command failed with exit code ${bash.exitCode}`),
        late,
      ]);
      clearTimeout(timer);
      return { printed: failed === null ? printed.slice(0, -end.length) : printed, failed };
    },
    async close() {
      bash.stdin.end();
      endGroup(bash);
      await exited;
    },
  };
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
