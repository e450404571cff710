// Erases a user: npm run erase -- --user ID. The processes of the service carry it out; it may run meanwhile, or start later.
import '../service/private-files.ts';
import { openErasures } from '../commands/users/user.ts';
import { openLogger } from '../service/logger.ts';
import { readConfig } from '../settings/config.ts';
import { errorOfBlock } from './closing.ts';
import { readWords } from './usage.ts';
import { openUsedStores, operatorContext } from './used-log.ts';

const USAGE = 'usage: npm run erase -- --user ID';

async function erase(user_id: string): Promise<string | null> {
  const config = readConfig(process.env);
  await using stores = await openUsedStores(config, openLogger(config));
  const erased = await openErasures(stores.log).erase(user_id, operatorContext('erase'));
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
