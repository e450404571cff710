// Reads AVA's TAP from standard input: prints it for people, writes `passed failed` to NAME.counts, and writes failures with
// their details to NAME.failures.
// Output that ends early, a run without a test, and totals that differ from the lines count as failures.
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [name] = process.argv.slice(2);
if (name === undefined) throw new Error('usage: read-tap.ts NAME <TAP');

let passed = 0;
let todos = 0;
const failures: string[] = [];
/** Each failure's title and the lines of its YAML block. */
const told: string[] = [];
const totals: Record<string, number> = {};
/** True inside a failure's YAML block, which is printed unchanged. */
let in_details = false;

for await (const line of createInterface({ input: process.stdin })) {
  const test = /^(ok|not ok) \d+ - (.*?)( # (?:SKIP|TODO)\b.*)?$/.exec(line);
  const total = /^# (pass|fail|skip|todo|tests) (\d+)$/.exec(line);
  if (test) {
    const [, outcome, title, left_out] = test;
    if (outcome === 'not ok' && left_out) todos++;
    if (left_out) console.log(`  -${left_out} ${title}`);
    else if (outcome === 'ok') {
      passed++;
      console.log(`  ✔ ${title}`);
    } else {
      failures.push(title!);
      told.push(`failed: ${title}`);
      console.log(`  ✘ ${title}`);
    }
  } else if (total) totals[total[1]!] = Number(total[2]);
  else if (/^ {2}---$/.test(line)) in_details = true;
  else if (/^ {2}\.\.\.$/.test(line)) in_details = false;
  else if (in_details || /^# {3}/.test(line)) {
    console.log(`    ${line}`);
    if (in_details && failures.length > 0) told.push(line);
  }
}

const problems: string[] = [];
if (totals.pass === undefined) problems.push('the output of the tests ended before its totals');
else if (totals.pass !== passed) problems.push(`${totals.pass} passed by the totals, ${passed} by the lines`);
if (passed === 0) problems.push('no test passed');
for (const title of failures) console.log(`failed: ${title}`);
for (const problem of problems) console.log(`failed: ${problem}`);
// Tests that never ended appear only in the total, where AVA counts them as failed.
const failed = Math.max(failures.length, (totals.fail ?? 0) - todos) + (problems.length > 0 ? 1 : 0);
console.log(`${passed} passed, ${failed} failed`);
writeFileSync(`${name}.counts`, `${passed} ${failed}\n`);
writeFileSync(
  `${name}.failures`,
  [...told, ...problems.map((problem) => `failed: ${problem}`)].map((line) => `${line}\n`).join(''),
);
