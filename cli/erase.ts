// Erases a user: npm run erase -- --user ID. The processes of the service carry it out; it may run meanwhile, or start later.
import '../service/private-files.ts';
import { randomUUID } from 'node:crypto';
import { openErasures } from '../commands/users/user.ts';
import { openLogger } from '../service/logger.ts';
import { openStores } from '../service/stores.ts';
import { readConfig } from '../settings/config.ts';
import { closing, errorOfBlock } from './closing.ts';
import { readWords } from './usage.ts';
import { assertUsedLog } from './used-log.ts';

const USAGE = 'usage: npm run erase -- --user ID';

async function erase(user_id: string): Promise<string | null> {
  const config = readConfig(process.env);
  const opening = { of: 'others', signal: AbortSignal.timeout(30_000), waiting: () => {} } as const;
  const logger = openLogger(config);
  await assertUsedLog(config, logger, opening);
  await using stores = closing(await openStores(config, logger, opening));
  const command_id = randomUUID();
  const context = { command_id, causation_id: command_id, actor: 'admin:erase', now: Date.now() };
  const erased = await openErasures(stores.log).erase(user_id, context);
  return erased.ok ? null : erased.refused.message;
}

try {
  const { values } = readWords({ options: { user: { type: 'string' } } }, USAGE);
  if (!values.user) throw new Error(`--user is missing\n${USAGE}`);
  const problem = await erase(values.user);
  if (problem === null) {
    console.log(
      `${values.user} is refused within a minute. The service removes what it keeps of them, within 20 minutes.`,
    );
  } else {
    console.error(problem);
    process.exitCode = 1;
  }
} catch (thrown) {
  const error = errorOfBlock(thrown);
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
