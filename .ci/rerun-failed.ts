// Runs each test file that failed in a run of AVA once more, alone. A file that passes now is flaky: its tests count as passed,
// and a line for each of its failures says so loudly. A file that fails again fails the run.
// Usage: rerun-failed.ts NAME CONFIG COMMAND…: NAME.json is what `read-tap.ts` wrote, COMMAND runs the files that it is given.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { rerun } from './flaky.ts';
import { summaryOf, type TestRun, tapReader } from './tap.ts';
import { testFilesOf } from './test-files.ts';

const [name, config, command, ...args] = process.argv.slice(2);
if (command === undefined) throw new Error('usage: rerun-failed.ts NAME CONFIG COMMAND…');

const FILE_LIMIT_MS = 300_000;

function runAlone(file: string): TestRun {
  console.log(`again, alone: ${file}`);
  const { stdout } = spawnSync(command!, [...args, '--tap', file], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: FILE_LIMIT_MS,
    maxBuffer: 100_000_000,
  });
  const read = tapReader();
  return summaryOf(stdout.split('\n').flatMap((line) => read(line) ?? []));
}

const first = JSON.parse(readFileSync(`${name}.json`, 'utf8')) as TestRun;
const { passed, failed, flaky_files, lines, failures } = rerun(first, await testFilesOf(config!), runAlone);
for (const line of lines) console.log(line);
console.log(`${passed} passed, ${failed} failed`);
writeFileSync(`${name}.counts`, `${passed} ${failed}\n`);
writeFileSync(`${name}.failures`, failures.map((line) => `${line}\n`).join(''));
writeFileSync(`${name}.flaky`, lines.map((line) => `${line}\n`).join(''));
writeFileSync(`${name}.flaky-files`, flaky_files.map((file) => `${file}\n`).join(''));
process.exitCode = failed === 0 ? 0 : 1;
