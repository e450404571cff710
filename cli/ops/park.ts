// `park list` and `park retry`: the events that a projection could not take.
import {
  type ParkedEvent,
  parkedEvents,
  projectionState,
  projectionStates,
} from '../../readmodels/projection-state.ts';
import { closing } from '../closing.ts';
import { type Command, EXIT, type Run, UsageError } from './command.ts';
import { openDocumentsToRead } from './open-documents.ts';
import { namedProjections, projectionsOf } from './projection-names.ts';
import { isClean, textOf } from './projections-rebuild.ts';
import { rebuild } from './rebuild.ts';
import { count } from './text.ts';

export const parkList: Command = {
  name: 'park list',
  summary: 'print the events that a projection could not take, with its error; its live documents lack them',
  options: {},
  async run(run) {
    await using documents = closing(await openDocumentsToRead(run));
    const states = await documents.reading(projectionStates).find({});
    let parked = 0;
    let listed = 0;
    if (run.json) run.out.write('{"events":[');
    for (const stored of states) {
      const { _id: projection, generation, parked: events } = projectionState(stored._id, stored);
      if (events === 0) continue;
      parked += events;
      const sort = { projection: 1, generation: 1, position: 1 } as const;
      for await (const event of documents.reading(parkedEvents).stream({ projection, generation }, { sort })) {
        run.out.write(run.json ? `${listed > 0 ? ',' : ''}\n${JSON.stringify(factsOf(event))}` : textOfEvent(event));
        listed += 1;
      }
    }
    if (run.json) run.out.write(`],"parked":${parked}}\n`);
    else if (parked > listed)
      run.out.write(`… and ${count(parked - listed, 'event')} more, of which only the number is kept\n`);
    else if (parked === 0) run.out.write('no event is parked\n');
    return parked === 0 ? EXIT.clean : EXIT.violation;
  },
};

const factsOf = ({ _id, generation: _, ...facts }: ParkedEvent) => facts;

const textOfEvent = ({ projection, version, position, stream, revision, type, error }: ParkedEvent) =>
  `${projection} (version ${version}) at position ${position}, ${stream} ${revision}: ${type}\n  ${error.split('\n')[0]}\n`;

export const parkRetry: Command = {
  name: 'park retry',
  arguments: '[NAME…]',
  summary:
    'rebuild the read models that lack events, in which each event is tried again in its place (this writes documents)',
  options: {},
  async run(run) {
    const lacking = await lackingEvents(run);
    if (run.arguments.length > 0) {
      const whole = namedProjections(run).find(({ name }) => !lacking.includes(name));
      if (whole) throw new UsageError(`${whole.name} lacks no event`);
    }
    const wanted = run.arguments.length > 0 ? run.arguments : lacking;
    const projections = projectionsOf(run).filter(({ name }) => wanted.includes(name));
    // A build under way may have parked them before the code was mended.
    const rebuilt = projections.length > 0 ? await rebuild(run, projections, { verify: false, anew: true }) : [];
    if (rebuilt === null) return EXIT.unknown;
    if (run.json) run.out.write(`${JSON.stringify({ projections: rebuilt }, null, 2)}\n`);
    else if (rebuilt.length === 0) run.out.write('no event is parked\n');
    else for (const one of rebuilt) run.out.write(textOf(one));
    return rebuilt.every(isClean) ? EXIT.clean : EXIT.violation;
  },
};

/** The names of the projections that lack events. */
async function lackingEvents(run: Run): Promise<string[]> {
  await using documents = closing(await openDocumentsToRead(run));
  const states = await documents.reading(projectionStates).find({});
  return states.filter((stored) => projectionState(stored._id, stored).parked > 0).map(({ _id }) => _id);
}
