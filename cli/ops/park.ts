// `park list`, `park retry` and `park discard`: the events that a projection could not take.
import { discardParked } from '../../commands/parked-events.ts';
import { MAX_DISCARD_REASON_CHARS } from '../../events/service.ts';
import {
  type ParkedEvent,
  parkedEvents,
  projectionState,
  projectionStates,
} from '../../readmodels/projection-state.ts';
import { readConfig } from '../../settings/config.ts';
import { closing } from '../closing.ts';
import { openUsedStores, operatorContext } from '../used-log.ts';
import { type Command, count, EXIT, type Run, UsageError } from './command.ts';
import { openDocumentsToRead } from './open-documents.ts';
import { namedProjections, projectionsOf } from './projection-names.ts';
import { isClean, textOf } from './projections-rebuild.ts';
import { rebuild } from './rebuild.ts';

export const parkList: Command = {
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

export const parkDiscard: Command = {
  arguments: 'NAME POSITION',
  summary: 'let a read model do without an event that it parked, for good; the audit lists it (this appends an event)',
  options: { reason: { type: 'string', value: 'TEXT', means: 'why the read model may lack it' } },
  async run(run) {
    const [name, given] = run.arguments as [string, string];
    const { reason } = run.values as { reason?: string };
    if (reason === undefined || reason.trim() === '' || reason.length > MAX_DISCARD_REASON_CHARS)
      throw new UsageError(`--reason TEXT: it needs one of at most ${MAX_DISCARD_REASON_CHARS} characters`);
    const position = /^\d{1,16}$/.test(given) ? given.padStart(16, '0') : given;
    const discarded = await parkedAt(run, name, position);
    await using stores = await openUsedStores(readConfig(run.env));
    await discardParked(stores.log, { ...discarded, reason }, operatorContext('park'));
    run.out.write(
      run.json
        ? `${JSON.stringify({ ...discarded, reason })}\n`
        : `${name} does without the event at position ${position}, as soon as its projector has read so\n`,
    );
    return EXIT.clean;
  },
};

/** The parked event of a live read model. Throws `UsageError`. */
async function parkedAt(run: Run, name: string, position: string) {
  await using documents = closing(await openDocumentsToRead(run));
  const { generation } = projectionState(name, await documents.reading(projectionStates).get(name));
  const [found] = await documents.reading(parkedEvents).find({ projection: name, generation, position });
  if (!found) throw new UsageError(`${name} has parked no event at position ${position}: \`park list\` names them`);
  const { projection, event_id, type, stream, revision } = found;
  return { projection, event_id, type, stream, revision, position };
}

export const parkRetry: Command = {
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
