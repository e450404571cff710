// Starts a whole service for one command, with embedded stores in a folder and an account of its own.
import { issueLocalToken } from '../adapters/identity/index.ts';
import { openLogger } from '../service/logger.ts';
import { type Service, startService } from '../service/service.ts';
import { type Config, readConfig } from '../settings/config.ts';
import { type Client, openClient } from './client.ts';

export interface LocalService {
  service: Service;
  config: Config;
  url: string;
  client: Client;
  /** The account's. */
  token: string;
}

/** The environment overrides `defaults`. A taken port gives way to a free one, unless the environment names the port. */
export async function startLocalService(user_id: string, defaults: Record<string, string>): Promise<LocalService> {
  const env = { ...defaults, ...process.env };
  const config = readConfig(env);
  const logger = openLogger(config);
  const start = (c: Config) => startService(c, logger);
  let service: Service;
  try {
    service = await start(config);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || process.env.PORT) throw error;
    service = await start(readConfig({ ...env, PORT: '0' }));
  }
  const token = await issueLocalToken(config.data_dir, {
    user_id,
    email: `${user_id}@example.com`,
    is_admin: false,
    hours: 24,
  });
  return { service, config, url: service.url!, client: openClient(service.url!, token), token };
}
