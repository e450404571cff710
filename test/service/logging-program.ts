// Logs lines and ends as its argument says; tells its parent how many lines are in the file by then.
import { readFileSync } from 'node:fs';
import { openLogger } from '../../service/logger.ts';
import { readConfig } from '../../settings/config.ts';

const logger = openLogger(readConfig(process.env));
const lines = () => readFileSync(process.env.LOG_FILE!, 'utf8').split('\n').length - 1;
const [, , end, count] = process.argv;
for (let n = 0; n < Number(count); n++) logger.info({ n }, 'request');
if (end === 'fatal') logger.fatal('the last one');
process.stdout.write(String(lines()));
if (end === 'exit') process.exit(3);
if (end === 'throw') throw new Error('thrown');
if (end === 'later') setTimeout(() => process.kill(process.pid, 'SIGKILL'), 1000);
