// `fsck`: compares the documents of every job and every ledger with the log, and audits the log's own settlements.
import { type Expected, openExpected } from '../../audit/expected-documents.ts';
import { AUDITED, openLedgerAudit } from '../../audit/ledger-audit.ts';
import { REMOVES_RESULTS } from '../../audit/source.ts';
import { openSpill } from '../../audit/spill.ts';
import { BEGINNING, type EventStore, type Position } from '../../events/event-store.ts';
import { openUrlListing } from '../../events/url-listing.ts';
import { creditsProjection } from '../../projections/billing/credits.ts';
import { jobsProjection } from '../../projections/jobs/jobs.ts';
import { projectionState, projectionStates } from '../../readmodels/projection-state.ts';
import { closing } from '../closing.ts';
import { showProgress } from '../progress.ts';
import { type Command, count, EXIT, type Run } from './command.ts';
import { type Counts, LogComparison } from './compare-with-log.ts';
import { textOfDifference } from './comparisons.ts';
import { GRACE, graceOf } from './ledger-options.ts';
import { placeOf, unitOf } from './log-progress.ts';
import { openDocumentsToRead, type ReadDocuments } from './open-documents.ts';
import { openDecodedLog, openWrittenLog } from './open-log.ts';
import { projectionsOf } from './projection-names.ts';
import { diffAll } from './projections-diff.ts';
import { openSteadyReads } from './steady-reads.ts';

/** What differs: printed up to this number, and counted. */
const SHOWN = 1_000;

interface Report extends Counts {
  position: Position;
  /** Documents of all read models that were compared one by one. */
  documents: number;
  /** Read models that there are no documents of. */
  not_compared: string[];
  found: string[];
  differing: number;
  /** Events of later versions, or of types that nobody knows. */
  later: number;
}

export const fsck: Command = {
  summary:
    'compare every document with the log, audit its ledgers and settlements, and name all that differs (TMPDIR needs room for the documents)',
  options: {
    grace: GRACE,
    quick: { type: 'boolean', means: 'compare the documents of jobs and ledgers only, without a temporary copy' },
  },
  async run(run) {
    const grace_ms = graceOf(run);
    await using log = closing((await openWrittenLog(run)).log);
    await using documents = closing(await openDocumentsToRead(run));
    await using spill = closing(openSpill());
    const report: Report = {
      position: '',
      jobs: 0,
      results: 0,
      accounts: 0,
      transactions: 0,
      documents: 0,
      not_compared: [],
      found: [],
      differing: 0,
      later: 0,
    };
    const named = new Set<string>();
    const say = (message: string, of: readonly string[] = []) => {
      report.differing += 1;
      for (const each of of) named.add(each);
      if (report.found.length < SHOWN) report.found.push(message);
    };
    await using audit = closing(
      openLedgerAudit({
        found: ({ rule, position, message }) => say(`the log at position ${position}: ${message} (${rule})`),
        ...(grace_ms !== undefined && { grace_ms }),
      }),
    );
    const expected = openExpected(spill, openUrlListing(log));
    const steady = await openSteadyReads(documents, [jobsProjection, creditsProjection]);
    const reader = openReader(log, async (event) => {
      const told = report.differing;
      audit.take(event);
      try {
        await expected.take(event);
      } catch (error) {
        // A defect of this program must not pass for damage.
        if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
        if (report.differing > told) return;
        say(
          `the log at position ${event.position}: ${event.type} of ${event.stream} cannot be compared: ${error.message}`,
        );
      }
    });
    const { checkpoint } = steady.first;
    const look = () => ({ total: placeOf(checkpoint), done: placeOf(reader.position) });
    const shown = showProgress(look, run.err, unitOf(checkpoint));
    await reader.advance(checkpoint).finally(() => shown.stop());
    await new LogComparison({ documents, steady, expected, advance: reader.advance, say, report }).run();
    for await (const { stream } of log.readAll({ from: reader.position, filter: { types: REMOVES_RESULTS } })) {
      audit.deletedLater(stream.slice('job-'.length));
    }
    report.later = audit.finish(true).later;
    await parkedIn(documents, say);
    if (run.values.quick !== true) await compareAll(run, documents, { named, say, report });
    report.position = reader.position;
    run.out.write(run.json ? `${JSON.stringify(report, null, 2)}\n` : textOf(report));
    if (report.differing > 0) return EXIT.violation;
    return report.later > 0 ? EXIT.unknown : EXIT.clean;
  },
};

/** Every document of every read model. What `named` has was told with its values. */
async function compareAll(
  run: Run,
  documents: ReadDocuments,
  { named, say, report }: { named: ReadonlySet<string>; say(message: string): void; report: Report },
): Promise<void> {
  await using log = closing(await openDecodedLog(run));
  for await (const found of diffAll(run, log, documents, projectionsOf(run))) {
    if (found.compared === null) {
      report.not_compared.push(found.name);
      continue;
    }
    const { documents: compared, differing, differences } = found.compared;
    report.documents += compared;
    for (const difference of differences) {
      if (isNamed(named, difference.collection, difference.id)) continue;
      say(`${found.name}: ${textOfDifference(difference)}`);
    }
    const more = differing - differences.length;
    if (more > 0) say(`${found.name}: ${count(more, 'more document differs', 'more documents differ')}`);
  }
}

/** The ids of results and transactions begin with those of their job and user. */
const isNamed = (named: ReadonlySet<string>, collection: string, id: string) =>
  named.has(`${collection} ${id}`) || named.has(`${collection} ${id.slice(0, Math.max(0, id.lastIndexOf(':')))}`);

async function parkedIn(documents: ReadDocuments, say: (message: string) => void): Promise<void> {
  for (const stored of await documents.reading(projectionStates).find({})) {
    const { _id, parked } = projectionState(stored._id, stored);
    if (parked > 0) say(`${_id}: lacks ${count(parked, 'event')} that it could not take: \`park list\` names them`);
  }
}

type Take = (event: Parameters<Expected['take']>[0]) => Promise<void>;

/** Reads the log as far as it is told, each event once. */
function openReader(log: EventStore, take: Take) {
  let position: Position = BEGINNING;
  return {
    get position() {
      return position;
    },
    async advance(until: Position): Promise<void> {
      if (position >= until) return;
      for await (const event of log.readAll({ from: position, filter: { categories: AUDITED } })) {
        if (event.position > until) break;
        await take(event);
        position = event.position;
      }
      position = until;
    },
  };
}

function textOf({ position, found, differing, later, not_compared, ...counts }: Report): string {
  const lines = [
    `compared at position ${position || '(the beginning)'}: ${count(counts.jobs, 'job')}, ${count(counts.results, 'result')}`,
    `  ${count(counts.accounts, 'ledger')}, ${count(counts.transactions, 'transaction')}`,
    ...(counts.documents > 0 ? [`  ${count(counts.documents, 'document')} of all read models`] : []),
    ...not_compared.map((name) => `not compared: ${name} has no documents yet`),
    ...found,
    ...(differing > found.length ? [`… and ${count(differing - found.length, 'more', 'more')}`] : []),
    ...(later > 0
      ? [`not judged: ${count(later, 'event')} of a later version of the service, or of an unknown type`]
      : []),
    differing === 0 ? 'ok: the documents are as the log says' : count(differing, 'difference'),
  ];
  return `${lines.join('\n')}\n`;
}
