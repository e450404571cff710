// Identifies this process, so that another process on the same machine can tell that it has ended.
import { readFileSync, readlinkSync } from 'node:fs';

/** Identifies a process within one boot: the system reuses process numbers, and each container has its own. */
export interface ProcessIdentity {
  /** The machine's boot. */
  boot: string;
  /** The PID namespace of `pid`. */
  pid_namespace: string;
  pid: number;
  /** The process's start, in ticks since the boot. */
  began: string;
}

/** Returns null where the system has no /proc: no process can then prove that this one has ended. */
export function thisProcess(): ProcessIdentity | null {
  const place = thisPlace();
  const began = place && beginningOf(process.pid);
  return place && began ? { ...place, pid: process.pid, began: began.at } : null;
}

/** Whether the process has certainly ended. False for a process of another machine, boot or container. */
export function hasEnded(other: ProcessIdentity): boolean {
  const place = thisPlace();
  if (place?.boot !== other.boot || place.pid_namespace !== other.pid_namespace) return false;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true;
  }
  // Another process may have the number by now, or the process is a zombie that its parent has not reaped.
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

/** Reads `/proc/PID/stat`, where the state follows the name; the name is in brackets and may hold any character. */
function beginningOf(pid: number): { at: string; is_zombie: boolean } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { at: words[19]!, is_zombie: words[0] === 'Z' };
  } catch {
    return null;
  }
}
