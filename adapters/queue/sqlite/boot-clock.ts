// The clock of the queue's file: monotonic milliseconds since this machine booted, the same in all its processes. It starts
// over at each boot, so the file records the boot that its times belong to.
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import type { DatabaseSync } from 'node:sqlite';
import { transaction } from '../../sqlite.ts';

export interface BootClock {
  /** Whole milliseconds. */
  now(): number;
  boot: string;
}

export const machineClock: BootClock = {
  now: () => Number(process.hrtime.bigint() / 1_000_000n),
  boot: thisBoot(),
};

/** The kernel's boot id, or else the ten minutes in which the machine booted. A wrong guess only redelivers work early. */
function thisBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return `began ${Math.round((Date.now() / 1000 - uptime()) / 600)}`;
  }
}

/** After a reboot the file's times are void: marks every message as published now and due now. */
export function adoptBoot(db: DatabaseSync, { now, boot }: BootClock): void {
  transaction(db, () => {
    db.exec('CREATE TABLE IF NOT EXISTS clock (id INTEGER PRIMARY KEY CHECK (id = 1), boot TEXT NOT NULL) STRICT');
    if (db.prepare('SELECT boot FROM clock').get()?.boot === boot) return;
    const ms = now();
    db.prepare('UPDATE messages SET due_at = ?, held = 0, published_at = ?').run(ms, ms);
    db.exec('DELETE FROM published_ids; DELETE FROM broadcasts');
    db.prepare('INSERT OR REPLACE INTO clock (id, boot) VALUES (1, ?)').run(boot);
  });
}
