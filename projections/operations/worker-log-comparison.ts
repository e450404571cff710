// Compares worker logs by their entries, job by job. A replay of a log without the checks of purged jobs cuts the segments elsewhere, and keeps
// older entries, because it counts fewer newer ones: these are not compared. Decision 87 says why.
import { hash } from 'node:crypto';
import {
  emptyLog,
  entriesOf,
  LOG_STATE,
  type LogEntry,
  type LogJobDocument,
  logJobs,
  logSegments,
  logStates,
  ofSegment,
  type SegmentDocument,
} from '../../readmodels/operations/log-segments.ts';
import type { Difference } from '../../readmodels/projection-state.ts';
import { breather } from '../../time/event-loop.ts';
import type { Read, Sides } from '../projection.ts';
import { readAll } from '../slices.ts';

/** What a worker log has of a job. */
interface OfJob {
  entries: number;
  /** Of all entries, in their order. */
  digest: string;
  /** Whether the job's document names the segments of all entries. */
  is_found: boolean;
  is_deleted: boolean;
}

export async function compareWorkerLogs(
  { live, rebuilt, readBoth, signal }: Sides,
  found: (difference: Difference) => void,
): Promise<number> {
  const [one, other] = [openSide(live, signal), openSide(rebuilt, signal)];
  const refresh = (read: Read) => (read === live ? one : other).refresh();
  // So that little is left to read where both are at one position.
  for (const side of [live, rebuilt]) await refresh(side);
  while ((await readBoth(refresh)) === null) signal.throwIfAborted();

  if (one.counted() !== one.entries()) {
    found({ collection: logStates.name, id: LOG_STATE, kind: 'changed', fields: ['entries'] });
  }
  // Entries went for their age or number, and all later ones were deleted.
  if (one.hasDropped() && one.counted() === 0) return other.size();
  const [ours, theirs] = [await one.jobs(other.oldest()), await other.jobs(one.oldest())];
  for (const id of new Set([...ours.keys(), ...theirs.keys()])) {
    const [left, right] = [ours.get(id), theirs.get(id)];
    const kind = left && right ? 'changed' : left ? 'surplus' : 'missing';
    const fields = (['entries', 'digest', 'is_found', 'is_deleted'] as const).filter(
      (name) => left?.[name] !== right?.[name],
    );
    if (fields.length > 0) found({ collection: logJobs.name, id, kind, fields: kind === 'changed' ? fields : [] });
  }
  return other.size();
}

const nameOf = ({ job_id, index, attempt }: LogEntry) => `${job_id}/${index}/${attempt}`;

/** A damaged segment counts as empty: its jobs then differ. */
function readable(document: SegmentDocument): LogEntry[] {
  try {
    const segment = ofSegment(document);
    return Array.from({ length: segment.entries }, (_, place) => place).map(entriesOf(segment));
  } catch {
    return [];
  }
}

function openSide(read: Read, signal: AbortSignal) {
  const segments = new Map<string, SegmentDocument>();
  let state = emptyLog();
  const known = new Map<string, LogJobDocument>();

  /** The oldest first. */
  function* all(): Generator<[number: number, entries: LogEntry[]]> {
    for (const document of [...segments.values()].sort((a, b) => Number(a._id) - Number(b._id))) {
      yield [Number(document._id), readable(document)];
    }
  }
  return {
    /** Reads what has changed. */
    async refresh(): Promise<void> {
      const next = (await read(logStates).get(LOG_STATE)) ?? emptyLog();
      const changed = read(logSegments).stream({ revision: { $gt: state.revision } }, { signal });
      const ids = new Set<string>();
      for await (const document of changed) {
        segments.set(document._id, document);
        for (const job_id of document.jobs) ids.add(job_id);
      }
      state = next;
      for (const id of segments.keys()) if (Number(id) < state.first) segments.delete(id);
      // The document of a job changes with its segments, or when the job is deleted.
      for (const { _id, is_deleted } of known.values()) if (is_deleted || ids.has(_id)) known.delete(_id);
      for (const [id, document] of await readAll(read(logJobs), ids)) known.set(id, document);
      for await (const document of read(logJobs).stream({ is_deleted: true }, { signal })) {
        known.set(document._id, document);
      }
    },
    size: () => segments.size,
    hasDropped: () => state.first > 0,
    /** As the state has it. */
    entries: () => state.entries,
    counted: () => segments.values().reduce((sum, { entries }) => sum + entries, 0),
    /** The name of the oldest entry, where older ones may have been dropped. */
    oldest(): string | null {
      if (state.first === 0) return null;
      for (const [, [entry]] of all()) if (entry !== undefined) return nameOf(entry);
      return null;
    },
    /** The entries from the one with this name on; all of them where there is none. */
    async jobs(oldest: string | null): Promise<Map<string, OfJob>> {
      const deleted = [...known.values()].filter(({ is_deleted }) => is_deleted).map(({ _id }) => _id);
      const nothing = (job_id: string): OfJob => {
        const is_deleted = known.get(job_id)?.is_deleted ?? false;
        return { entries: 0, digest: '', is_found: true, is_deleted };
      };
      const begin = () => new Map(deleted.map((job_id) => [job_id, nothing(job_id)]));
      let jobs = begin();
      const breathe = breather();
      for (const [number, entries] of all()) {
        for (const entry of entries) {
          if (nameOf(entry) === oldest) jobs = begin();
          const { job_id } = entry;
          const job = jobs.get(job_id) ?? nothing(job_id);
          const { first, last } = known.get(job_id) ?? { first: 0, last: -1 };
          job.entries += 1;
          job.digest = hash('sha1', job.digest + JSON.stringify(entry), 'base64');
          job.is_found &&= first <= number && number <= last;
          jobs.set(job_id, job);
        }
        await breathe();
      }
      return jobs;
    },
  };
}
