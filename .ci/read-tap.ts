// Reads AVA's TAP from standard input: prints it for people, and writes `passed failed` to NAME.counts, failures with their
// details to NAME.failures, and all of it to NAME.json. NAME.running is the folder of `running-files.ts`.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Marks, summaryOf, type TapLine, tapReader } from './tap.ts';

const [name] = process.argv.slice(2);
if (name === undefined) throw new Error('usage: read-tap.ts NAME <TAP');

const MARKS = { passed: '✔', failed: '✘', skipped: '-', todo: '-' } as const;
const read = tapReader();
const lines: TapLine[] = [];
for await (const text of createInterface({ input: process.stdin })) {
  const line = read(text);
  if (line === null) continue;
  lines.push(line);
  if (line.kind === 'test') console.log(`  ${MARKS[line.test.outcome]}${line.test.directive} ${line.test.title}`);
  if (line.kind === 'detail') console.log(`    ${line.text}`);
}

const run = summaryOf(lines, marksIn(`${name}.running`));
for (const title of run.failures) console.log(`failed: ${title}`);
for (const problem of run.problems) console.log(`failed: ${problem}`);
console.log(`${run.passed} passed, ${run.failed} failed`);
const told = run.failures.flatMap((title) => [`failed: ${title}`, ...(run.details[title] ?? [])]);
const failures = [...told, ...run.problems.map((problem) => `failed: ${problem}`)];
writeFileSync(`${name}.counts`, `${run.passed} ${run.failed}\n`);
writeFileSync(`${name}.failures`, failures.map((line) => `${line}\n`).join(''));
writeFileSync(`${name}.json`, JSON.stringify(run));

function marksIn(folder: string): Marks {
  const marks: Marks = { running: [], error_files: {} };
  for (const name of readdirSync(folder).sort()) {
    const file = decodeURIComponent(name.replace(/\.errors$/, ''));
    if (!name.endsWith('.errors')) marks.running.push(file);
    else
      for (const title of new Set(readFileSync(join(folder, name), 'utf8').trimEnd().split('\n')))
        (marks.error_files[title] ??= []).push(file);
  }
  return marks;
}
