// Which process of which machine this is, so that another one on the same machine can tell that it has ended.
import { readFileSync, readlinkSync } from 'node:fs';

/** A process for as long as the machine runs: its number alone may be given to another one, or to one in each container. */
export interface ProcessIdentity {
  /** The machine's boot. */
  boot: string;
  /** The namespace in which `pid` is a number. */
  pid_namespace: string;
  pid: number;
  /** When the process began, in ticks since the boot. */
  began: string;
}

/** Null where the system does not say: nobody can then prove that this process has ended. */
export function thisProcess(): ProcessIdentity | null {
  const place = thisPlace();
  const began = place && beginningOf(process.pid);
  return place && began ? { ...place, pid: process.pid, began: began.at } : null;
}

/** Whether it is certain that the process has ended. False for those of other machines, boots and containers. */
export function hasEnded(other: ProcessIdentity): boolean {
  const place = thisPlace();
  if (place?.boot !== other.boot || place.pid_namespace !== other.pid_namespace) return false;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true;
  }
  // The number may be another process's by now, or that of one that was killed and that its parent has not looked after.
  const there = beginningOf(other.pid);
  return there !== null && (there.is_zombie || there.at !== other.began);
}

function thisPlace(): Pick<ProcessIdentity, 'boot' | 'pid_namespace'> | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return { boot, pid_namespace: readlinkSync('/proc/self/ns/pid') };
  } catch {
    return null;
  }
}

/** From `/proc/PID/stat`: the state follows the name, which is in brackets and may hold any character. */
function beginningOf(pid: number): { at: string; is_zombie: boolean } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { at: words[19]!, is_zombie: words[0] === 'Z' };
  } catch {
    return null;
  }
}
