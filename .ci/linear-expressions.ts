// Fails when a regular expression of the product takes more than linear time: literals, the patterns of schemas, and
// expressions built at start. recheck decides by the expression's automaton, or by a search for attack texts. All of them
// take a minute, so a file beside this one caches the verdicts: `node .ci/linear-expressions.ts --judge` judges new
// expressions, with `--anew` all of them.
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseSync } from '@swc/core';
import type { Diagnostics } from 'recheck';

const root = join(import.meta.dirname, '..');
const VERDICTS = join(import.meta.dirname, 'linear-expressions.tsv');
const { judge: judges, anew } = parseArgs({
  options: { judge: { type: 'boolean' }, anew: { type: 'boolean' } },
}).values;
const PRODUCT = /^(?!(?:test|bench|examples|\.ci)\/).*\.(?:tsx?|js)$/;
/** Expressions with `{0,200}` have an automaton too. The seed makes the search repeatable. */
const SEARCH = { timeout: 20_000, maxRepeatCount: 1000, randomSeed: 1 };
/** For expressions that only get short texts: there are hundreds, and their time for a text is measured too. */
const SHORT_SEARCH_MS = 300;
/** Limit for the worst text of an expression that only gets short texts, in ms of processor time. */
const WORST_MS = 10;
const MOST_RUNS = 20;

interface Expression {
  file: string;
  pattern: string;
  flags: string;
}

/** Expressions that are not provably linear but only get short texts: the limit of length, and the code that enforces it. */
const SHORT_TEXTS: readonly { file: string; starts: string; max_chars: number; because: string }[] = [
  { file: 'checkers/engine/phrases.ts', starts: '', max_chars: 400, because: 'titles, headings and leads are cut' },
  { file: 'http/results/export/file-name.ts', starts: '^[.', max_chars: 100, because: 'the name is cut just before' },
  { file: 'settings/kinds.ts', starts: '', max_chars: 1000, because: 'the operator writes settings' },
  { file: 'settings/config.ts', starts: '', max_chars: 1000, because: 'the operator writes settings' },
  { file: 'settings/table.ts', starts: '', max_chars: 1000, because: 'the operator writes settings' },
];

/** Files that build expressions from texts, and how many: each text comes from the service's own code, never from a request. */
const CONSTRUCTIONS: Readonly<Record<string, number>> = {
  'checkers/engine/phrases.ts': 5,
  'adapters/documents/query.ts': 1,
  'adapters/documents/sqlite/connection.ts': 1,
};
/** Files that build their expressions when the module loads. */
const MADE_AT_LOAD = ['checkers/engine/phrases.ts'];

const problems = selfCheck();
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
});
const found = files
  .split('\n')
  .filter((file) => PRODUCT.test(file))
  .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const);
const seen = found.map(([file, text]) => expressionsIn(file, text));
for (const { file, constructions } of seen) {
  const known = CONSTRUCTIONS[file] ?? 0;
  if (constructions !== known) problems.push(`${file}: ${constructions} times new RegExp, ${known} are known here`);
}
const expressions = [...seen.flatMap(({ literals }) => literals), ...(await expressionsAtLoad())];
const verdicts = readVerdicts();
const judged: (string | null)[] = [];
for (const expression of expressions) judged.push(await judge(expression));
problems.push(...judged.filter((problem) => problem !== null));
if (judges) saveVerdicts();
if (found.length === 0 || judged.length === 0) problems.push('no expression was seen');
for (const problem of problems) console.error(problem);
console.log(
  `linear expressions: ${judged.length} in ${found.length} files, ${problems.length === 0 ? 'all linear' : `${problems.length} problems`}`,
);
// recheck's child process keeps waiting for requests, so we exit.
process.exit(problems.length === 0 ? 0 : 1);

/** Every literal of a source, the value of every `pattern: '…'`, and the number of `RegExp(…)` calls. */
function expressionsIn(file: string, text: string): { file: string; literals: Expression[]; constructions: number } {
  const literals: Expression[] = [];
  let constructions = 0;
  // biome-ignore lint/suspicious/noExplicitAny: a node is one of a hundred types, and only these matter
  const walk = (node: any): void => {
    if (typeof node !== 'object' || node === null) return;
    if (node.type === 'RegExpLiteral') literals.push({ file, pattern: node.pattern, flags: node.flags });
    const is_pattern = node.type === 'KeyValueProperty' && node.key.value === 'pattern';
    // `inWords` returns its first argument.
    const value = node.value?.callee?.value === 'inWords' ? node.value.arguments[0].expression : node.value;
    if (is_pattern && value.type === 'StringLiteral') literals.push({ file, pattern: value.value, flags: 'u' });
    if ((node.type === 'NewExpression' || node.type === 'CallExpression') && node.callee.value === 'RegExp')
      constructions++;
    for (const child of Object.values(node)) walk(child);
  };
  walk(parseSync(text, { syntax: 'typescript', tsx: file.endsWith('x'), target: 'esnext' }));
  return { file, literals, constructions };
}

/** The expressions that modules build while they load, or in `makeExpressions` where they have it. */
async function expressionsAtLoad(): Promise<Expression[]> {
  const made: Expression[] = [];
  const Native = globalThis.RegExp;
  for (const file of MADE_AT_LOAD) {
    class Recorded extends Native {
      constructor(pattern: string, flags: string) {
        super(pattern, flags);
        made.push({ file, pattern, flags });
      }
    }
    globalThis.RegExp = Recorded as RegExpConstructor;
    try {
      const { makeExpressions } = await import(join(root, file));
      makeExpressions?.();
    } finally {
      globalThis.RegExp = Native;
    }
    if (!made.some((one) => one.file === file)) problems.push(`${file}: no expression was seen when it was loaded`);
  }
  return made;
}

type Verdict = 'linear' | { attack: { prefix: string; pump: string }[]; suffix: string; why: string };

function readVerdicts(): Map<string, Verdict> {
  const rows = anew
    ? []
    : readFileSync(VERDICTS, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
  return new Map(rows.map((row) => [row.slice(0, row.indexOf('\t')), JSON.parse(row.slice(row.indexOf('\t') + 1))]));
}

/** Writes one line for each current expression, so that two branches that add expressions do not conflict. */
function saveVerdicts(): void {
  const current = new Set(expressions.map(keyOf));
  const rows = [...verdicts].filter(([key]) => current.has(key)).sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(VERDICTS, rows.map(([key, verdict]) => `${key}\t${JSON.stringify(verdict)}\n`).join(''));
}

function keyOf({ pattern, flags }: Expression): string {
  return hash('sha1', `/${pattern}/${flags}`);
}

/** The fault of the expression, or null. */
async function judge(expression: Expression): Promise<string | null> {
  const { file, pattern, flags } = expression;
  const named = `${file}: /${pattern.slice(0, 300)}/${flags}`;
  const short = SHORT_TEXTS.find((one) => one.file === file && pattern.startsWith(one.starts));
  let verdict = verdicts.get(keyOf(expression));
  if (!verdict) {
    if (!judges) return `${named} is new: run \`node .ci/linear-expressions.ts --judge\` and commit its verdict`;
    const { check } = await import('recheck');
    verdicts.set(
      keyOf(expression),
      (verdict = verdictOf(await check(pattern, flags, short ? { ...SEARCH, timeout: SHORT_SEARCH_MS } : SEARCH))),
    );
  }
  if (verdict === 'linear') return null;
  if (!short) return `${named} ${verdict.why}`;
  const texts = [worstText(verdict, short.max_chars), ownText(pattern, short.max_chars)];
  const worst_ms = Math.max(...texts.map((text) => shortestTimeOf(new RegExp(pattern, flags), text)));
  return worst_ms <= WORST_MS ? null : `${named} takes ${worst_ms} ms for ${short.max_chars} characters`;
}

function verdictOf(of: Diagnostics): Verdict {
  if (of.status === 'safe') return 'linear';
  if (of.status === 'unknown') return { attack: [], suffix: '', why: `could not be judged: ${of.error.kind}` };
  const { pumps, suffix, pattern } = of.attack;
  return { attack: pumps, suffix, why: `is ${of.complexity.summary}, by ${pattern.slice(0, 300)}` };
}

/** recheck's attack, or one character over and over, as long as the expression's texts may be. */
function worstText(verdict: Exclude<Verdict, 'linear'>, max_chars: number): string {
  const { attack, suffix } = verdict;
  const fixed = attack.reduce((sum, { prefix }) => sum + prefix.length, suffix.length);
  const pumped = attack.reduce((sum, { pump }) => sum + pump.length, 0);
  if (pumped === 0) return ' '.repeat(max_chars);
  const times = Math.max(1, Math.floor((max_chars - fixed) / pumped));
  return attack.map(({ prefix, pump }) => prefix + pump.repeat(times)).join('') + suffix;
}

/** The expression's own words over and over, which come close to matching. */
function ownText(pattern: string, max_chars: number): string {
  const words = pattern.replace(/\\p\{\w+\}|[^\p{L}\p{M} ]+/gu, ' ');
  return words.repeat(Math.ceil(max_chars / words.length)).slice(0, max_chars);
}

/**
 * The shortest of several runs in ms, up to the first run within the limit: the first runs compile the expression, and
 * other load of the machine only lengthens a run.
 */
function shortestTimeOf(expression: RegExp, text: string): number {
  let shortest_ms = Number.POSITIVE_INFINITY;
  for (let run = 0; run < MOST_RUNS && shortest_ms > WORST_MS; run++) {
    const before = process.threadCpuUsage();
    text.replace(expression, '');
    const { user, system } = process.threadCpuUsage(before);
    shortest_ms = Math.min(shortest_ms, (user + system) / 1000);
  }
  return shortest_ms;
}

/** Proves that the search finds a literal in every syntactic position. */
function selfCheck(): string[] {
  const text =
    'class A { [/1/.source] = 0; static f = /2/g; #p = [/3/, ...[/4/]]; m(x = /5/) { return x ?? /6/; } }\n' +
    'const o = { k: /7/, pattern: "^8$", [/9/.source]: 0 } satisfies object;\n' +
    'async function h() { await using held = a(/10/); for (const x of y(/11/)) new RegExp(x); RegExp("a"); }\n' +
    'export default x ? /12/ : (/13/ as unknown);\n';
  const { literals, constructions } = expressionsIn('made-up.ts', text);
  const as_expected = literals.length === 13 && constructions === 2;
  return as_expected ? [] : [`self-check: ${literals.length} of 13 literals, ${constructions} of 2 constructions`];
}
