// Stops a process by SIGSTOP. The signal goes to one thread of it, and until that one has its turn of a busy processor, the others run.
import { readdirSync, readFileSync } from 'node:fs';
import { until } from './until.ts';

/** Resolves when no thread of the process runs any more; elsewhere than on Linux, when the signal is sent. */
export async function standStill(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  if (process.platform === 'linux')
    await until(() => readdirSync(`/proc/${pid}/task`).every((thread) => stands(pid, thread)));
}

function stands(pid: number, thread: string): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    return stat.charAt(stat.lastIndexOf(')') + 2) === 'T';
  } catch {
    // It has ended since it was listed: the next look does not find it.
    return false;
  }
}
