// The service: reads its settings, starts its roles, and ends them cleanly on SIGINT or SIGTERM.
import type { Logger } from 'pino';
import { damageSentence, isDamage, markForCheck, StartError } from './service/data-dir.ts';
import { openLogger } from './service/logger.ts';
import './service/private-files.ts';
import { startService } from './service/service.ts';
import { type Config, ConfigError, readConfig } from './settings/config.ts';
import { isForOneself } from './settings/own-service.ts';

/** After a fault the other roles have this long to end; a failed role may hang, and the supervisor starts the process again. */
const STOP_AFTER_FAULT_MS = 4_000;

/** The process kills itself after this long, because a thread that hangs outside of JavaScript cannot be ended. */
const KILL_MS = 20_000;

/** The errors of LOG_FILE and of other files that the start opens. */
const FOLDER_CODES = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR', 'ENOENT', 'ENOSPC'];

let config: Config | null = null;
let logger: Logger | null = null;
try {
  config = readConfig(process.env);
  logger = openLogger(config);
  // After an uncaught exception the state of this process is unknown, so it ends.
  process.on('uncaughtException', (error) => {
    logger?.fatal({ err: error }, 'the service ends: an uncaught exception');
    process.exit(1);
  });
  const signal = interrupted();
  const service = await startService(config, logger);
  logger.info({ url: service.url, roles: config.roles }, 'the service runs');
  if (config.roles.includes('http') && isForOneself(config)) {
    const credits = config.signup_credits.toLocaleString('en');
    logger.info(`each new account gets ${credits} credits: SIGNUP_CREDITS sets another number`);
  }
  const ended = await Promise.race([signal, service.failed]);
  const failed = ended instanceof Error;
  if (failed) logger.fatal({ err: ended }, `the service ends: ${await reasonOf(ended, config)}`);
  else logger.info({ signal: ended }, 'the service ends');
  setTimeout(() => {
    logger?.fatal(`the service kills itself: a thread did not end within ${KILL_MS / 1000} s`);
    process.kill(process.pid, 'SIGKILL');
  }, KILL_MS).unref();
  const is_clean = await service.stop(failed ? STOP_AFTER_FAULT_MS : undefined);
  if (!is_clean) logger.warn('the service did not stop in time: the next start repeats the work in progress');
  process.exit(failed || !is_clean ? 1 : 0);
} catch (error) {
  const sentence = config !== null && isDamage(error) ? await reasonOf(error as Error, config) : sentenceOf(error);
  if (sentence === null && logger) {
    logger.fatal({ err: error }, `the service ends: a role failed: ${(error as Error).message}`);
    process.exit(1);
  }
  if (sentence === null) throw error;
  process.stderr.write(`${sentence}\n`);
  process.exit(2);
}

/** Says why the service ends; after damage to a store it also marks DATA_DIR, so that the next start checks the stores. */
async function reasonOf(error: Error, { data_dir, ...servers }: Config): Promise<string> {
  if (!isDamage(error)) return `a role failed: ${error.message}`;
  await markForCheck(data_dir).catch(() => {});
  return damageSentence({ data_dir, ...servers });
}

/** Returns the sentence for an error that an operator can mend; null for any other. */
function sentenceOf(error: unknown): string | null {
  if (error instanceof ConfigError || error instanceof StartError) return error.message;
  const { code = '', syscall, message, port } = error as NodeJS.ErrnoException & { port?: number };
  const { HOST = '127.0.0.1', PORT = '8080', METRICS_PORT } = process.env;
  const [name, taken] = String(port) === METRICS_PORT ? ['METRICS_PORT', METRICS_PORT] : ['PORT', PORT];
  if (code === 'EADDRINUSE')
    return `${name} ${taken} of ${HOST} is in use by another process: stop it, or set another ${name}.`;
  if (syscall === 'listen' || syscall === 'getaddrinfo')
    return `HTTP cannot be served on ${HOST}, PORT ${PORT}: ${message}`;
  return FOLDER_CODES.includes(code) ? `A file cannot be opened: ${message}` : null;
}

function interrupted(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, resolve);
  });
}
