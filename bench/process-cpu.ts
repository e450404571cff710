// What a process costs.
import { readFileSync } from 'node:fs';

/** Milliseconds of a clock tick in `/proc/PID/stat`, on every Linux that Node runs on. */
const TICK_MS = 10;

/** Processor time of all threads of a process since its start. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** The resident memory of a process, in MB. */
export const rssMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
