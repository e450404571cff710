// Prints the cost of each test file, the most expensive first: processor time with all its child processes, and wall time, in
// seconds. Runs AVA once for each file. Takes AVA's arguments: --config ava.servers.config.js, names of files.
// Needs Linux, which counts the time of ended children in /proc.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { testFilesOf } from './test-files.ts';

const { values, positionals } = parseArgs({
  options: { config: { type: 'string', default: 'ava.config.js' } },
  allowPositionals: true,
});
const files = positionals.length > 0 ? positionals : await testFilesOf(values.config);

const TICKS_PER_S = 100;

/** Processor time in seconds of all ended children and their descendants. */
function childrenCpu_s(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15);
  return (Number(user) + Number(system)) / TICKS_PER_S;
}

const costs = files.map((file) => {
  const cpu_before = childrenCpu_s();
  const begun = performance.now();
  const { status } = spawnSync('node_modules/.bin/ava', ['--config', values.config, file], { stdio: 'ignore' });
  const cost = { file, cpu_s: childrenCpu_s() - cpu_before, wall_s: (performance.now() - begun) / 1000, status };
  process.stderr.write(`${cost.cpu_s.toFixed(1)} ${cost.wall_s.toFixed(1)} ${file}\n`);
  return cost;
});

const line = (cpu_s: number, wall_s: number, name: string) =>
  console.log(`${cpu_s.toFixed(1).padStart(8)} ${wall_s.toFixed(1).padStart(8)}  ${name}`);
console.log(' CPU (s) wall (s)');
for (const { cpu_s, wall_s, file, status } of costs.toSorted((a, b) => b.cpu_s - a.cpu_s))
  line(cpu_s, wall_s, status === 0 ? file : `${file} (exit code ${status})`);
const sum = (of: 'cpu_s' | 'wall_s') => costs.reduce((total, cost) => total + cost[of], 0);
line(sum('cpu_s'), sum('wall_s'), `${costs.length} files`);
