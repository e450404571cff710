// `projections list`: how far each projection is.
import { type FollowerStatus, MOST_COUNTED, openFollowers } from '../../http/server/followers.ts';
import { type ProjectionState, projectionState, projectionStates } from '../../readmodels/projection-state.ts';
import { closing } from '../closing.ts';
import { type Command, count, EXIT } from './command.ts';
import { openDocumentsToRead } from './open-documents.ts';
import { openLogToRead } from './open-log.ts';
import { projectionsOf } from './projection-names.ts';

interface Row extends Omit<FollowerStatus, 'state' | 'version' | 'position' | 'lag_ms'> {
  state: FollowerStatus['state'] | 'requested' | 'unbuilt';
  /** Of the code that made the documents; null before it has. */
  version: number | null;
  /** Of this program's code: the service builds the documents anew when it has another one. */
  code_version: number | null;
  position: string | null;
  lag_seconds: number | null;
}

export const projectionsList: Command = {
  summary: 'print the version, the position and the lag of each projection',
  options: {},
  async run(run) {
    const known = projectionsOf(run);
    await using log = closing((await openLogToRead(run)).log);
    await using documents = closing(await openDocumentsToRead(run));
    const { head, followers } = await openFollowers({ log, documents, now: Date.now })();
    const stored = await documents.reading(projectionStates).find({});
    const states = new Map(stored.map((state) => [state._id, projectionState(state._id, state)]));
    const rows = [...new Set([...known.map(({ name }) => name), ...states.keys()])].flatMap((name) =>
      rowsOf(name, {
        code_version: known.find((projection) => projection.name === name)?.version ?? null,
        state: states.get(name) ?? projectionState(name, null),
        found: followers.filter(({ projection }) => projection === name),
      }),
    );
    if (run.json) run.out.write(`${JSON.stringify({ head, projections: rows }, null, 2)}\n`);
    else run.out.write(textOf(head, rows));
    return EXIT.clean;
  },
};

interface Facts {
  code_version: number | null;
  state: ProjectionState;
  found: readonly FollowerStatus[];
}

function rowsOf(projection: string, { code_version, state: { rebuild }, found }: Facts): Row[] {
  const rows: Row[] = found.map(({ lag_ms, ...row }) => ({
    ...row,
    code_version,
    lag_seconds: lag_ms === null ? null : Math.round(lag_ms / 100) / 10,
  }));
  const is_requested = rebuild && !found.some(({ state }) => state !== 'live');
  if (!is_requested && rows.length > 0) return rows;
  const nothing = { version: null, position: null, lag_events: null, lag_seconds: null, parked_events: 0 };
  return [
    ...rows,
    { follower: '', projection, ...nothing, code_version, state: is_requested ? 'requested' : 'unbuilt' },
  ];
}

function textOf(head: string, rows: readonly Row[]): string {
  const header = ['projection', 'version', 'state', 'position', 'lag', 'parked'];
  const cells = rows.map((row) => [
    row.projection,
    row.version === null ? '' : versionOf(row),
    row.state,
    row.position ?? '',
    lagOf(row),
    row.parked_events > 0 ? count(row.parked_events, 'event') : '',
  ]);
  const widths = header.map((name, n) => Math.max(name.length, ...cells.map((row) => row[n]!.length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, n) => cell.padEnd(widths[n]!))
      .join('  ')
      .trimEnd();
  return `${[`head: position ${head || '(the beginning)'}`, line(header), ...cells.map(line)].join('\n')}\n`;
}

const versionOf = ({ version, code_version }: Row) =>
  code_version === null || code_version === version ? `${version}` : `${version}, this is ${code_version}`;

function lagOf({ lag_events, lag_seconds }: Row): string {
  if (lag_events === null) return '';
  if (lag_events === 0) return 'none';
  const events = lag_events >= MOST_COUNTED ? `${MOST_COUNTED} events or more` : count(lag_events, 'event');
  return lag_seconds === null ? events : `${events}, ${lag_seconds} s`;
}
