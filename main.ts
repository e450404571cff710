// The service: reads its settings, starts its roles, and ends them cleanly on SIGINT or SIGTERM.
import type { Logger } from 'pino';
import { damageSentence, isDamage, markForCheck, StartError } from './service/data-dir.ts';
import { openLogger } from './service/logger.ts';
import { startService } from './service/service.ts';
import { type Config, ConfigError, readConfig } from './settings/config.ts';

/** A role that failed may not end any more: the process does, so that its supervisor starts it again. */
const STOP_AFTER_FAULT_MS = 4_000;

/** A thread that hangs outside of JavaScript can neither be ended nor waited for. */
const KILL_MS = 20_000;

/** Of LOG_FILE and whatever else is opened at the start. */
const FOLDER_CODES = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR', 'ENOENT', 'ENOSPC'];

let config: Config | null = null;
let logger: Logger | null = null;
try {
  config = readConfig(process.env);
  logger = openLogger(config);
  // Whatever nobody caught: the state of this process is not known any more.
  process.on('uncaughtException', (error) => {
    logger?.fatal({ err: error }, 'the service ends: a fault that nobody foresaw');
    process.exit(1);
  });
  const signal = interrupted();
  const service = await startService(config, logger);
  logger.info({ url: service.url, roles: config.roles }, 'the service runs');
  const ended = await Promise.race([signal, service.failed]);
  const failed = ended instanceof Error;
  if (failed) logger.fatal({ err: ended }, `the service ends: ${await reasonOf(ended, config)}`);
  else logger.info({ signal: ended }, 'the service ends');
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), KILL_MS).unref();
  const is_clean = await service.stop(failed ? STOP_AFTER_FAULT_MS : undefined);
  if (!is_clean) logger.warn('the service did not end in time: what it had in hand is done again');
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

/** Of damage, the next start is told. */
async function reasonOf(error: Error, { data_dir, ...servers }: Config): Promise<string> {
  if (!isDamage(error)) return `a role failed: ${error.message}`;
  await markForCheck(data_dir).catch(() => {});
  return damageSentence({ data_dir, ...servers });
}

/** Of what an operator can mend; null for all else. */
function sentenceOf(error: unknown): string | null {
  if (error instanceof ConfigError || error instanceof StartError) return error.message;
  const { code = '', syscall, message, port } = error as NodeJS.ErrnoException & { port?: number };
  const { HOST = '127.0.0.1', PORT = '8080', METRICS_PORT } = process.env;
  const [name, taken] = String(port) === METRICS_PORT ? ['METRICS_PORT', METRICS_PORT] : ['PORT', PORT];
  if (code === 'EADDRINUSE')
    return `${name} ${taken} of ${HOST} is taken by another process: end it, or set another ${name}.`;
  if (syscall === 'listen' || syscall === 'getaddrinfo')
    return `HTTP cannot be served on ${HOST}, PORT ${PORT}: ${message}`;
  return FOLDER_CODES.includes(code) ? `A file cannot be opened: ${message}` : null;
}

function interrupted(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, resolve);
  });
}
