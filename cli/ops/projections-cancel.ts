// `projections cancel`: gives up builds of read models, and with them the room that they take.
import { pino } from 'pino';
import { cancelBuild } from '../../readmodels/projection-state.ts';
import { openStores } from '../../service/stores.ts';
import { readConfig } from '../../settings/config.ts';
import { closing } from '../closing.ts';
import { type Command, EXIT } from './command.ts';
import { openDocumentsToRead } from './open-documents.ts';
import { namedProjections } from './projection-names.ts';

export const projectionsCancel: Command = {
  arguments: '[NAME…]',
  summary:
    'give up builds that are under way, have failed or were asked for, all without names; the live read models stay (this writes documents)',
  options: {},
  async run(run) {
    const projections = namedProjections(run, true);
    await (await openDocumentsToRead(run)).close();
    const opening = { of: 'others', signal: AbortSignal.timeout(30_000), waiting: () => {} } as const;
    await using stores = closing(await openStores(readConfig(run.env), pino({ level: 'silent' }), opening));
    const cancelled: string[] = [];
    for (const { name, version } of projections) {
      if (await cancelBuild(stores.documents, name, version)) cancelled.push(name);
    }
    if (run.json) run.out.write(`${JSON.stringify({ cancelled })}\n`);
    else if (cancelled.length === 0) run.out.write('no build is under way\n');
    for (const name of run.json ? [] : cancelled) {
      run.out.write(`${name}: its build is given up, and what it made goes when a projector looks next\n`);
    }
    return EXIT.clean;
  },
};
