// Subscriptions to the whole log, by the rules of one version of the server.
import { randomUUID } from 'node:crypto';
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import { status } from '@grpc/grpc-js';
import type { Faults } from './faults.ts';
import type { LogPosition, MemoryLog, Stored } from './memory-log.ts';
import { caughtUpMessage, checkpointMessage, confirmationMessage, eventMessage } from './messages.ts';

/**
 * Where versions differ is in what a filtered subscription is told when it has caught up: 23.10 tells nothing, 24.10.4 a
 * position past every log when nothing has matched, 25.0.0 the end of the log. A live subscription whose reader is slower
 * than the writers is ended by 23.10; the others catch up again without a word.
 */
export type ServerVersion = '23.10.0' | '24.10.4' | '24.10.5' | '25.0.0';

type Options = ReadReq.Options;

export interface Sender {
  gone: AbortSignal;
  /** Resolves when the client has taken it. Throws `Gone` when the client has gone. */
  send(message: ReadResp): Promise<void>;
}
export class Gone extends Error {}

class ConsumerTooSlow extends Error {
  readonly code = status.ABORTED;
}

/** Events that a page of a catch-up gives, and that a live subscription may be behind before it catches up again. */
const PAGE = 32;
const LIVE_BUFFER = 32;
const NOWHERE = { commit: 2n ** 64n - 1n, prepare: 2n ** 64n - 1n };

interface Subscribing {
  log: MemoryLog;
  faults: Faults;
  version: ServerVersion;
  options: Options;
  sender: Sender;
}

export async function subscribe({ log, faults, version, options, sender }: Subscribing): Promise<void> {
  const { send, gone } = sender;
  const { is_filtered, allowed, window, interval } = filterOf(options);
  await send(confirmationMessage(randomUUID()));
  let cursor = startOf(log, options.getAll()!, true);
  let last_sent: LogPosition | null = null;
  let looked_at = 0;
  const give = async (event: Stored) => {
    if (!allowed(event)) return false;
    await send(eventMessage(event));
    last_sent = event;
    return true;
  };
  while (!gone.aborted) {
    let page_start: LogPosition | null = null;
    while (cursor < log.all.length) {
      faults.page_reads += 1;
      page_start = { commit: log.all[cursor]!.commit, prepare: 0n };
      for (let page = 0, sent = 0; cursor < log.all.length && page < window && sent < PAGE; page += 1) {
        looked_at += 1;
        if (await give(log.all[cursor++]!)) sent += 1;
      }
      if (is_filtered && looked_at >= interval) {
        looked_at = 0;
        await send(checkpointMessage(page_start));
      }
    }
    const end: LogPosition | undefined = log.all[cursor - 1];
    if (is_filtered) {
      const told = lastCheckpoint(version, { last_sent, page_start, end });
      if (told !== null) await send(checkpointMessage(told));
    }
    // While that was sent there may be more.
    if (cursor < log.all.length) continue;
    await send(caughtUpMessage());
    looked_at = 0;
    while (!gone.aborted) {
      await log.grown(cursor, gone);
      if (log.all.length - cursor > LIVE_BUFFER) {
        if (version === '23.10.0') throw new ConsumerTooSlow('Operation timed out: Consumer too slow');
        break;
      }
      const event = log.all[cursor];
      if (event === undefined) continue;
      cursor += 1;
      looked_at += 1;
      await give(event);
      if (is_filtered && looked_at >= interval) {
        looked_at = 0;
        await send(checkpointMessage(event));
      }
    }
  }
}

function lastCheckpoint(
  version: ServerVersion,
  {
    last_sent,
    page_start,
    end,
  }: { last_sent: LogPosition | null; page_start: LogPosition | null; end: LogPosition | undefined },
): LogPosition | null {
  switch (version) {
    case '23.10.0':
      return null;
    case '25.0.0':
      return end ?? null;
    case '24.10.4':
      if (last_sent === null) return NOWHERE;
      break;
    case '24.10.5':
  }
  if (page_start === null) return last_sent;
  return last_sent !== null && last_sent.commit >= page_start.commit ? last_sent : page_start;
}

function filterOf(options: Options) {
  const filter = options.getFilter();
  const window = filter?.hasMax() ? filter.getMax() : PAGE;
  const interval = filter ? window * filter.getCheckpointintervalmultiplier() : Number.POSITIVE_INFINITY;
  const expression = filter?.getStreamIdentifier() ?? filter?.getEventType();
  const subject = (event: Stored) => (filter?.hasStreamIdentifier() ? event.stream : event.type);
  const prefixes = expression?.getPrefixList() ?? [];
  const regex = expression?.getRegex() ? new RegExp(expression.getRegex(), 'u') : null;
  const allowed = (event: Stored): boolean =>
    filter === undefined ||
    (event.type !== '$epoch-information' &&
      (regex ? regex.test(subject(event)) : prefixes.some((prefix) => subject(event).startsWith(prefix))));
  return { is_filtered: filter !== undefined, allowed, window, interval };
}

/** The index of the first event to give forwards; backwards, of the one after it. */
export function startOf(log: MemoryLog, range: ReadReq.Options.AllOptions, exclusive: boolean): number {
  if (range.hasStart()) return 0;
  if (range.hasEnd()) return log.all.length;
  const position = range.getPosition()!;
  return log.indexOf(
    { commit: BigInt(position.getCommitPosition()), prepare: BigInt(position.getPreparePosition()) },
    { exclusive },
  );
}
