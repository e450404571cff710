// Finds commands whose events are in several streams without a declaration of their work: a test that runs such a command fails.
import { TRANSACTIONS, type TransactionType } from '../../events/credits.ts';
import type { EventStore, RecordedEvent } from '../../events/event-store.ts';
import { typesOf, WORK_NAMES, type WorkName } from '../../events/two-streams.ts';

const MOST_EVENTS = 20_000;
/** Made-up logs have other ids, which many of their events share; the histories of all event types have one. */
const RANDOM_UUID = /^(?!c0ffee00)[0-9a-f]{8}-[0-9a-f]{4}-4/;

const EVENTS = new Map(
  WORK_NAMES.map((name) => [name, new Set<string>([...typesOf(name, 'first'), ...typesOf(name, 'second')])]),
);

/** A ledger entry is a step of the work that its type of transaction names, and of no other. */
function worksOf({ type, data }: RecordedEvent): readonly WorkName[] {
  const transaction_type = (data as { transaction_type?: TransactionType } | null)?.transaction_type;
  if (transaction_type === undefined) return WORK_NAMES.filter((name) => EVENTS.get(name)!.has(type));
  const work = TRANSACTIONS[transaction_type]?.work;
  return work ? [work] : [];
}

/** Works of one command follow each other: the last event of one is the first of the next, or both have one end. */
const areJoined = (one: WorkName, other: WorkName) => !EVENTS.get(one)!.isDisjointFrom(EVENTS.get(other)!);

/** The commands that appended to several streams of which no declared work joins one with the others, each by its event types. */
export async function undeclaredWork(log: EventStore): Promise<string[]> {
  const by_command = new Map<string, RecordedEvent[]>();
  let read = 0;
  for await (const event of log.readAll()) {
    if ((read += 1) > MOST_EVENTS) break;
    const command_id: unknown = event.metadata?.command_id;
    if (typeof command_id !== 'string' || !RANDOM_UUID.test(command_id)) continue;
    by_command.set(command_id, [...(by_command.get(command_id) ?? []), event]);
  }
  const found = [...by_command.values()].filter((events) => !isDeclared(events));
  return [...new Set(found.map((events) => [...new Set(events.map(({ type }) => type))].join(' + ')))];
}

function isDeclared(events: readonly RecordedEvent[]): boolean {
  const streams = [...new Set(events.map(({ stream }) => stream))];
  if (streams.length < 2) return true;
  return streams.every((stream) => {
    const works = events.filter((event) => event.stream === stream).flatMap(worksOf);
    const others = events.filter((event) => event.stream !== stream).flatMap(worksOf);
    return works.some((work) => others.some((other) => areJoined(work, other)));
  });
}
