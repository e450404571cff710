// The service: reads its settings, starts its roles, and ends them cleanly on SIGINT or SIGTERM.
import { ConfigError, readConfig } from './config.ts';
import { openLogger } from './logger.ts';
import { startService } from './service.ts';

try {
  const config = readConfig(process.env);
  const logger = openLogger(config);
  const service = await startService(config, logger);
  logger.info({ url: service.url, roles: config.roles }, 'the service runs');
  const ended = await Promise.race([interrupted(), service.failed]);
  if (ended instanceof Error) {
    logger.fatal({ err: ended }, 'the service ends: a role failed');
    process.exitCode = 1;
  } else logger.info({ signal: ended }, 'the service ends');
  await service.stop();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

function interrupted(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, resolve);
  });
}
